/** The chains of the Amsterdam fork, executed: every block equals that of go-ethereum. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { Chain } from '../../../src/data/chain/chain.js'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { bytesToHex, type Hash32, hexToBytes } from '../../../src/primitives/bytes.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../src/sources/ingest/blocks/chainFile.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import {
  type AmsterdamBlock,
  amsterdamChains,
  amsterdamDir,
  withoutAmsterdam,
} from '../../ingest/amsterdam.js'
import { importAmsterdam } from '../../ingest/amsterdamStore.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'

const settings = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 2 ** 24 }

/** EIP-7685: the hash of the hashes of a block's requests. */
function requestsHash(requests: readonly string[]): string {
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  return bytesToHex(sha256(Buffer.concat(requests.map((request) => sha256(hexToBytes(request))))))
}

/** Receipts in go-ethereum's form, without additional members. */
function receiptsOf({ receipts }: AmsterdamBlock): unknown {
  return receipts.map(({ _executionGas, _stateGas, ...receipt }) => receipt)
}

t.test(
  'state gas that a called frame gives back is gas of its caller',
  { skip: withoutAmsterdam },
  async (t) => {
    const file = (name: string) => join(amsterdamDir, 'absorb', name)
    const { identity, schedule, blockDiff } = parseGenesis(readFileSync(file('genesis.json'), 'utf8'))
    const store = ChainWriter.openForWriting({ path: join(makeFolder(t), 'chain.mdb'), mapBytes: 2 ** 26 })
    t.teardown(() => store.close())
    store.initialize(identity, blockDiff)
    const importer = new ChainImporter(store, schedule, {})
    store.beginBatch()
    for await (const { rlp } of readChainFile(file('chain.rlp'))) await importer.importBlock(parseBlock(rlp))
    await store.commitBatch()
    t.equal(store.head.number, 2)
  },
)

const chains = someOf(amsterdamChains, 1)

for (const chain of chains) {
  t.test(`${chain}: each block is as go-ethereum has it`, { skip: withoutAmsterdam }, async (t) => {
    const { store, blocks } = await importAmsterdam(t, chain, 'chain.rlp.gz')
    const served = new Chain(store, settings)
    for (const [number, block] of blocks.entries()) {
      const hash = store.readCanonicalHash(number)?.slice() as Hash32
      if (bytesToHex(hash) !== block.hash) t.fail(`the hash of block ${number}`)
      if (number === 0) continue
      const header = decodeHeader(store.readHeader(hash) as Uint8Array)
      const list = store.readBlockAccessList(hash)
      const receipts = JSON.parse(Buffer.from(served.receiptsJson(hash) as Uint8Array).toString())
      if (bytesToHex(header.requestsHash as Hash32) !== requestsHash(block.requests)) {
        t.fail(`the requests of block ${number}`)
      }
      if ((list && bytesToHex(list)) !== block.blockAccessListRlp) t.fail(`the list of block ${number}`)
      if (!isDeepStrictEqual(receipts, receiptsOf(block))) {
        t.strictSame(receipts, receiptsOf(block), `the receipts of block ${number}`)
      }
    }
    t.equal(bytesToHex(store.head.hash), blocks.at(-1)?.hash)
    t.strictSame(verifyChain(store, { blocks: 3, seed: 1, onProgress: () => undefined }).faults, [])
  })
}
