// @alone it measures its process, or closes what others share
/** A new type of transaction is an object and a line in the table: a block with one is made, imported and served. */
import { join } from 'node:path'
import t from 'tap'
import { transactionFromJson } from '../../../src/data/chain/blockFromJson.js'
import { pendingTransactionJson } from '../../../src/data/chain/transactionJson.js'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { checkSentTransaction } from '../../../src/execution/evm/transactions/sentTransaction.js'
import { bytesToHex, concatBytes, noBytes, toMinimalBytes } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { decodeRlpList } from '../../../src/primitives/rlp.js'
import { TransactionType, transactionTypes } from '../../../src/primitives/transactionTypes.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import { readTransaction } from '../../../src/verify/transaction.js'
import {
  ListedChain,
  listedChainId,
  makeSenders,
  signTransaction,
  withListRlp,
} from '../../ingest/listedChain.js'

const number = 0x55
/** The order, a fee, a hash list and bytes that no other type has. */
const fields = {
  memo: 'bytes',
  nonce: 'integer64',
  chainId: 'integer',
  gas: 'integer64',
  gasPrice: 'integer',
  to: 'recipient',
  value: 'integer',
  input: 'bytes',
  storageFee: 'integer',
  witnesses: 'hashes',
  accessList: 'accessList',
} as const
const to = new Uint8Array(20).fill(0x77)
const memo = Uint8Array.of(1, 2, 3)
const listed = new Uint8Array(32).fill(9)
const integer = (value: number | bigint) => toMinimalBytes(value)

const [sender] = makeSenders(1) as [ReturnType<typeof makeSenders>[number]]
const raw = () =>
  signTransaction(
    number,
    [
      ...[
        memo,
        noBytes,
        integer(listedChainId),
        integer(100_000),
        integer(10n ** 9n),
        to,
        integer(5),
        noBytes,
      ],
      ...[integer(77), [listed], [[to, [listed]]]],
    ],
    sender,
  )

t.test('without its line in the table, a type is refused by name', (t) => {
  const refused = { fault: { why: 'transaction type not supported' } } as unknown as Error
  t.throws(() => checkSentTransaction(raw(), 'amsterdam', BigInt(listedChainId)), refused)
  const chain = new ListedChain({}, [sender])
  t.equal(chain.add([raw()]).executed.receipts.length, 0, 'it is left out of a block')
  t.end()
})

t.test('with it, a block is imported, and its transaction is JSON and back', async (t) => {
  ;(transactionTypes as Map<number, TransactionType>).set(
    number,
    new TransactionType(number, 'berlin', fields),
  )
  const { transactionSchema } = await import('../../../src/serving/rpc/params/schema.js')
  const members = Object.keys(transactionSchema.properties as object)
  for (const name of ['memo', 'storageFee', 'witnesses'])
    t.ok(members.includes(name), `the schema has ${name}`)

  t.match(checkSentTransaction(raw(), 'amsterdam', BigInt(listedChainId)), { gasLimit: 100_000n, nonce: 0n })
  const chain = new ListedChain({}, [sender])
  const block = chain.add([raw()])
  t.equal(block.executed.gasUsed > 21_000n, true, 'its list of accesses is paid for')
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 28 })
  t.teardown(() => store.close())
  const { identity, blockDiff, schedule } = parseGenesis(chain.genesisText)
  store.initialize(identity, blockDiff)
  const importer = new ChainImporter(store, schedule)
  t.match(await importer.importBlock(parseBlock(withListRlp(block))), { outcome: 'canonical' })
  await importer.finish()
  t.strictSame(verifyChain(store, { blocks: 1, seed: 1, onProgress: () => undefined }).faults, [])

  const hash = keccak256(raw())
  const json = JSON.parse(Buffer.from(pendingTransactionJson(raw(), sender.address, hash)).toString())
  t.match(json, {
    type: '0x55',
    chainId: '0x1cbd',
    nonce: '0x0',
    gas: '0x186a0',
    gasPrice: '0x3b9aca00',
    value: '0x5',
    memo: '0x010203',
    storageFee: '0x4d',
    witnesses: [bytesToHex(listed)],
    to: bytesToHex(to),
    accessList: [{ address: bytesToHex(to), storageKeys: [bytesToHex(listed)] }],
    yParity: json.v,
  })
  t.equal(bytesToHex(transactionFromJson(json) as Uint8Array), bytesToHex(raw()))
  const header = { number: 1n, hash: '0x', timestamp: 0n, baseFee: 7n } as never
  const { json: proved } = readTransaction(raw(), header, 0n)
  const { blockHash: _, blockNumber: __, blockTimestamp: ___, transactionIndex: ____, ...own } = json
  t.match(proved, own, 'the library for clients reads the same')
  t.equal(decodeRlpList(concatBytes(raw().subarray(1))).length, Object.keys(fields).length + 3)
})
