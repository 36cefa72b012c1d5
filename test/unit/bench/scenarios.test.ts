import t from 'tap'
import { word } from '../../../bench/data/demoFacts.js'
import { scatter, walk } from '../../../bench/data/scatter.js'
import { gethScenarios, toScenario } from '../../../bench/load/gethScenarios.js'
import { productionMix, productionQuestion, weightsTotal } from '../../../bench/load/productionMix.js'
import { httpScenarios } from '../../../bench/load/scenarios.js'
import { findDifference } from '../../../bench/servers/anvil.js'

const ofAddress = (at: number) => `0x${String(at).padStart(40, '0')}`
const facts = {
  blocks: [1, 2, 3, 4].map((at) => ({ number: `0x${at}`, hash: word(at) })),
  transactions: [1, 2, 3, 4].map(word),
  accounts: [1, 2, 3, 4].map(ofAddress),
  token: ofAddress(5),
}
const scenarios = [
  ...httpScenarios({ accounts: 1000, largeSlots: 1000, blocks: 1000 }),
  ...gethScenarios.map((each) => toScenario(each, facts)),
]

t.test('names are told apart, questions are ASCII JSON and depend on their number alone', async (t) => {
  t.equal(new Set(scenarios.map(({ name }) => name)).size, scenarios.length)
  for (const { name, question, variety } of scenarios) {
    const bodies = [0, 1, 2, 3].map(question)
    for (const body of bodies) {
      JSON.parse(body)
      t.match(body, /^[\x20-\x7e]+$/, name)
    }
    t.same([0, 1, 2, 3].map(question), bodies, name)
    t.equal(new Set(bodies).size > 1, variety === 'many', `${name} varies as it says`)
  }
})

t.test('questions that must never have been asked before do not repeat', async (t) => {
  for (const name of [
    'call-balance',
    'call-quote',
    'block-random',
    'transaction-random',
    'receipt-random',
    'estimate-transfer',
    'estimate-token',
    'estimate-swap',
    'estimate-loop',
  ]) {
    const { question } = scenarios.find((scenario) => scenario.name === name) as (typeof scenarios)[number]
    const bodies = new Set(Array.from({ length: 500 }, (_, n) => question(n)))
    t.equal(bodies.size, 500, name)
  }
})

t.test('questions beside go-ethereum are about all that the chain has', async (t) => {
  for (const [name, values] of [
    ['geth-balance', facts.accounts],
    ['geth-transaction', facts.transactions],
    ['geth-receipt', facts.transactions],
    ['geth-call-tracer', facts.transactions],
    ['geth-call-tracer-random', facts.transactions],
  ] as const) {
    const { question } = scenarios.find((scenario) => scenario.name === name) as (typeof scenarios)[number]
    const asked = [0, 1, 2, 3].map((n) => (JSON.parse(question(n)) as { params: [string] }).params[0])
    t.same(asked.sort(), values, name)
  }
})

t.test('a walk comes by everything before anything again, far from its last stops', async (t) => {
  for (const count of [1, 2, 10, 500, 50_000]) {
    const stop = walk(count)
    const stops = Array.from({ length: count }, (_, n) => stop(n))
    t.equal(new Set(stops).size, count)
    t.ok(stops.every((at) => at >= 0 && at < count))
    t.equal(stop(count), stop(0))
  }
  // A block has ten transactions. The requests of one tenth of the walk come to each block once at most.
  const stop = walk(500_000)
  const recent = Array.from({ length: 5_000 }, (_, n) => Math.floor(stop(123_456 + n) / 10))
  t.equal(new Set(recent).size, recent.length)
})

t.test('the production profile asks in the shares of its weights', async (t) => {
  t.equal(weightsTotal, 100)
  const methods = new Map<string, number>()
  for (let n = 300; n < 300 + weightsTotal; n++) {
    const { method } = JSON.parse(productionQuestion(n)) as { method: string }
    methods.set(method, (methods.get(method) ?? 0) + 1)
  }
  const expected = new Map<string, number>()
  for (const { weight, method } of productionMix) expected.set(method, (expected.get(method) ?? 0) + weight)
  t.same(methods, expected)
})

t.test('scattered numbers stay apart', async (t) => {
  t.equal(new Set(Array.from({ length: 50_000 }, (_, at) => scatter(at))).size, 50_000)
})

t.test('answers are compared member by member, but for those known to differ', async (t) => {
  const mine = { result: { hash: '0x1', totalDifficulty: '0x5', logs: [{ index: 1 }] } }
  t.equal(
    findDifference(mine, { result: { hash: '0x1', totalDifficulty: '0x0', logs: [{ index: 1 }] } }),
    undefined,
  )
  t.equal(
    findDifference(mine, { result: { hash: '0x1', logs: [{ index: 2 }] } }),
    '.result.logs.0.index: 1, 2',
  )
  t.equal(findDifference(mine, { result: { hash: '0x1', logs: [] } }), '.result.logs.0: {"index":1}, nothing')
  t.equal(findDifference({ result: null }, { result: 'x' }), '.result: null, "x"')
})
