/** Searches on chains that grow and fork, beside a plain scan of every block's logs. */
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { LogCriteria } from '../../../../src/data/chain/logFilter.js'
import type { LogBounds, LogSearch } from '../../../../src/data/chain/logSearch.js'
import { chunkBytesMax } from '../../../../src/data/store/logIndex.js'
import { toAddress, toHash32 } from '../../../../src/primitives/bytes.js'
import { propertyRuns } from '../../../library/property.js'
import { bytesOf } from '../../../rpc/demoChain.js'
import {
  addressOfNumber,
  type ChosenLog,
  chainTo,
  type ForkBlock,
  ForkingChain,
  growFrom,
  makeBlock,
} from '../../serving/streams/forkingChain.js'

const goOn = () => false
const unbounded: LogBounds = { logsMax: Number.MAX_SAFE_INTEGER, logBytesMax: Number.MAX_SAFE_INTEGER }

const addresses = [1, 2, 3].map(addressOfNumber)
// The last two fold to one key of the index.
const topics = ['00'.repeat(32), `${'00'.repeat(31)}01`, `${'00'.repeat(24)}01${'00'.repeat(7)}`].map(
  (digits) => `0x${digits}`,
)

const log = fc.record({
  address: fc.constantFrom(...addresses),
  topics: fc.array(fc.constantFrom(...topics), { maxLength: 4 }),
})
const blocks = fc.array(fc.array(log, { maxLength: 5 }), { minLength: 1, maxLength: 12 })
const moves = fc.array(fc.record({ back: fc.nat(4), blocks }), { minLength: 1, maxLength: 6 })
const filter = fc.record({
  addresses: fc.uniqueArray(fc.constantFrom(...addresses), { maxLength: 2 }),
  topics: fc.array(fc.uniqueArray(fc.constantFrom(...topics), { maxLength: 2 }), { maxLength: 4 }),
})
type Filter = typeof filter extends fc.Arbitrary<infer F> ? F : never
const question = fc.record({
  filter,
  /** Index of a head among all heads so far. */
  head: fc.nat(),
  first: fc.nat(),
  last: fc.nat(),
  logsMax: fc.option(fc.integer({ min: 1, max: 8 })),
})

function toCriteria({ addresses, topics }: Filter): LogCriteria {
  return {
    addresses: addresses.map((each) => toAddress(bytesOf(each))),
    topics: topics.map((each) => each.map((topic) => toHash32(bytesOf(topic)))),
  }
}

function isWanted(log: ChosenLog, { addresses, topics }: Filter): boolean {
  if (addresses.length > 0 && !addresses.includes(log.address)) return false
  return topics.every((wanted, at) => {
    const topic = log.topics[at]
    return topic !== undefined && (wanted.length === 0 || wanted.includes(topic))
  })
}

/** The texts of the matching logs, by block, from the block itself. */
function scan(forks: ForkingChain, chain: readonly ForkBlock[], filter: Filter): string[][] {
  return chain.map(({ blockDiff, logs }) => {
    const rendered = [...(forks.chain.eachLog(blockDiff.hash) ?? [])]
    if (rendered.length !== logs.length) throw new Error('a block has other logs than it was made with')
    return rendered.filter((_, at) => isWanted(logs[at] as ChosenLog, filter)).map(({ json }) => json)
  })
}

function search(forks: ForkingChain, head: ForkBlock, query: Omit<LogSearch, 'head'>, bounds = unbounded) {
  const { number, hash } = head.blockDiff
  const found = forks.chain.searchLogs({ ...query, head: { number, hash } }, bounds, goOn)
  if (found === undefined) throw new Error('a search stopped')
  return { ...found, text: Buffer.from(found.json).toString() }
}

t.test('finds what a plain scan finds, on every branch that there ever was', async (t) => {
  const folder = t.testdir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      moves,
      fc.array(question, { minLength: 20, maxLength: 40 }),
      async (moves, questions) => {
        const forks = ForkingChain.openIn(join(folder, String(run++)))
        try {
          const heads = [forks.genesis]
          for (const { back, blocks } of moves) {
            let base = forks.head
            for (let step = 0; step < back; step++) base = base.parent ?? base
            const head = growFrom(base, blocks).at(-1) as ForkBlock
            forks.write(head)
            heads.push(head)
          }
          for (const { filter, logsMax, ...chosen } of questions) {
            const head = heads[chosen.head % heads.length] as ForkBlock
            const first = chosen.first % (head.number + 1)
            const last = first + (chosen.last % (head.number + 1 - first))
            const perBlock = scan(forks, chainTo(head), filter)
            const criteria = toCriteria(filter)
            const bounds = { ...unbounded, logsMax: logsMax ?? unbounded.logsMax }
            const found = search(forks, head, { criteria, first, last }, bounds)
            const wanted = perBlock.slice(first, found.last + 1).flat()
            if (found.text !== `[${wanted.join(',')}]` || found.count !== wanted.length) {
              throw new Error(`blocks ${first} to ${last}: ${found.text}, not ${wanted}`)
            }
            if (found.last === last) continue
            // The search ended because the next block would have been too much.
            const next = perBlock[found.last + 1]?.length ?? 0
            if (found.last < first || found.count === 0 || found.count + next <= bounds.logsMax) {
              throw new Error(`blocks ${first} to ${last} ended at ${found.last} with ${found.count} logs`)
            }
          }
        } finally {
          await forks.close()
        }
      },
    ),
    propertyRuns(40),
  )
  t.pass('all agree')
})

t.test(
  'an answer ends before the block with which it would be too long, but holds one at least',
  async (t) => {
    const forks = ForkingChain.open(t)
    const some: ChosenLog = { address: addresses[0] as string, topics: [] }
    forks.extend([some], [], [some, some, some], [some])
    const query = { criteria: { addresses: [], topics: [] }, first: 0, last: 4 }
    const whole = search(forks, forks.head, query)
    t.match(whole, { count: 5, last: 4 })
    t.match(search(forks, forks.head, query, { ...unbounded, logsMax: 5 }), { count: 5, last: 4 })
    t.match(search(forks, forks.head, query, { ...unbounded, logsMax: 4 }), { count: 4, last: 3 })
    t.match(search(forks, forks.head, query, { ...unbounded, logsMax: 3 }), { count: 1, last: 2 })
    t.match(search(forks, forks.head, { ...query, first: 2 }, { ...unbounded, logsMax: 1 }), {
      count: 3,
      last: 3,
    })
    t.match(search(forks, forks.head, query, { ...unbounded, logBytesMax: 1 }), { count: 1, last: 2 })
    const logBytesMax = whole.json.length - 1
    t.match(search(forks, forks.head, query, { ...unbounded, logBytesMax }), { count: 5, last: 4 })
    t.match(search(forks, forks.head, query, { ...unbounded, logBytesMax: logBytesMax - 1 }), {
      count: 4,
      last: 3,
    })
  },
)

t.test('blocks between those that have a key are not looked at', async (t) => {
  const forks = ForkingChain.open(t)
  const [busy, rare] = addresses as [string, string]
  const count = 3 * chunkBytesMax
  const hits = new Set([5, chunkBytesMax, chunkBytesMax + 1, count - 1])
  const contents = Array.from({ length: count }, (_, at): ChosenLog[] => [
    { address: busy, topics: [] },
    ...(hits.has(at + 1) ? [{ address: rare, topics: [topics[0] as string] }] : []),
  ])
  forks.extend(...contents)
  let asked = 0
  const count1 = () => {
    asked++
    return false
  }
  const { number, hash } = forks.head.blockDiff
  const criteria = toCriteria({ addresses: [rare], topics: [[topics[0] as string]] })
  const found = forks.chain.searchLogs(
    { criteria, head: { number, hash }, first: 0, last: number },
    unbounded,
    count1,
  )
  t.equal(found?.count, hits.size)
  t.ok(asked < 20, `${asked} reads`)
  const both = toCriteria({ addresses: [busy], topics: [[topics[0] as string]] })
  t.equal(search(forks, forks.head, { criteria: both, first: 0, last: number }).count, 0)
  t.equal(
    search(forks, forks.head, {
      criteria: toCriteria({ addresses: [busy], topics: [] }),
      first: 0,
      last: number,
    }).count,
    count,
  )
})

t.test('a search that is told to stop says nothing', async (t) => {
  const forks = ForkingChain.open(t)
  forks.extend([{ address: addresses[0] as string, topics: [] }])
  const { number, hash } = forks.head.blockDiff
  const query = { criteria: { addresses: [], topics: [] }, head: { number, hash }, first: 0, last: 1 }
  t.equal(
    forks.chain.searchLogs(query, unbounded, () => true),
    undefined,
  )
})

t.test('a block that was never executed has no logs to be asked for', async (t) => {
  const forks = ForkingChain.open(t)
  forks.extend([])
  const side = makeBlock(forks.genesis, [])
  forks.writeSide(side)
  const { number, hash } = side.blockDiff
  const query = { criteria: { addresses: [], topics: [] }, head: { number, hash }, first: 1, last: 1 }
  t.throws(() => forks.chain.searchLogs(query, unbounded, goOn), { message: 'UnknownBlock' })
})
