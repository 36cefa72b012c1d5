/**
 * The kernel beside @ethereumjs on invented, real and mutated code at every fork, step by step. Compares program
 * counter, gas, refunds, the top of the stack and the size of memory. At the end it compares output, logs, accounts and
 * slots. `STEPS=1000000 SEED=1 node test/unit/execution/kernel/differential.test.ts` compares as many steps.
 */
import t from 'tap'
import { Dice, propertyRuns } from '../../../library/property.js'
import { compare, opcodeCounter } from './bothEngines.js'
import { forks, throwScenario } from './programs.js'
import { specifiedOpcodes } from './specifiedOpcodes.js'

const stepsWanted = Number(process.env.STEPS ?? 40_000)

const programs = 2_000

t.test(`${programs} invented programs run each instruction`, async (t) => {
  const seed = propertyRuns(1).seed ?? 0
  const reached = new Set<number>()
  const count = opcodeCounter(reached)
  for (let number = 0; number < programs; number++) count(throwScenario(new Dice(seed + number), true))
  const isCompared = ({ prices }: (typeof specifiedOpcodes)[number]) => prices[0]?.[0] !== 'amsterdam'
  const wanted = specifiedOpcodes.filter(isCompared).map(({ opcode }) => opcode)
  t.strictSame(
    wanted.filter((opcode) => !reached.has(opcode)),
    [],
  )
})

t.test('each step and each end is the same', { timeout: 0 }, async (t) => {
  const seed = propertyRuns(1).seed ?? 0
  const seen = new Map<string, number>()
  let steps = 0
  for (let number = 0; steps < stepsWanted || seen.size < forks.length; number++) {
    // Each scenario has a seed of its own, by which it can be repeated.
    const scenario = throwScenario(new Dice(seed + number))
    const { steps: taken, difference } = await compare(scenario)
    steps += taken
    seen.set(scenario.fork, (seen.get(scenario.fork) ?? 0) + taken)
    if (difference !== undefined) {
      t.fail(`SEED=${seed + number} at ${scenario.fork}: ${difference}`)
      if (process.env.STEPS === undefined) break
    }
  }
  t.comment(`${steps} steps`)
  t.ok(steps >= stepsWanted)
})
