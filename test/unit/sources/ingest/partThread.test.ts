/** The thread that runs parts of blocks: its start, its failures, its end. */
import { availableParallelism } from 'node:os'
import t, { type Test } from 'tap'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { decodeParts, type PartsTask } from '../../../../src/execution/evm/blocks/blockPart.js'
import type { PartThread } from '../../../../src/execution/evm/blocks/executeInParts.js'
import { bytesToHex, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import { parseBlock } from '../../../../src/sources/ingest/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/importer.js'
import { PartWorker } from '../../../../src/sources/ingest/partThread.js'
import {
  type ListedBlock,
  ListedChain,
  listedChainId,
  makeSenders,
  type Sender,
  signTransaction,
  withListRlp,
} from '../../../ingest/listedChain.js'
import { makeFolder } from '../../../library/folder.js'
import { until } from '../../../library/until.js'

const senders = makeSenders(6)

/** A block in which each sender pays the next one. */
function payments(chain: ListedChain): ListedBlock {
  const block = chain.add(
    senders.map((sender, at) => {
      const to = (senders[(at + 1) % senders.length] as Sender).address
      const fields = [listedChainId, chain.nonceOf(sender), 1, 1_000_000, 100_000].map(toMinimalBytes)
      return signTransaction(2, [...fields, to, Uint8Array.of(7), new Uint8Array(0), []], sender)
    }),
  )
  chain.go(block)
  return block
}

/** A store of the chain's genesis, and an importer with such a thread that counts what it was asked. */
function importing(t: Test, chain: ListedChain, run: PartThread['run']) {
  const { identity, blockDiff, schedule } = parseGenesis(chain.genesisText)
  const store = ChainWriter.openForWriting({ path: `${makeFolder(t)}/chain.mdb`, mapBytes: 2 ** 28 })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const asked: PartsTask[] = []
  const partThread: PartThread = {
    isWorth: () => true,
    taken: new Int32Array(new SharedArrayBuffer(4)),
    run: (task) => {
      asked.push(task)
      return (run as NonNullable<typeof run>)(task)
    },
  }
  return { store, asked, importer: new ChainImporter(store, schedule, { partThread }) }
}

t.test('a thread that fails leaves the block to be executed in order', async (t) => {
  const chain = new ListedChain({}, senders)
  const failing = async () => {
    throw new Error('no memory')
  }
  const { store, asked, importer } = importing(t, chain, failing)
  for (let number = 1; number <= 3; number++) {
    const block = payments(chain)
    await importer.importBlock(parseBlock(withListRlp(block)))
    t.equal(bytesToHex(store.head.hash), bytesToHex(block.hash))
    t.equal(asked.length, number)
  }
})

t.test('a thread that lies is not believed', async (t) => {
  const chain = new ListedChain({}, senders)
  const nothing = async () => Uint8Array.of(0xc1, 0x80)
  const { store, importer } = importing(t, chain, nothing)
  const block = payments(chain)
  await importer.importBlock(parseBlock(withListRlp(block)))
  t.equal(bytesToHex(store.head.hash), bytesToHex(block.hash))
})

t.test('it starts when it is first asked for, refuses what is no task, and goes on', async (t) => {
  const chain = new ListedChain({}, senders)
  const { identity } = parseGenesis(chain.genesisText)
  const thread = new PartWorker(identity)
  t.teardown(() => thread.close())
  t.equal(thread.run, undefined)
  t.ok(thread.isWorth(30_000_000n, 200))
  t.notOk(thread.isWorth(30_000_000n, 1_000), 'transfers are left to one thread')
  t.notOk(thread.isWorth(300_000n, 2), 'so is what is over before a message comes')
  if (availableParallelism() === 1) return
  await until(() => thread.run !== undefined)
  const { asked, importer } = importing(t, chain, async () => Uint8Array.of(0xc1, 0x80))
  await importer.importBlock(parseBlock(withListRlp(payments(chain))))
  const [task] = asked as [PartsTask]
  await t.rejects(thread.run?.({ ...task, bodyRlp: Uint8Array.of(1) }) as Promise<Uint8Array>)
  thread.taken[0] = 0
  const { parts } = decodeParts((await thread.run?.(task)) as Uint8Array)
  t.equal(
    parts.reduce((sum, { transactions }) => sum + transactions.length, 0),
    senders.length,
  )
  t.ok(parts.every(({ transactions }) => transactions.every(({ isSuccess }) => isSuccess)))
  await thread.close()
  t.equal(thread.run, undefined)
})
