import { join } from 'node:path'
import { BlockRowsReader } from '../../src/data/chain/blockRows.js'
import type { Header } from '../../src/data/chain/header.js'
import { fieldSpan, readTransaction, type Transaction } from '../../src/data/chain/transactionJson.js'
import type { ChainReader } from '../../src/data/store/chainReader.js'
import type {
  AccessListEntry,
  Authorization,
  CallMessage,
} from '../../src/execution/evm/messages/executionRequest.js'
import { bytesToBigInt, bytesToHex, bytesToNumber, type Hash32 } from '../../src/primitives/bytes.js'
import {
  decodeRlp,
  decodeRlpList,
  type RlpItem,
  type RlpSpan,
  rlpBytes,
  rlpList,
} from '../../src/primitives/rlp.js'
import { transactionTypes } from '../../src/primitives/transactionTypes.js'
import { fixtureDir } from '../service/fixtures.js'

/** Store of the demo chain, made by `prepare.ts`. */
export const demoStorePath = join(fixtureDir, 'networks/demo/chain.mdb')

/** Store of the recorded chain, if there are recordings. */
export const recordedStorePath = join(fixtureDir, 'networks/recorded/chain.mdb')

/** A transaction of a stored block as the executed message, and its outcome. */
export interface StoredMessage {
  /** `block 12, transaction 3 (0x…)` */
  readonly title: string
  readonly header: Header
  readonly parentHash: Hash32
  readonly index: number
  readonly transactionsInBlock: number
  readonly message: CallMessage
  readonly gas: bigint
  /** Undefined if receipts have a state root instead (before Byzantium). */
  readonly hasSucceeded: boolean | undefined
  readonly gasUsed: bigint
  /** Address, topics and data of each log, as hex. */
  readonly logs: readonly string[]
}

/** Every transaction of the canonical chain, in order. */
export function* storedMessages(store: ChainReader): Generator<StoredMessage> {
  const head = store.readHead()?.number ?? 0
  for (let number = 1; number <= head; number++) {
    const hash = store.readCanonicalHash(number)
    const rows = hash && new BlockRowsReader(store).read(hash)
    const receipts = hash && store.readReceipts(hash)
    if (rows === undefined || receipts === undefined) throw new Error(`block ${number} is missing`)
    let before = 0n
    for (const [index, item] of decodeRlpList(receipts).entries()) {
      const bytes = rlpBytes(item)
      const receipt = decodeRlpList((bytes[0] as number) >= 0xc0 ? bytes : bytes.subarray(1))
      const status = rlpBytes(receipt[0])
      const total = bytesToBigInt(rlpBytes(receipt[1]))
      const transaction = readTransaction(rows.body, rows.transactions[index] as RlpSpan)
      const sender = rows.senders.subarray(index * 52, index * 52 + 20)
      yield {
        title: `block ${number}, transaction ${index} (${bytesToHex(rows.senders.subarray(index * 52 + 20, index * 52 + 52))})`,
        header: rows.header,
        parentHash: rows.header.parentHash,
        index,
        transactionsInBlock: rows.transactions.length,
        ...toMessage(transaction, sender),
        hasSucceeded: status.length === 32 ? undefined : status.length === 1,
        gasUsed: total - before,
        logs: rlpList(receipt[3]).map(logText),
      }
      before = total
    }
  }
}

function toMessage(transaction: Transaction, from: Uint8Array): { message: CallMessage; gas: bigint } {
  const { type, layout } = transaction
  const first = transactionTypes.get(type)?.placeOf('gas') as number
  const item = (index: number): RlpItem => {
    const { start, end } = fieldSpan(transaction, index)
    return decodeRlp(transaction.bytes.subarray(start, end))
  }
  const at = (index: number): Uint8Array => rlpBytes(item(index))
  const to = at(layout.to)
  const maxFeePerGas = bytesToBigInt(at(layout.maxFee as number))
  const gas = bytesToBigInt(at(first))
  const value = bytesToBigInt(at(first + 2))
  return {
    gas,
    message: {
      from,
      ...(to.length === 0 ? {} : { to }),
      gas,
      value,
      data: at(first + 3),
      ...(layout.maxPriorityFee === undefined
        ? { gasPrice: maxFeePerGas }
        : { maxFeePerGas, maxPriorityFeePerGas: bytesToBigInt(at(layout.maxPriorityFee)) }),
      ...(type === 0 ? {} : { accessList: rlpList(item(first + 4)).map(toEntry) }),
      ...(type === 3
        ? { maxFeePerBlobGas: bytesToBigInt(at(9)), blobVersionedHashes: rlpList(item(10)).map(rlpBytes) }
        : {}),
      ...(type === 4 ? { authorizationList: rlpList(item(9)).map(toAuthorization) } : {}),
    },
  }
}

function toEntry(item: RlpItem): AccessListEntry {
  const [address, keys] = rlpList(item)
  return { address: rlpBytes(address), storageKeys: rlpList(keys).map(rlpBytes) }
}

function toAuthorization(item: RlpItem): Authorization {
  const [chainId, address, nonce, yParity, r, s] = rlpList(item).map(rlpBytes) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  return {
    chainId: bytesToBigInt(chainId),
    address,
    nonce: bytesToBigInt(nonce),
    yParity: bytesToNumber(yParity),
    r: bytesToBigInt(r),
    s: bytesToBigInt(s),
  }
}

function logText(item: RlpItem): string {
  const [address, topics, data] = rlpList(item)
  return [rlpBytes(address), ...rlpList(topics).map(rlpBytes), rlpBytes(data)].map(bytesToHex).join(' ')
}
