/** The log index and its ranges when blocks come and go in any order, beside sets of numbers. */
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { anyLogKey } from '../../../../src/data/store/layouts/logKeys.js'
import { commitSync, openEnvironment } from '../../../../src/data/store/lmdb/environment.js'
import {
  addToLogIndex,
  chunkBytesMax,
  countLogIndex,
  cutFromLogIndex,
  readLogChunk,
} from '../../../../src/data/store/logIndex.js'
import {
  decodeLogRanges,
  encodeLogRanges,
  type LogRange,
  lastAlike,
  logRangeAt,
  withNumber,
  withoutNumber,
} from '../../../../src/data/store/logRanges.js'
import { openChainTables } from '../../../../src/data/store/tables.js'
import { encodeRlp } from '../../../../src/primitives/rlp.js'
import { Dice, propertyRuns } from '../../../library/property.js'

const log = [new Uint8Array(20), [], new Uint8Array(0)]
const receipts = encodeRlp([encodeRlp([Uint8Array.of(1), Uint8Array.of(1), new Uint8Array(256), [log]])])
const numbersMax = 4 * chunkBytesMax

t.test('the index has what was added in any order, once, and not what was cut', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  const environment = openEnvironment({ path, readOnly: false })
  t.teardown(() => environment.close())
  const tables = openChainTables(environment)
  if (tables === undefined) throw new Error('no tables')
  const { logs } = tables
  const { numRuns, seed } = propertyRuns(5)
  const dice = new Dice(seed as number)
  for (let run = 0; run < (numRuns as number); run++) {
    const known = new Set<number>()
    // Ways to go as gateways do: down, up, and anywhere; numbers far apart take more bytes.
    const apart = [1, 7, 100_000][dice.throw(3)] as number
    const step = () => apart * dice.throw(numbersMax)
    let down = (apart * numbersMax) >> 1
    let up = down
    commitSync(environment, path, () => {
      for (let change = 0; change < 2 * numbersMax; change++) {
        down -= apart
        up += apart
        const number = [down, up, step()][dice.throw(3)] as number
        if (number < 0) continue
        if (known.has(number)) {
          if (dice.throw(2) === 0) {
            t.throws(() => addToLogIndex(logs, receipts, number), /is in the index of logs already/)
            continue
          }
          cutFromLogIndex(logs, receipts, number)
          known.delete(number)
        } else {
          addToLogIndex(logs, receipts, number)
          known.add(number)
        }
      }
    })
    const sorted = [...known].sort((a, b) => a - b)
    for (const from of [0, sorted[sorted.length >> 1] ?? 0, (sorted.at(-1) ?? 0) + 1]) {
      const got: number[] = []
      for (let next = from; ; ) {
        const stretch = readLogChunk(logs, anyLogKey, next)
        if (stretch.length === 0) break
        got.push(...stretch)
        next = (stretch.at(-1) as number) + 1
      }
      t.strictSame(
        got,
        sorted.filter((number) => number >= from),
        `seed ${seed}`,
      )
    }
    // Each block is under two keys: the key of the address, and the key of all logs.
    t.equal(countLogIndex(logs, 0), 2 * known.size)
    commitSync(environment, path, () => {
      for (const number of known) cutFromLogIndex(logs, receipts, number)
    })
    t.equal(logs.getCount(), 0, 'nothing is left')
    t.throws(() => cutFromLogIndex(logs, receipts, 1), /it is not in it/)
  }
})

t.test('ranges are what a set of numbers is', async (t) => {
  const change = fc.record({ isAdded: fc.boolean(), number: fc.nat(30) })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const known = new Set<number>()
      let ranges: LogRange[] = []
      for (const { isAdded, number } of changes) {
        if (isAdded) known.add(number)
        else known.delete(number)
        ranges = isAdded ? withNumber(ranges, number) : withoutNumber(ranges, number)
      }
      ranges = decodeLogRanges(encodeLogRanges(ranges))
      for (const [at, [first, last]] of ranges.entries()) {
        if (first > last || first <= (ranges[at - 1]?.[1] ?? -2) + 1) throw new Error(JSON.stringify(ranges))
      }
      for (let number = 0; number <= 31; number++) {
        const isIn = known.has(number)
        if ((logRangeAt(ranges, number) !== undefined) !== isIn) throw new Error(`${number}: ${ranges}`)
        let last = number
        while (last < 40 && known.has(last + 1) === isIn) last++
        const reported = lastAlike(ranges, number)
        if (last === 40 ? reported !== Number.POSITIVE_INFINITY : reported !== last) {
          throw new Error(`from ${number} to ${reported}, not ${last}: ${ranges}`)
        }
      }
    }),
    propertyRuns(200) as fc.Parameters<[{ isAdded: boolean; number: number }[]]>,
  )
  t.pass('for every number')
})
