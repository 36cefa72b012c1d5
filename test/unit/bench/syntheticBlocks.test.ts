import { join } from 'node:path'
import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { createTxFromRLP } from '@ethereumjs/tx'
import t from 'tap'
import {
  transactionHash,
  transactionsPerBlock,
  writeSyntheticBlocks,
} from '../../../bench/data/syntheticBlocks.js'
import { Chain } from '../../../src/data/chain/chain.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { decodeRlpList } from '../../../src/primitives/rlp.js'

t.test('every block of a synthetic chain holds transactions of its own, as they are rendered', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  await writeSyntheticBlocks(path, 1_001)
  const store = ChainReader.open({ path })
  t.teardown(() => store.close())
  const chain = new Chain(store, { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 })
  t.equal(chain.head.number, 1_001)
  const common = createCustomCommon({ chainId: Number(chain.identity.chainId) }, Mainnet, {
    hardfork: Hardfork.Cancun,
  })
  const seen = new Set<string>()
  for (const number of [1, 2, 1_000, 1_001]) {
    const blockHash = store.readCanonicalHash(number) as never
    const block = JSON.parse(Buffer.from(chain.blockJson(blockHash, true) as Uint8Array).toString()) as {
      readonly number: string
      readonly transactions: readonly {
        readonly hash: string
        readonly nonce: string
        readonly r: string
        readonly s: string
      }[]
    }
    t.equal(Number(block.number), number)
    const [stored] = decodeRlpList(store.readBody(blockHash) as Uint8Array) as [Uint8Array[]]
    t.equal(stored.length, transactionsPerBlock)
    for (const [index, bytes] of stored.entries()) {
      const theirs = createTxFromRLP(bytes, { common })
      const { nonce, r, s } = theirs
      const hash = bytesToHex(theirs.hash())
      const expected = [nonce, r as bigint, s as bigint].map((value) => `0x${value.toString(16)}`)
      const shown = block.transactions[index]
      t.same([shown?.hash, shown?.nonce, shown?.r, shown?.s], [hash, ...expected])
      t.equal(hash, transactionHash((number - 1) * transactionsPerBlock + index))
      seen.add(hash)
      const at = { blockHash, index, number }
      const receipt = JSON.parse(Buffer.from(chain.receiptJson(at) as Uint8Array).toString()) as object
      t.match(receipt, {
        transactionHash: hash,
        status: '0x1',
        gasUsed: '0xc738',
        logs: [{ transactionHash: hash }],
      })
    }
  }
  t.equal(seen.size, 4 * transactionsPerBlock)
})
