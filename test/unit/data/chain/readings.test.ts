/** Number of store reads, hashed bytes and written answers for repeated calls. */
import t, { type Test } from 'tap'
import { Chain, ChainView } from '../../../../src/data/chain/chain.js'
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
  /** Rows of receipts. */
  receipts: number
}

/** The demo chain over a store that counts its reads. */
function openCounted(t: Test): { chain: Chain; counts: Counts } {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  const counts: Counts = { blocks: 0, bodies: 0, pieces: 0, totalDifficulties: 0, receipts: 0 }
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
  const { readReceiptList } = store
  store.readReceiptList = (hash) => {
    counts.receipts++
    return readReceiptList.call(store, hash)
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
  // The value of a store without ready answers.
  chain.parts.readyFrom = Number.POSITIVE_INFINITY
  const askEach = (): number => {
    counts.blocks = 0
    for (const { hash } of blocks) t.ok(chain.blockJson(hexToBytes(hash) as Hash32, false))
    return counts.blocks
  }
  t.equal(askEach(), blocks.length)
  t.equal(askEach(), blocks.length)
  t.equal(askEach(), 0)
})

t.test(
  'receipts of a kept block, asked for one by one, are read once and are those of the whole block',
  async (t) => {
    const { chain, counts } = openCounted(t)
    const texts = (ask: () => Uint8Array | undefined) => Buffer.from(ask() ?? []).toString()
    for (const { hash: text, number, transactions } of blocks) {
      const hash = hexToBytes(text) as Hash32
      const whole = texts(() => chain.receiptsJson(hash))
      for (let round = 0; round < 3; round++) {
        const each = transactions.map(({ hash: transactionHash }, index) => {
          const at = chain.findTransaction(hexToBytes(transactionHash) as Hash32)
          if (at === undefined) throw new Error(`transaction ${index} of block ${number} is missing`)
          t.same(at, { blockHash: hash, number, index })
          return texts(() => chain.receiptJson(at))
        })
        t.equal(`[${each.join(',')}]`, whole, `block ${number}`)
      }
      t.equal(chain.receiptJson({ blockHash: hash, index: transactions.length }), undefined)
    }
    const asked = blocks.reduce((count, { transactions }) => count + 3 * transactions.length, 0)
    t.ok(counts.receipts < asked / 3, `${counts.receipts} rows for ${asked} receipts`)
  },
)

t.test('a transaction above the head of a view, or in no block, has no location', async (t) => {
  const { chain } = openCounted(t)
  const last = blocks.findLast(({ transactions }) => transactions.length > 0)
  const below = last && chain.resolve({ kind: 'number', number: last.number - 1 }, 0)
  const head = below && chain.readHeadAt(below.hash)
  if (head === undefined) throw new Error('the demo chain has no such block')
  const hash = hexToBytes(last?.transactions[0]?.hash ?? '0x') as Hash32
  t.ok(chain.findTransaction(hash))
  t.equal(new ChainView(chain, head, true).findTransaction(hash), undefined)
  t.equal(chain.findTransaction(new Uint8Array(32) as Hash32), undefined)
})

t.test('the pending block is written once for each head', async (t) => {
  const { chain, counts } = openCounted(t)
  const first = chain.pendingBlockJson(false)
  const { totalDifficulties } = counts
  t.ok(totalDifficulties > 0)
  t.equal(chain.pendingBlockJson(false), first)
  t.equal(counts.totalDifficulties, totalDifficulties)
  const parent = chain.resolve({ kind: 'number', number: headBlock.number - 1 }, 0)
  const head = parent && chain.readHeadAt(parent.hash)
  const other = head && new ChainView(chain, head, false).pendingBlockJson(false)
  t.not(other && Buffer.from(other).equals(first), true, 'another head has its own')
  t.equal(chain.pendingBlockJson(false), first)
})
