/** The state of one node, with a clock that the test sets. */
import t, { type Test } from 'tap'
import { bestFirst, NodePolicy } from '../../../../src/sources/upstream/nodePolicy.js'

/** The clock of policies; returns a function that moves it. */
function clockOf(t: Test): (ms: number) => void {
  let ms = 1_000_000
  t.intercept(performance, 'now', { value: () => ms })
  return (later) => {
    ms += later
  }
}

t.test('a budget is a bucket of one second', async (t) => {
  const pass = clockOf(t)
  const policy = new NodePolicy('a', undefined, 2)
  t.equal(policy.admit(), undefined)
  t.equal(policy.admit(), undefined)
  const refusal = policy.admit()
  t.equal(refusal?.kind, 'busy')
  t.equal(refusal?.retryAfterMs, 500)
  pass(499)
  t.equal(policy.admit()?.kind, 'busy')
  pass(1)
  t.equal(policy.admit(), undefined)
  pass(60_000)
  t.equal(policy.admit(), undefined)
  t.equal(policy.admit(), undefined)
  t.equal(policy.admit()?.kind, 'busy', 'no more than one second is saved')
})

t.test('a pause without a time doubles up to four seconds, and an answer ends the row', async (t) => {
  const pass = clockOf(t)
  const policy = new NodePolicy('a')
  for (const ms of [250, 500, 1_000, 2_000, 4_000, 4_000]) {
    policy.busy(1)
    t.equal(policy.waitMs(), ms)
    policy.busy(1)
    t.equal(policy.waitMs(), ms, 'running requests get the same refusal')
    t.equal(policy.admit()?.kind, 'busy')
    pass(ms)
    t.equal(policy.admit(), undefined)
  }
  policy.answered(10, 1)
  policy.busy(1)
  t.equal(policy.waitMs(), 250)
})

t.test('a node rests after five unanswered exchanges in a row, longer after each that fails', async (t) => {
  const pass = clockOf(t)
  const policy = new NodePolicy('a')
  for (let count = 0; count < 5; count++) {
    t.notOk(policy.isResting)
    policy.unanswered(performance.now())
  }
  t.ok(policy.isResting)
  pass(200)
  t.notOk(policy.isResting)
  const before = performance.now() - 1
  policy.unanswered(performance.now())
  pass(199)
  t.ok(policy.isResting, 'at least half of 400 ms')
  policy.unanswered(before)
  pass(201)
  t.notOk(policy.isResting, 'an exchange from before the rest was counted with it')
  policy.answered(10, 1)
  policy.unanswered(performance.now())
  t.notOk(policy.isResting, 'an answer ends the row')
})

t.test('a batch size is learned from refusals, and tried again after ten minutes', async (t) => {
  const pass = clockOf(t)
  const policy = new NodePolicy('a')
  t.equal(policy.batchMax, 1_000)
  policy.batchRefused(50)
  t.equal(policy.batchMax, 10)
  policy.busy(10)
  t.equal(policy.batchMax, 10, 'the node may be busy for another reason')
  policy.busy(10)
  t.equal(policy.batchMax, 3, 'the second time in a row counts')
  policy.answered(10, 10)
  policy.busy(3)
  t.equal(policy.batchMax, 3)
  pass(600_001)
  t.equal(policy.batchMax, 10)
  t.equal(policy.batchMax, 10, 'one step at a time')
})

t.test('a method that was answered before is avoided for two seconds, another for ten minutes', async (t) => {
  const pass = clockOf(t)
  const policy = new NodePolicy('a')
  policy.methodAnswered('eth_a')
  for (const method of ['eth_a', 'eth_b']) policy.lack(method)
  t.notOk(policy.mayHave('eth_a') || policy.mayHave('eth_b'))
  pass(2_000)
  t.ok(policy.mayHave('eth_a'))
  t.notOk(policy.mayHave('eth_b'))
  policy.methodFailed('eth_a')
  policy.methodFailed('eth_a')
  t.ok(policy.mayHave('eth_a'))
  policy.methodFailed('eth_a')
  t.notOk(policy.mayHave('eth_a'), 'three failures in a row')
  for (let count = 0; count < 300; count++) policy.lack(`eth_${count}`)
  t.ok(policy.mayHave('eth_b'), 'the record is bounded')
})

t.test('a chain is checked again after each outage', async (t) => {
  const pass = clockOf(t)
  const lines: string[] = []
  const policy = new NodePolicy('a', (line) => lines.push(line))
  t.notOk(policy.hasChain)
  policy.chainChecked(undefined)
  t.ok(policy.hasChain)
  pass(1)
  t.ok(policy.outOfService(performance.now(), 'no route'))
  t.notOk(policy.hasChain)
  policy.answered(1, 1)
  for (let times = 0; times < 2; times++) {
    policy.chainChecked('another chain')
    t.ok(policy.isRefused)
    pass(5_000)
    t.notOk(policy.isRefused)
    t.equal(policy.chainFault, 'another chain', 'it stays the last result')
  }
  t.notOk(policy.outOfService(performance.now() - 6_000 * 2, 'late'), 'it answered since')
  t.strictSame(lines, ['a does not answer (no route); trying again', 'a answers again', 'another chain'])
})

t.test('nodes are ranked by method, service, latency, errors, lag and lies', async (t) => {
  const pass = clockOf(t)
  const names = ['lacks', 'silent', 'lied', 'behind', 'fails', 'slow', 'fast'] as const
  const nodes = names.map((name) => ({ name, policy: new NodePolicy(name) }))
  const policyOf = (name: (typeof names)[number]) =>
    nodes.find((node) => node.name === name)?.policy as NodePolicy
  for (const { name, policy } of nodes) {
    for (let count = 0; count < 5; count++) policy.answered(name === 'slow' ? 15 : 10, 1)
  }
  pass(1)
  policyOf('lacks').lack('eth_a')
  policyOf('silent').outOfService(performance.now(), 'no route')
  policyOf('lied').accuse('a block')
  policyOf('fails').failed()
  t.notOk(bestFirst(nodes).includes(nodes[2] as (typeof nodes)[number]), 'in quarantine')
  pass(5_000)
  const ranked = bestFirst(nodes, ({ name }) => (name === 'behind' ? 4 : 0), 'eth_a')
  t.strictSame(
    ranked.map(({ name }) => name),
    ['fast', 'slow', 'fails', 'behind', 'lied', 'silent', 'lacks'],
  )
  policyOf('fast').chainChecked('another chain')
  t.equal(bestFirst(nodes, undefined, 'eth_a').length, nodes.length - 1, 'another chain')
})
