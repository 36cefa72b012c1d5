// @shares
/**
 * OP Stack chains that op-geth made: every block is imported, and its header, receipts and JSON are those of op-geth.
 * One has all forks up to Jovian, the other one Karst too. Skipped without them.
 */
import { join } from 'node:path'
import t from 'tap'
import { Chain } from '../../../src/data/chain/chain.js'
import { bytesToHex, type Hash32, hexToBytes } from '../../../src/primitives/bytes.js'
import { decodeRlpList, rlpBytes } from '../../../src/primitives/rlp.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import {
  importBlocks,
  type Json,
  openOptimism,
  optimismBlocks,
  optimismGenesis,
  skipsOptimism,
} from '../../ingest/optimismChain.js'
import { makeFolder } from '../../library/folder.js'

const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 2 ** 20 }
const parsed = (json: Uint8Array | undefined) => JSON.parse(Buffer.from(json ?? []).toString())

for (const name of ['a', 'karst-approx']) {
  t.test(
    `chain ${name} is imported, and answered as op-geth answers it`,
    { skip: skipsOptimism },
    async (t) => {
      const blocks = optimismBlocks(name)
      const opened = openOptimism(join(makeFolder(t), 'store'), optimismGenesis(name))
      const { store } = opened
      t.equal(bytesToHex(store.head.hash), blocks[0]?.block.hash)
      await importBlocks(opened, blocks.slice(1))
      t.equal(bytesToHex(store.head.hash), blocks.at(-1)?.block.hash)
      const chain = new Chain(store, options)
      for (const { number, block, receipts, rawReceipts, rlp } of blocks) {
        const hash = hexToBytes(block.hash) as Hash32
        const { totalDifficulty: _, ...json } = parsed(chain.blockJson(hash, true)) as Json
        t.strictSame(json, block, `block ${number}`)
        t.strictSame(parsed(chain.receiptsJson(hash)), receipts, `receipts of block ${number}`)
        const raw = decodeRlpList(chain.readReceipts(hash) as Uint8Array).map(rlpBytes)
        t.strictSame(raw.map(bytesToHex), rawReceipts, `raw receipts of block ${number}`)
        t.equal(bytesToHex(chain.readRawBlock(hash) as Uint8Array), rlp)
      }
      const { faults } = verifyChain(store, { blocks: 5, seed: 1, onProgress: () => undefined })
      t.strictSame(faults, [], 'and its store is sound')
      store.close()
    },
  )
}
