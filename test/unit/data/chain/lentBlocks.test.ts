// @alone it measures its process, or closes what others share
/** Blocks whose memory is reused for the next one: their answers, and their garbage. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { transactionsPerBlock, writeSyntheticBlocks } from '../../../../bench/data/syntheticBlocks.js'
import { Chain } from '../../../../src/data/chain/chain.js'
import type { ResolvedBlock } from '../../../../src/data/chain/chainBlocks.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'

const blockCount = 1_500
/** Blocks of which answers are made to measure memory. */
const readCount = 300
const folder = mkdtempSync(join(tmpdir(), 'tidegate-lent-'))
const path = join(folder, 'chain.mdb')
// Without ready answers, so that all are rendered.
await writeSyntheticBlocks(path, blockCount, 0)
t.teardown(() => rmSync(folder, { recursive: true }))

const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 }

function openChain(t: Test): Chain {
  const store = ChainReader.open({ path })
  t.teardown(() => store.close())
  return new Chain(store, options)
}

function resolve(chain: Chain, number: number): ResolvedBlock {
  const resolved = chain.resolve({ kind: 'number', number }, 0)
  if (resolved === undefined) throw new Error(`block ${number} is missing`)
  return resolved
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Bytes outside V8's heap that `read` of `count` blocks takes, by block; less if the collector ran meanwhile. */
function bytesPerBlock(count: number, read: (number: number) => void): number {
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  for (let number = 1; number <= count; number++) read(number)
  return (process.memoryUsage().arrayBuffers - before) / count
}

t.test('a block read once for an answer leaves little more memory than that answer', async (t) => {
  const chain = openChain(t)
  let answerBytes = 0
  const transactionBytes = bytesPerBlock(readCount, (number) => {
    const block = resolve(chain, number)
    answerBytes += chain.transactionJson(block.hash, number % transactionsPerBlock, block.number)?.length ?? 0
  })
  t.ok(transactionBytes < (1.5 * answerBytes) / readCount, `${transactionBytes} bytes a transaction`)
  const other = openChain(t)
  let blockBytes = 0
  const blocksBytes = bytesPerBlock(readCount, (number) => {
    const block = resolve(other, number)
    blockBytes += other.blockJson(block.hash, false, block.number)?.length ?? 0
  })
  t.ok(blocksBytes < (1.5 * blockBytes) / readCount, `${blocksBytes} bytes a block`)
})

t.test('a block is kept if it is asked for again soon, and not after a thousand others', async (t) => {
  const store = ChainReader.open({ path })
  t.teardown(() => store.close())
  let kept = 0
  const { readBody } = store
  store.readBody = (hash, isView) => {
    if (isView !== true) kept++
    return readBody.call(store, hash, isView)
  }
  const chain = new Chain(store, options)
  const ask = (number: number) => chain.transactionJson(resolve(chain, number).hash, 0)
  for (let round = 0; round < 2; round++) for (let number = 1; number <= blockCount; number++) ask(number)
  t.ok(kept < blockCount / 20, `${kept} of ${blockCount} are kept`)
  kept = 0
  for (const number of [1, 2, 1, 2, 1, 2]) ask(number)
  t.equal(kept, 2)
})

t.test('answers of different blocks asked for in turn are those of a chain asked for one', async (t) => {
  const chain = openChain(t)
  const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()
  const one = (number: number, read: (chain: Chain, block: ResolvedBlock) => Uint8Array | undefined) => {
    const alone = openChain(t)
    return text(read(alone, resolve(alone, number)))
  }
  for (const [a, b] of [
    [1, 2],
    [299, 7],
    [150, 300],
  ] as const) {
    const blockA = resolve(chain, a)
    const blockB = resolve(chain, b)
    const ofA = chain.transactionJson(blockA.hash, 3, a)
    const wholeB = chain.blockJson(blockB.hash, true, b)
    const laterOfA = chain.transactionJson(blockA.hash, 9)
    const hashesOfB = chain.blockJson(blockB.hash, false)
    t.equal(
      text(ofA),
      one(a, (alone, { hash }) => alone.transactionJson(hash, 3)),
    )
    t.equal(
      text(wholeB),
      one(b, (alone, { hash }) => alone.blockJson(hash, true)),
    )
    t.equal(
      text(laterOfA),
      one(a, (alone, { hash }) => alone.transactionJson(hash, 9)),
    )
    t.equal(
      text(hashesOfB),
      one(b, (alone, { hash }) => alone.blockJson(hash, false)),
    )
  }
})

t.test('a block that was read is not overwritten by those read after it', async (t) => {
  const chain = openChain(t)
  const rows = [40, 41, 42].map((number) => chain.readBlock(resolve(chain, number).hash))
  const before = rows.map(
    (block) => block && [block.headerRlp, block.senders, block.body].map((part) => part.slice()),
  )
  for (let number = 1; number <= 30; number++) {
    const block = resolve(chain, number)
    chain.blockJson(block.hash, true, number)
    chain.transactionJson(block.hash, 0)
  }
  t.same(
    rows.map((block) => block && [block.headerRlp, block.senders, block.body].map((part) => part.slice())),
    before,
  )
})
