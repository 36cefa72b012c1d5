import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { secondsToMake } from '../../../bench/data/networks.js'
import { parseOptions } from '../../../bench/options.js'
import { networkPlans, Progress, planOf } from '../../../bench/plan.js'
import { isOf, parseTargets } from '../../../bench/report/targets.js'
import { cores } from '../../../bench/servers/serverProcess.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

const targets = parseTargets(readFileSync(join(packageRoot(), 'bench/targets.json'), 'utf8'))
const namesOf = (args: readonly string[]) => planOf(parseOptions(args), targets).steps.map(({ name }) => name)

t.test('a check measures what has targets, and nothing else', async (t) => {
  const targeted = new Set(targets.filter((one) => isOf(one, cores)).map(({ scenario }) => scenario))
  t.strictSame(new Set(namesOf(['--check'])), targeted)
  t.ok(namesOf(['--against', 'geth']).length > targeted.size)
  t.notOk(
    namesOf([]).some((name) => name.startsWith('geth-')),
    'without go-ethereum there is nothing to compare',
  )
})

t.test('parts are chosen by name, and unknown ones are named', async (t) => {
  t.strictSame(namesOf(['--only', 'logs']), ['logs', 'logs-many'])
  t.strictSame(namesOf(['--check', '--only', 'gateway']), ['gateway-cached'])
  for (const [args, part] of [
    [['--only', 'logs,nothing'], 'nothing'],
    // This scenario has no target.
    [['--check', '--only', 'store'], 'store'],
    [['--url', 'http://x', '--only', 'memory'], 'memory'],
  ] as const) {
    const message = new RegExp(`^--only: no scenario has "${part}" in its name; there are: `)
    t.throws(() => namesOf(args), { name: 'RangeError', message })
  }
})

t.test('a check is planned for ten minutes, and its networks for five more on two cores', async (t) => {
  const options = parseOptions(['--check'])
  const plan = planOf(options, targets)
  const seconds = plan.steps.reduce((sum, step) => sum + step.seconds, 0)
  t.ok(seconds < 600, `${seconds} s`)
  const toMake = networkPlans(plan, options).reduce((sum, network) => sum + secondsToMake(network), 0)
  t.ok(toMake / 2 < 300, `${toMake / 2} s`)
})

t.test('networks are those of the scenarios, each once', async (t) => {
  const options = parseOptions(['--only', 'slots-large,logs', '--slots', '7', '--log-blocks', '8'])
  t.strictSame(networkPlans(planOf(options, targets), options), [
    { kind: 'demo' },
    { kind: 'state', accounts: 0, slotsPerAccount: 0, slots: 7 },
    { kind: 'state', accounts: 0, slotsPerAccount: 0, slots: 1_000 },
    { kind: 'logs', count: 8 },
    { kind: 'logs', count: 10_000 },
  ])
})

t.test('the time left goes by how long the scenarios before took', async (t) => {
  let nowMs = 1_000
  const steps = ['a', 'b', 'c'].map((name) => ({ name, title: name, seconds: 200 }))
  const progress = new Progress(steps, () => nowMs)
  t.equal(progress.begin('a'), '[1 of 3, about 10 min left] a')
  nowMs += 420_000
  t.equal(progress.begin('b'), '[2 of 3, about 13 min left] b')
  nowMs += 20_000
  t.equal(progress.begin('c'), '[3 of 3, about 4 min left] c')
})
