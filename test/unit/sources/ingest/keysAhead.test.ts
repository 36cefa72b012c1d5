import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { recoverKeys } from '../../../../src/execution/evm/transactions/recoveredKeys.js'
import type { FileBlock } from '../../../../src/sources/ingest/blocks/chainFile.js'
import { withKeysAhead } from '../../../../src/sources/ingest/blocks/keysAhead.js'
import { ChainMaker, type MadeBlock, mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { once, until } from '../../../library/until.js'
import { openImporter } from './importing.js'

const hasThread = availableParallelism() > 1
const transfer = { to: `0x${'a1'.repeat(20)}`, value: 1n }
const never = () => false

const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
/** More blocks than are read ahead. Blocks without a transaction take a tenth of the time. */
const blocks: MadeBlock[] = []
while (blocks.length < 70) {
  const transactions = blocks.length < 10 ? [transfer, transfer] : []
  blocks.push(await maker.extend(blocks.at(-1) ?? maker.genesis, { transactions }))
}

/** The blocks in the form of a file, and the number of blocks read. */
function fileOf(blocks: readonly MadeBlock[], end?: Error) {
  const file = { read: 0, isClosed: false, blocks: read() }
  async function* read(): AsyncGenerator<FileBlock> {
    try {
      for (const [index, { rlp }] of blocks.entries()) {
        file.read++
        yield { rlp, offset: index }
      }
      if (end !== undefined) throw end
    } finally {
      file.isClosed = true
    }
  }
  return file
}

/** The thread that the next file starts, its messages so far, and a promise for its readiness. */
function nextThread() {
  const thread = { worker: undefined as Worker | undefined, said: 0, ready: Promise.resolve() }
  if (!hasThread) return thread
  thread.ready = new Promise((resolve, reject) => {
    process.once('worker', (worker) => {
      thread.worker = worker
      worker.on('message', () => thread.said++)
      once(worker, 'message').then(() => resolve(), reject)
    })
  })
  return thread
}

t.test('blocks come in order, with their keys once the thread is there', async (t) => {
  const { store } = await openImporter(t, maker)
  const file = fileOf(blocks)
  const thread = nextThread()
  let at = 0
  let withKeys = 0
  let aheadMax = 0
  for await (const { rlp, offset, takeKeys } of withKeysAhead(file.blocks, store, 0)) {
    t.equal(offset, at)
    t.strictSame(rlp, blocks[at]?.rlp)
    at++
    aheadMax = Math.max(aheadMax, file.read - at)
    const keys = await takeKeys?.()
    // If nobody asks earlier, the thread finds all keys; an importer that asks early may get fewer.
    if (keys !== undefined) {
      withKeys++
      // Keys after the number of senders.
      t.strictSame(keys.slice(4), recoverKeys(rlp, never).slice(4, Math.max(4, keys.length)))
    }
    await thread.ready
  }
  t.equal(at, blocks.length)
  t.ok(file.isClosed)
  // The first has started the thread.
  t.equal(withKeys, hasThread ? blocks.length - 1 : 0)
  t.equal(aheadMax, hasThread ? 63 : 0, 'and one in hand')
})

t.test('a thread that is given time finds every key', { skip: !hasThread && 'one core' }, async (t) => {
  const { store } = await openImporter(t, maker)
  const thread = nextThread()
  let whole = 0
  for await (const { rlp, takeKeys } of withKeysAhead(fileOf(blocks.slice(0, 3)).blocks, store, 0)) {
    await thread.ready
    if (takeKeys === undefined) continue
    // Its readiness message, and its answers to both blocks.
    await until(() => thread.said === 3)
    t.strictSame(await takeKeys(), recoverKeys(rlp, never))
    whole++
  }
  t.equal(whole, 2)
})

t.test('what fails while reading ahead is told after the blocks before it', async (t) => {
  const { store } = await openImporter(t, maker)
  const end = new Error('the file is damaged')
  const thread = nextThread()
  let seen = 0
  await t.rejects(
    async () => {
      for await (const { takeKeys } of withKeysAhead(fileOf(blocks.slice(0, 5), end).blocks, store, 0)) {
        await takeKeys?.()
        seen++
        await thread.ready
      }
    },
    { message: end.message },
  )
  t.equal(seen, 5)
})

t.test('blocks that the store has, and what is no block, are not looked at', async (t) => {
  const { store, importAll } = await openImporter(t, maker)
  const known = blocks.slice(0, 4)
  await importAll(known)
  const broken = { ...(blocks[0] as MadeBlock), rlp: Uint8Array.of(0xc0) }
  for await (const { takeKeys } of withKeysAhead(fileOf([...known, broken]).blocks, store, 0)) {
    t.equal(takeKeys, undefined)
  }
})

t.test('whoever stops early leaves neither file nor thread open', async (t) => {
  const { store } = await openImporter(t, maker)
  const file = fileOf(blocks)
  const thread = nextThread()
  let seen = 0
  for await (const _block of withKeysAhead(file.blocks, store, 0)) {
    await thread.ready
    if (++seen === 10) break
  }
  t.ok(file.isClosed)
  if (hasThread) t.equal(thread.worker?.threadId, -1, 'it has ended')
})

t.test('a short file starts no thread', async (t) => {
  const { store } = await openImporter(t, maker)
  const thread = nextThread()
  for await (const { takeKeys } of withKeysAhead(fileOf(blocks).blocks, store)) t.equal(takeKeys, undefined)
  t.equal(thread.worker, undefined)
})
