import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { propertyRuns } from '../../library/property.js'
import { openForkingEndpoint } from '../../rpc/forkingEndpoint.js'
import {
  addressOfNumber,
  chainTo,
  type ForkBlock,
  ForkingChain,
  growFrom,
} from '../../unit/serving/streams/forkingChain.js'

const method = 'eth_getFilterChanges'
const alice = addressOfNumber(1)
const bob = addressOfNumber(2)
const topic = `0x${'07'.repeat(32)}`
const kinds = [[], [{ address: alice, topics: [] }], [{ address: bob, topics: [topic] }]]
const content = fc.array(fc.constantFrom(...kinds), { maxLength: 3 }).map((logs) => logs.flat())
const moves = fc.array(
  fc.record({
    back: fc.oneof(fc.constant(0), fc.nat(5)),
    blocks: fc.array(content, { minLength: 1, maxLength: 5 }),
    isPolled: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)
interface Filter {
  readonly address?: string | null
  readonly topics?: readonly (readonly string[])[]
}
const filters: readonly Filter[] = [{ address: alice, topics: [] }, { address: null, topics: [[topic]] }, {}]

interface Log {
  readonly blockHash: string
  readonly logIndex: string
  readonly removed: boolean
}

/** Logs that a filter wants of the blocks of a chain, as `hash index`. */
function logsOf(chain: readonly ForkBlock[], { address, topics }: Filter): string[] {
  return chain.flatMap(({ hash, logs }) =>
    logs.flatMap((log, index) =>
      (!address || log.address === address) && (!topics?.length || log.topics[0] === topic)
        ? [`${hash} 0x${index.toString(16)}`]
        : [],
    ),
  )
}

t.test('whoever follows the changes has the logs and blocks of the chain, whatever it does', async (t) => {
  const folder = t.testdir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      moves,
      fc.constantFrom(...filters),
      fc.integer({ min: 1, max: 20 }),
      async (moves, filter, logsMax) => {
        const forks = ForkingChain.openIn(join(folder, String(run++)))
        try {
          const { ask } = openForkingEndpoint(t, { bounds: { logsMax, logBytesMax: 2 ** 24 } }, forks)
          const id = await ask('eth_newFilter', [filter])
          const blockId = await ask('eth_newBlockFilter', [])
          const known: string[] = []
          const blocks: string[] = []
          const poll = async (): Promise<boolean> => {
            const changes: Log[] = await ask(method, [id])
            let isPastRemoved = false
            for (const { blockHash, logIndex, removed } of changes) {
              const line = `${blockHash} ${logIndex}`
              if (removed && isPastRemoved) throw new Error('a removed log after a new one')
              if (!removed) known.push(line)
              else if (known.pop() !== line) throw new Error(`${line} was not the last one`)
              isPastRemoved ||= !removed
            }
            blocks.push(...(await ask(method, [blockId])))
            return changes.length > 0
          }
          for (const { back, blocks, isPolled } of moves) {
            let base = forks.head
            for (let step = 0; step < back; step++) base = base.parent ?? base
            forks.write(growFrom(base, blocks).at(-1) as ForkBlock)
            forks.chain.refreshHead()
            if (isPolled) await poll()
          }
          while (await poll());
          const chain = chainTo(forks.head).slice(1)
          const wanted = logsOf(chain, filter)
          if (known.join() !== wanted.join()) throw new Error(`${known}, not ${wanted}`)
          const reported = new Set(blocks)
          for (const { hash } of chain) if (!reported.has(hash)) throw new Error(`block ${hash} was not told`)
          if (blocks.at(-1) !== forks.head.hash) throw new Error('the head was not told last')
        } finally {
          await forks.close()
        }
      },
    ),
    propertyRuns(40),
  )
  t.pass('all agree')
})

t.test('bounds that are numbers hold for the blocks to come', async (t) => {
  const { forks, ask } = openForkingEndpoint(t)
  const some = [{ address: alice, topics: [] }]
  forks.extend(some, some)
  const ids: string[] = []
  for (const range of [
    {},
    { fromBlock: '0x0' },
    { fromBlock: '0x4' },
    { fromBlock: '0x1', toBlock: '0x3' },
    { fromBlock: '0x1', toBlock: '0x2' },
    { blockHash: forks.head.hash },
  ]) {
    ids.push(await ask('eth_newFilter', [range]))
  }
  forks.extend(some, some, some)
  const expected = [[3, 4, 5], [3, 4, 5], [4, 5], [3], [], [3, 4, 5]]
  for (const [at, id] of ids.entries()) {
    const logs: { blockNumber: string }[] = await ask(method, [id])
    t.strictSame(
      logs.map(({ blockNumber }) => Number(blockNumber)),
      expected[at],
    )
    t.strictSame(await ask(method, [id]), [], 'told once')
  }
})

t.test('polls that come at the same time share the changes between them', async (t) => {
  const { forks, ask } = openForkingEndpoint(t)
  const id = await ask('eth_newFilter', [{}])
  forks.extend([{ address: alice, topics: [] }], [{ address: bob, topics: [] }])
  const answers: Log[][] = await Promise.all([1, 2, 3].map(() => ask(method, [id])))
  t.equal(answers.flat().length, 2)
})
