// @shares
/**
 * Blocks of an OP Stack chain that each break one rule, made from valid ones. All are refused by the name of the rule,
 * and the head does not move. Skipped without the chain.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { headerFields } from '../../../src/data/chain/header.js'
import { indexedRoot } from '../../../src/data/state/trie.js'
import {
  bytesToHex,
  concatBytes,
  hexToBytes,
  noBytes,
  toMinimalBytes,
} from '../../../src/primitives/bytes.js'
import { emptyTrieRoot } from '../../../src/primitives/keccak.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpBytes, rlpList } from '../../../src/primitives/rlp.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { BadBlockError } from '../../../src/sources/ingest/blocks/importer.js'
import {
  importBlocks,
  type OptimismBlock,
  openOptimism,
  optimismBlocks,
  optimismGenesis,
  skipsOptimism,
} from '../../ingest/optimismChain.js'
import { makeFolder } from '../../library/folder.js'

/** A block in its parts. */
class Parts {
  readonly header: RlpItem[]
  transactions: RlpItem[]
  withdrawals: RlpItem[] | undefined

  constructor(readonly source: OptimismBlock) {
    const [header, transactions, , withdrawals] = decodeRlpList(hexToBytes(source.rlp))
    this.header = [...rlpList(header)]
    this.transactions = [...rlpList(transactions)]
    this.withdrawals = withdrawals && [...rlpList(withdrawals)]
  }

  get(name: string): Uint8Array {
    return rlpBytes(this.header[this.#at(name)])
  }

  set(name: string, value: Uint8Array | bigint | number): void {
    this.header[this.#at(name)] = value instanceof Uint8Array ? value : toMinimalBytes(value)
  }

  /** Changes bytes of a field. */
  edit(name: string, change: (bytes: Uint8Array) => Uint8Array): void {
    this.set(name, change(Uint8Array.from(this.get(name))))
  }

  /** Adds to an integer. */
  add(name: string, more: number): void {
    this.set(
      name,
      BigInt(bytesToHex(this.get(name)) === '0x' ? 0 : bytesToHex(this.get(name))) + BigInt(more),
    )
  }

  drop(name: string): void {
    this.header.length = this.#at(name)
  }

  /** Changes fields of a deposit: sourceHash, from, to, mint, value, gas, isSystemTx, data. */
  deposit(index: number, change: (fields: RlpItem[]) => void): void {
    const fields = [...decodeRlpList(rlpBytes(this.transactions[index]).subarray(1))]
    change(fields)
    this.transactions[index] = concatBytes(Uint8Array.of(0x7e), encodeRlp(fields))
  }

  /** RLP of the block, with the transactions root of its transactions. */
  get rlp(): Uint8Array {
    const items = this.transactions.map((item) => (item instanceof Uint8Array ? item : encodeRlp(item)))
    if (!this.keepsRoot) this.set('transactionsRoot', indexedRoot(items))
    const body = [this.transactions, [], ...(this.withdrawals ? [this.withdrawals] : [])]
    return encodeRlp([this.header, ...body])
  }

  keepsRoot = false

  dropWithdrawals(): void {
    this.withdrawals = undefined
  }

  /** Removes a transaction, but keeps the root. */
  popUnseen(): void {
    this.keepsRoot = true
    this.transactions.pop()
  }

  #at(name: string): number {
    return (headerFields as readonly string[]).indexOf(name)
  }
}

type Breach = readonly [number: number, what: string, breakIt: (parts: Parts) => void, refused: RegExp]

const hash = new Uint8Array(32).fill(7)
const isUser = (item: RlpItem) => !(item instanceof Uint8Array) || item[0] !== 0x7e
const userAt = ({ transactions }: Parts) => transactions.findIndex(isUser)
const extra = (bytes: number, at: number, value: number) => (parts: Parts) =>
  parts.edit('extraData', (data) => {
    const changed = new Uint8Array(bytes)
    changed.set(data.subarray(0, bytes))
    if (at >= 0) changed.fill(value, at, at + (at === 0 ? 1 : 4))
    return changed
  })
const blobTransaction = concatBytes(
  Uint8Array.of(3),
  encodeRlp([
    ...[toMinimalBytes(901), noBytes, noBytes, toMinimalBytes(10 ** 12), toMinimalBytes(21_000)],
    ...[new Uint8Array(20), noBytes, noBytes, [], toMinimalBytes(1), [hash], noBytes, hash, hash],
  ]),
)

/** Blocks: Regolith 5, Canyon 20 and 21, Ecotone 50, Holocene 130 and 145, Isthmus 165 and 180, Jovian 204 to 240. */
const breaches: readonly Breach[] = [
  [5, 'a parent that nobody knows', (p) => p.set('parentHash', hash), /its parent .* is not known/],
  [5, 'uncles', (p) => p.set('sha3Uncles', hash), /sha3Uncles is /],
  [5, 'a difficulty', (p) => p.set('difficulty', 1), /difficulty is 1, expected 0/],
  [5, 'a nonce', (p) => p.set('nonce', new Uint8Array(8).fill(1)), /nonce is .*zero/],
  [5, 'another number', (p) => p.add('number', 1), /number is 6, expected 5/],
  [5, 'the time of its parent', (p) => p.add('timestamp', -2), /timestamp is .*more than the parent's/],
  [5, 'more gas than kernels count', (p) => p.set('gasLimit', 2n ** 63n), /gasLimit is .*at most/],
  [5, 'more gas used than it may', (p) => p.set('gasUsed', 2n ** 40n), /gasUsed is .*at most the gas limit/],
  [5, 'another state', (p) => p.set('stateRoot', hash), /stateRoot is .* after execution/],
  [5, 'another root of receipts', (p) => p.set('receiptsRoot', hash), /receiptsRoot is .* after execution/],
  [5, 'another bloom', (p) => p.set('logsBloom', new Uint8Array(256).fill(1)), /logsBloom is/],
  [5, 'other transactions than its root', (p) => p.popUnseen(), /transactionsRoot/],
  [
    5,
    'extra data before Holocene',
    (p) => p.set('extraData', Uint8Array.of(1)),
    /extraData is 1 bytes, expected 0/,
  ],
  [5, 'a base fee one too high', (p) => p.add('baseFeePerGas', 1), /baseFeePerGas is/],
  [5, 'a base fee one too low', (p) => p.add('baseFeePerGas', -1), /baseFeePerGas is/],
  [5, 'a withdrawals root before Canyon', (p) => p.header.push(emptyTrieRoot), /withdrawalsRoot is present/],
  [
    5,
    'receipts with the nonces that they are kept with',
    (p) => p.set('receiptsRoot', rawRoot(p)),
    /receiptsRoot is/,
  ],
  [5, 'no transactions', (p) => p.transactions.splice(0), /first transaction is not the deposit/],
  [5, 'no L1 attributes', (p) => p.transactions.shift(), /first transaction is not the deposit/],
  [
    5,
    'L1 attributes of another sender',
    (p) => p.deposit(0, (f) => f.splice(1, 1, new Uint8Array(20))),
    /L1 attributes/,
  ],
  [
    5,
    'L1 attributes for another contract',
    (p) => p.deposit(0, (f) => f.splice(2, 1, new Uint8Array(20))),
    /L1 attributes/,
  ],
  [
    5,
    'L1 attributes that are short',
    (p) => p.deposit(0, (f) => f.splice(7, 1, rlpBytes(f[7]).subarray(1))),
    /have an unknown form/,
  ],
  [
    5,
    'a deposit behind others',
    (p) => p.transactions.push(other(p)),
    /transaction \d+ is a deposit behind others/,
  ],
  [
    5,
    'a system transaction',
    (p) => p.deposit(0, (f) => f.splice(6, 1, Uint8Array.of(1))),
    /system transactions are not supported/,
  ],
  [
    5,
    'a flag that is none',
    (p) => p.deposit(0, (f) => f.splice(6, 1, Uint8Array.of(2))),
    /isSystemTx has more than 1 bits/,
  ],
  [5, 'a deposit with a field more', (p) => p.deposit(0, (f) => f.push(noBytes)), /expected 8 fields, got 9/],
  [5, 'a deposit with a field less', (p) => p.deposit(0, (f) => f.shift()), /expected 8 fields, got 7/],
  [
    5,
    'a source hash of 31 bytes',
    (p) => p.deposit(0, (f) => f.splice(0, 1, hash.subarray(1))),
    /expected 32 bytes/,
  ],
  [
    5,
    'a sender of 19 bytes',
    (p) => p.deposit(0, (f) => f.splice(1, 1, new Uint8Array(19))),
    /expected 20 bytes/,
  ],
  [
    5,
    'a mint with leading zeros',
    (p) => p.deposit(0, (f) => f.splice(3, 1, Uint8Array.of(0, 1))),
    /mint has leading zeros/,
  ],
  [
    5,
    'a mint beyond 256 bits',
    (p) => p.deposit(0, (f) => f.splice(3, 1, new Uint8Array(33).fill(1))),
    /mint has more than 256 bits/,
  ],
  [
    5,
    'a mint more',
    (p) => p.deposit(0, (f) => f.splice(3, 1, Uint8Array.of(9))),
    /stateRoot is .* after execution/,
  ],
  [
    5,
    'a deposit with more gas than the block',
    (p) => p.deposit(0, (f) => f.splice(5, 1, toMinimalBytes(10 ** 9))),
    /gas limit reached/,
  ],
  [5, 'a blob transaction', (p) => p.transactions.push(blobTransaction), /transaction type 3 is not known/],
  [
    5,
    'a transaction of Lagoon',
    (p) => p.transactions.push(Uint8Array.of(0x7d, 0xc0)),
    /transaction type 125 is not known/,
  ],
  [
    5,
    'the same transaction twice',
    (p) => p.transactions.push(p.transactions[userAt(p)] as RlpItem),
    /nonce too low/,
  ],
  [
    20,
    'no withdrawals root in Canyon',
    (p) => p.drop('withdrawalsRoot'),
    /withdrawalsRoot is absent|withdrawals is present/,
  ],
  [20, 'another withdrawals root', (p) => p.set('withdrawalsRoot', hash), /withdrawalsRoot is/],
  [20, 'no withdrawals', (p) => p.dropWithdrawals(), /withdrawals is absent/],
  [20, 'the base fee of the denominator before', (p) => p.add('baseFeePerGas', 5), /baseFeePerGas is/],
  [
    21,
    'receipts of deposits without nonces',
    (p) => p.set('receiptsRoot', rootWithoutNonces(p)),
    /receiptsRoot is/,
  ],
  [50, 'no blob gas', (p) => p.drop('blobGasUsed'), /blobGasUsed is absent/],
  [50, 'blob gas', (p) => p.set('blobGasUsed', 131_072), /blobGasUsed is 131072, expected at most 0/],
  [50, 'excess blob gas', (p) => p.set('excessBlobGas', 1), /excessBlobGas is 1, expected 0/],
  [50, 'no beacon root', (p) => p.drop('parentBeaconBlockRoot'), /parentBeaconBlockRoot is absent/],
  [50, 'another beacon root', (p) => p.set('parentBeaconBlockRoot', hash), /stateRoot is .* after execution/],
  [50, 'a requests hash before Isthmus', (p) => p.header.push(hash), /requestsHash is present/],
  [50, 'a base fee of Ethereum', (p) => p.add('baseFeePerGas', -1), /baseFeePerGas is/],
  [130, 'no extra data in Holocene', (p) => p.set('extraData', noBytes), /extraData is 0 bytes, expected 9/],
  [145, '8 bytes of extra data', extra(8, -1, 0), /extraData is 8 bytes, expected 9/],
  [145, '10 bytes of extra data', extra(10, -1, 0), /extraData is 10 bytes, expected 9/],
  [145, 'extra data of version 1', extra(9, 0, 1), /extraData is of version 1/],
  [145, 'a denominator of 0', extra(9, 1, 0), /extraData is a denominator of 0/],
  [145, 'an elasticity of 0', extra(9, 5, 0), /extraData is an elasticity of 0/],
  [145, 'a base fee by other parameters', (p) => p.add('baseFeePerGas', 1), /baseFeePerGas is/],
  [
    165,
    'the withdrawals root of no withdrawals',
    (p) => p.set('withdrawalsRoot', emptyTrieRoot),
    /withdrawalsRoot is .* after execution/,
  ],
  [
    165,
    'another storage root',
    (p) => p.set('withdrawalsRoot', hash),
    /withdrawalsRoot is .* after execution/,
  ],
  [
    165,
    'a withdrawal',
    (p) => p.withdrawals?.push([noBytes, noBytes, new Uint8Array(20), noBytes]),
    /withdrawals is 1, expected none/,
  ],
  [165, 'no requests hash', (p) => p.drop('requestsHash'), /requestsHash is absent/],
  [165, 'another requests hash', (p) => p.set('requestsHash', hash), /requestsHash is .* after execution/],
  [
    165,
    'the requests hash of one',
    (p) => p.set('requestsHash', createHash('sha256').update('a').digest()),
    /requestsHash is/,
  ],
  [180, 'a field of Amsterdam', (p) => p.header.push(hash), /blockAccessListHash is present/],
  [204, 'extra data of Holocene in Jovian', extra(9, -1, 0), /extraData is 9 bytes, expected 17/],
  [
    204,
    "another transaction in Jovian's first block",
    (p) => p.transactions.push(laterTransaction(204)),
    /unexpected non-deposit/,
  ],
  ...([5, 50] as const).map(
    (older) =>
      [
        204,
        `L1 attributes of block ${older} in Jovian's first block`,
        (p: Parts) =>
          p.transactions.splice(
            0,
            1,
            new Parts(optimismBlocks('a')[older] as OptimismBlock).transactions[0] as RlpItem,
          ),
        /L1 attributes of the form of (bedrock|ecotone)/,
      ] as const,
  ),
  [210, 'extra data of version 0', extra(17, 0, 0), /extraData is of version 0/],
  [210, '18 bytes of extra data', extra(18, -1, 0), /extraData is 18 bytes, expected 17/],
  [210, 'a denominator of 0 in Jovian', extra(17, 1, 0), /extraData is a denominator of 0/],
  [210, 'an elasticity of 0 in Jovian', extra(17, 5, 0), /extraData is an elasticity of 0/],
  [210, 'another DA footprint', (p) => p.add('blobGasUsed', 1), /blobGasUsed is .*expected/],
  [210, 'no DA footprint', (p) => p.set('blobGasUsed', 0), /blobGasUsed is 0, expected/],
  [
    210,
    'a DA footprint above the gas limit',
    (p) => p.set('blobGasUsed', 2n ** 40n),
    /blobGasUsed is .*at most/,
  ],
  [211, 'a base fee by gas alone', (p) => p.add('baseFeePerGas', -1), /baseFeePerGas is/],
  [
    230,
    'a base fee below the least one',
    (p) => p.set('baseFeePerGas', 1_499_999_999),
    /baseFeePerGas is 1499999999, expected 1500000000/,
  ],
  [230, 'gas as without refunds', (p) => p.add('gasUsed', 4_800), /gasUsed is .* after execution/],
  [230, 'gas of deposits left out', (p) => p.set('gasUsed', 0), /gasUsed is .* after execution/],
]

/** Another deposit, the first one with another source. */
function other(parts: Parts): Uint8Array {
  const fields = [...decodeRlpList(rlpBytes(parts.transactions[0]).subarray(1))]
  fields[0] = hash
  return concatBytes(Uint8Array.of(0x7e), encodeRlp(fields))
}

/** The first transaction after a block that this block could contain too. */
function laterTransaction(number: number): RlpItem {
  const found = optimismBlocks('a')
    .slice(number + 1)
    .flatMap((block) => new Parts(block).transactions)
    .find(isUser)
  return found as RlpItem
}

const rawRoot = ({ source }: Parts) => indexedRoot(source.rawReceipts.map(hexToBytes))

function rootWithoutNonces({ source }: Parts): Uint8Array {
  return indexedRoot(
    source.rawReceipts.map(hexToBytes).map((raw) => {
      if (raw[0] !== 0x7e) return raw
      return concatBytes(raw.subarray(0, 1), encodeRlp(decodeRlpList(raw.subarray(1)).slice(0, 4)))
    }),
  )
}

t.test('blocks that break one rule are refused by its name', { skip: skipsOptimism }, async (t) => {
  const blocks = optimismBlocks('a')
  const opened = openOptimism(join(makeFolder(t), 'store'), optimismGenesis('a'))
  t.teardown(() => opened.store.close())
  t.ok(breaches.length >= 60, `${breaches.length} rules`)
  let imported = 1
  for (const [number, what, breakIt, refused] of breaches) {
    await importBlocks(opened, blocks.slice(imported, number))
    imported = number
    const head = bytesToHex(opened.store.head.hash)
    const parts = new Parts(blocks[number] as OptimismBlock)
    breakIt(parts)
    opened.store.beginBatch()
    const importing = opened.importer.importBlock(parseBlock(parts.rlp))
    await t.rejects(
      importing,
      { constructor: BadBlockError, message: refused },
      `block ${number} with ${what}`,
    )
    await opened.store.commitBatch()
    t.equal(bytesToHex(opened.store.head.hash), head)
  }
  await importBlocks(opened, blocks.slice(imported))
  t.equal(bytesToHex(opened.store.head.hash), blocks.at(-1)?.block.hash, 'and the valid ones follow')
})
