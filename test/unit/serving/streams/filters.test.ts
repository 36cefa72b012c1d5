import fc from 'fast-check'
import t from 'tap'
import { LogFilter, type LogKeys } from '../../../../src/data/chain/logFilter.js'
import { type Address, type Hash32, hexToBytes, latin1Key } from '../../../../src/primitives/bytes.js'
import { FilterIndex } from '../../../../src/serving/streams/filterIndex.js'
import { propertyRuns } from '../../../library/property.js'
import { bytesOf } from '../../../rpc/demoChain.js'
import { bloomOf } from '../../../rpc/receiptOracle.js'
import type { ChosenLog } from './forkingChain.js'

/** Few values, so that random filters and logs meet often. */
const address = fc.integer({ min: 1, max: 4 }).map((n) => `0x${n.toString(16).padStart(40, '0')}`)
const topic = fc.integer({ min: 1, max: 4 }).map((n) => `0x${n.toString(16).padStart(64, '0')}`)
const log: fc.Arbitrary<ChosenLog> = fc.record({ address, topics: fc.array(topic, { maxLength: 4 }) })

interface Criteria {
  readonly addresses: readonly string[]
  readonly topics: readonly (readonly string[])[]
}
const criteria: fc.Arbitrary<Criteria> = fc.record({
  addresses: fc.array(address, { maxLength: 3 }),
  topics: fc.array(fc.array(topic, { maxLength: 3 }), { maxLength: 4 }),
})

function filterOf({ addresses, topics }: Criteria): LogFilter {
  return new LogFilter({
    addresses: addresses.map((hex) => hexToBytes(hex) as Uint8Array as Address),
    topics: topics.map((alternatives) => alternatives.map((hex) => hexToBytes(hex) as Uint8Array as Hash32)),
  })
}

/** The rule of eth_getLogs, word by word. */
function isWanted({ addresses, topics }: Criteria, log: ChosenLog): boolean {
  if (addresses.length > 0 && !addresses.includes(log.address)) return false
  for (let position = 0; position < topics.length; position++) {
    const there = log.topics[position]
    if (there === undefined) return false
    const alternatives = topics[position] ?? []
    if (alternatives.length > 0 && !alternatives.includes(there)) return false
  }
  return true
}

function keysOf(log: ChosenLog): LogKeys {
  return {
    address: latin1Key(hexToBytes(log.address)),
    topics: log.topics.map((each) => latin1Key(hexToBytes(each))),
  }
}

t.test('an index finds whom a comparison with every filter finds, whoever has come and gone', async (t) => {
  const change = fc.record({ member: fc.nat({ max: 40 }), criteria, isRemoval: fc.boolean() })
  let hits = 0
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), fc.array(log, { maxLength: 20 }), (changes, logs) => {
      const index = new FilterIndex<number>()
      const present = new Map<number, Criteria>()
      for (const { member, criteria, isRemoval } of changes) {
        const before = present.get(member)
        if (before !== undefined) index.remove(filterOf(before), member)
        present.delete(member)
        if (isRemoval) continue
        present.set(member, criteria)
        index.add(filterOf(criteria), member)
      }
      for (const each of logs) {
        const found = [...index.matches(keysOf(each))].filter((member) => member !== undefined)
        const wanted = [...present]
          .filter(([, criteria]) => isWanted(criteria, each))
          .map(([member]) => member)
        hits += wanted.length
        if (found.sort().join() !== wanted.sort().join()) return false
      }
      for (const [member, criteria] of present) index.remove(filterOf(criteria), member)
      return index.isEmpty
    }),
    propertyRuns(1000),
  )
  t.ok(hits > 1000, `${hits} matches`)
})

t.test('a bloom never hides a block that holds a wanted log', async (t) => {
  let ruledOut = 0
  fc.assert(
    fc.property(criteria, fc.array(log, { maxLength: 4 }), (criteria, logs) => {
      const mayMatch = filterOf(criteria).mayMatch(bytesOf(bloomOf(logs)))
      if (!mayMatch) ruledOut++
      return mayMatch || !logs.some((each) => isWanted(criteria, each))
    }),
    propertyRuns(1000),
  )
  t.ok(ruledOut > 100, `${ruledOut} blocks ruled out`)
})

t.test('filters on one token with a receiver each are not all compared with its every log', async (t) => {
  const index = new FilterIndex<number>()
  const token = `0x${'aa'.repeat(20)}`
  const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
  let comparisons = 0
  for (let receiver = 0; receiver < 2000; receiver++) {
    const filter = filterOf({ addresses: [token], topics: [[word(1)], [], [word(receiver)]] })
    const { matches } = filter
    filter.matches = (log) => {
      comparisons++
      return matches.call(filter, log)
    }
    index.add(filter, receiver)
  }
  const keys = keysOf({ address: token, topics: [word(1), word(5), word(77)] })
  t.strictSame(
    [...index.matches(keys)].filter((member) => member !== undefined),
    [77],
  )
  t.ok(comparisons < 5, `${comparisons} comparisons`)
})
