/** How often the store is read, bytes are hashed and answers are written, for what is asked again and again. */
import t, { type Test } from 'tap'
import { Chain } from '../../../../src/data/chain/chain.js'
import { ChainView } from '../../../../src/data/chain/chainView.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { type Hash32, hexToBytes } from '../../../../src/primitives/bytes.js'
import { blocks, headBlock } from '../../../rpc/demoChain.js'
import { demoStorePath } from '../../../store/storedMessages.js'

interface Counts {
  blocks: number
  bodies: number
  /** Pieces of bodies taken out, as they are for a hash. */
  pieces: number
  totalDifficulties: number
}

/** The demo chain over a store that counts what is read of it. */
function openCounted(t: Test): { chain: Chain; counts: Counts } {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  const counts: Counts = { blocks: 0, bodies: 0, pieces: 0, totalDifficulties: 0 }
  const { readBlock, readBody, readTotalDifficulty } = store
  store.readBlock = (...args) => {
    counts.blocks++
    return readBlock.apply(store, args)
  }
  store.readBody = (...args) => {
    counts.bodies++
    const body = readBody.apply(store, args)
    const { subarray } = Buffer.prototype
    return (
      body &&
      Object.assign(body, {
        subarray: (...range: [number?, number?]) => {
          counts.pieces++
          return subarray.apply(body, range)
        },
      })
    )
  }
  store.readTotalDifficulty = (hash) => {
    counts.totalDifficulties++
    return readTotalDifficulty.call(store, hash)
  }
  const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 2 ** 20 }
  return { chain: new Chain(store, options), counts }
}

t.test('a body is read once for all transactions of its block, and its uncles are not hashed', async (t) => {
  const { chain, counts } = openCounted(t)
  const withUncles = blocks.find(({ uncles, transactions }) => uncles.length > 0 && transactions.length > 0)
  const large = blocks.find(({ transactions }) => transactions.length >= 100)
  for (const block of [withUncles, large]) {
    if (block === undefined) throw new Error('the demo chain has no such block')
    const resolved = chain.resolve({ kind: 'number', number: block.number }, 0)
    if (resolved === undefined) throw new Error(`block ${block.number} is missing`)
    counts.bodies = 0
    counts.pieces = 0
    for (let round = 0; round < 2; round++) {
      for (const index of block.transactions.keys()) t.ok(chain.transactionJson(resolved.hash, index))
      t.equal(chain.transactionJson(resolved.hash, block.transactions.length), undefined)
    }
    t.equal(counts.bodies, 1)
    t.equal(counts.pieces, 0)
    t.ok(chain.receiptsJson(resolved.hash))
    t.ok(chain.blockJson(resolved.hash, true))
    t.equal(counts.bodies, 1, 'block and receipts are made of what is at hand')
  }
})

t.test('a block that is asked for twice is kept, one that is asked for once is not', async (t) => {
  const { chain, counts } = openCounted(t)
  const askEach = (): number => {
    counts.blocks = 0
    for (const { hash } of blocks) t.ok(chain.blockJson(hexToBytes(hash) as Hash32, false))
    return counts.blocks
  }
  t.equal(askEach(), blocks.length)
  t.equal(askEach(), blocks.length)
  t.equal(askEach(), 0)
})

t.test('the pending block is written once for each head', async (t) => {
  const { chain, counts } = openCounted(t)
  const first = chain.pendingBlockJson()
  const { totalDifficulties } = counts
  t.ok(totalDifficulties > 0)
  t.equal(chain.pendingBlockJson(), first)
  t.equal(counts.totalDifficulties, totalDifficulties)
  const parent = chain.resolve({ kind: 'number', number: headBlock.number - 1 }, 0)
  const head = parent && chain.readHeadAt(parent.hash)
  const other = head && new ChainView(chain, head, false).pendingBlockJson()
  t.not(other && Buffer.from(other).equals(first), true, 'another head has its own')
  t.equal(chain.pendingBlockJson(), first)
})
