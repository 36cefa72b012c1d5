import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { recoverKeys } from '../../../src/evm/recoveredKeys.js'
import type { FileBlock } from '../../../src/ingest/chainFile.js'
import { withKeysAhead } from '../../../src/ingest/keysAhead.js'
import { ChainMaker, type MadeBlock, mergedConfig, testGenesis } from '../../chainMaker.js'
import { openImporter } from './importing.js'

const hasThread = availableParallelism() > 1
const transfer = { to: `0x${'a1'.repeat(20)}`, value: 1n }
const never = () => false

async function chainOf(count: number): Promise<{ maker: ChainMaker; blocks: MadeBlock[] }> {
  const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
  const blocks: MadeBlock[] = []
  for (let at = 0; at < count; at++) {
    blocks.push(await maker.extend(blocks.at(-1) ?? maker.genesis, { transactions: [transfer, transfer] }))
  }
  return { maker, blocks }
}

/** The blocks as a file has them, and how many were read. */
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

t.test('blocks come in order, with their keys once the thread is there', async (t) => {
  const { maker, blocks } = await chainOf(90)
  const { store } = await openImporter(t, maker)
  const file = fileOf(blocks)
  let at = 0
  let withKeys = 0
  let aheadMax = 0
  for await (const { rlp, offset, takeKeys } of withKeysAhead(file.blocks, store)) {
    t.equal(offset, at)
    t.strictSame(rlp, blocks[at]?.rlp)
    at++
    aheadMax = Math.max(aheadMax, file.read - at)
    const keys = await takeKeys?.()
    // Left alone it finds all; an importer in a hurry may get fewer.
    if (keys !== undefined) {
      withKeys++
      t.strictSame(keys, recoverKeys(rlp, never).slice(0, keys.length))
    }
    // Loading takes a tenth of a second, and far longer beside other tests.
    if (hasThread && withKeys === 0) await setTimeout(200)
  }
  t.equal(at, blocks.length)
  t.ok(file.isClosed)
  t.ok(aheadMax <= 64, `at most ${aheadMax} blocks read ahead`)
  if (hasThread) t.ok(withKeys > 0, `${withKeys} blocks with keys`)
  else t.equal(withKeys, 0)
})

t.test('a thread that is given time finds every key', { skip: !hasThread && 'one core' }, async (t) => {
  const { maker, blocks } = await chainOf(90)
  const { store } = await openImporter(t, maker)
  let isWhole = false
  for await (const { rlp, takeKeys } of withKeysAhead(fileOf(blocks).blocks, store)) {
    await setTimeout(200)
    const keys = await takeKeys?.()
    isWhole = keys?.length === recoverKeys(rlp, never).length
    if (isWhole) break
  }
  t.ok(isWhole)
})

t.test('what fails while reading ahead is told after the blocks before it', async (t) => {
  const { maker, blocks } = await chainOf(5)
  const { store } = await openImporter(t, maker)
  const end = new Error('the file is damaged')
  let seen = 0
  await t.rejects(
    async () => {
      for await (const { takeKeys } of withKeysAhead(fileOf(blocks, end).blocks, store)) {
        await takeKeys?.()
        seen++
        await setTimeout(100)
      }
    },
    { message: end.message },
  )
  t.equal(seen, blocks.length)
})

t.test('blocks that the store has, and what is no block, are not looked at', async (t) => {
  const { maker, blocks } = await chainOf(4)
  const { store, importAll } = await openImporter(t, maker)
  await importAll(blocks)
  const broken = { ...(blocks[0] as MadeBlock), rlp: Uint8Array.of(0xc0) }
  for await (const { takeKeys } of withKeysAhead(fileOf([...blocks, broken]).blocks, store)) {
    t.equal(takeKeys, undefined)
    await setTimeout(50)
  }
})

t.test('whoever stops early leaves neither file nor thread open', async (t) => {
  const { maker, blocks } = await chainOf(30)
  const { store } = await openImporter(t, maker)
  const file = fileOf(blocks)
  let seen = 0
  for await (const _block of withKeysAhead(file.blocks, store)) {
    await setTimeout(50)
    if (++seen === 10) break
  }
  t.ok(file.isClosed)
})
