/** Logs as JSON, from their consensus encoding. Members and spelling follow go-ethereum. */
import { bytesToHex, type Hash32, latin1Key, toQuantity } from '../../primitives/bytes.js'
import {
  ascii,
  type Constant,
  comma,
  JsonBytes,
  memberNames,
  type Written,
} from '../../primitives/jsonBytes.js'
import { rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'
import { type BlockRows, transactionPosition } from './blockRows.js'
import type { Header } from './header.js'
import type { LogKeys } from './logFilter.js'
import { integerOfItem, writeHexItem, writeHexItems } from './rlpJson.js'
import type { TransactionPosition } from './transactionJson.js'

/** One log of a block: the keys that filters compare, and the object of eth_getLogs as ASCII text. */
export interface BlockLog extends LogKeys {
  readonly json: string
}

const name = memberNames('data', 'topics', 'transactionIndex')
const firstName = ascii('{"address":')
const notRemoved = ascii(',"removed":false}')

/** Members that all logs and receipts of a block share, with the names of the members that follow. */
export interface BlockMembers {
  /** Constants for receipts. */
  readonly hashAndNumber: Constant
  /** Constants for logs. */
  readonly numberAndHashName: Constant
  readonly blockHash: Constant
  readonly timestampAndIndexName: Constant
}

/** The members of a block that its logs repeat. */
export interface LogBlock {
  readonly hash: Hash32
  readonly header: Pick<Header, 'number' | 'timestamp'>
}

export function blockMembers({ hash, header }: LogBlock): BlockMembers {
  const number = `"blockNumber":"${toQuantity(header.number)}"`
  const blockHash = `"blockHash":"${bytesToHex(hash)}"`
  return {
    hashAndNumber: ascii(`${blockHash},${number}`),
    numberAndHashName: ascii(`${number},"transactionHash":`),
    blockHash: ascii(`,${blockHash}`),
    timestampAndIndexName: ascii(`,"blockTimestamp":"${toQuantity(header.timestamp)}","logIndex":`),
  }
}

/** The transaction of a log: its index, and sender (20 bytes) ‖ hash (32 bytes) of each transaction of the block. */
export type LogPosition = Pick<TransactionPosition, 'senders' | 'index'>

/** Writes the members of a log that identify its transaction, without braces. */
function writePositionMembers(json: JsonBytes, position: LogPosition, block: BlockMembers): Written {
  const start = json.length
  const hashAt = position.index * 52 + 20
  json.constant(block.numberAndHashName)
  json.hex(position.senders, hashAt, hashAt + 32)
  json.constant(name.transactionIndex)
  json.quantity(position.index)
  json.constant(block.blockHash)
  return { start, end: json.length }
}

/**
 * Writes the log object of the RLP that begins at `log`; `index` is its index in the block. For the first log of a
 * transaction, the shared members are written from `position`. Returns their place, so that they are copied for the
 * other logs.
 */
export function writeLog(
  json: JsonBytes,
  receipts: Uint8Array,
  log: number,
  position: LogPosition | Written,
  block: BlockMembers,
  index: number,
): Written {
  const address = rlpPayloadAt(receipts, log)
  const topics = rlpEndAt(receipts, address)
  json.constant(firstName)
  writeHexItem(json, receipts, address)
  json.constant(name.topics)
  writeHexItems(json, receipts, topics)
  json.constant(name.data)
  writeHexItem(json, receipts, rlpEndAt(receipts, topics))
  json.constant(comma)
  const members = 'start' in position ? position : writePositionMembers(json, position, block)
  if (members === position) json.again(members.start, members.end)
  json.constant(block.timestampAndIndexName)
  json.quantity(index)
  json.constant(notRemoved)
  return members
}

/** The object of a log whose block is no longer canonical. */
export function removedLogJson(json: string): string {
  return `${json.slice(0, -'false}'.length)}true}`
}

/** Offsets of the fields of a receipt's RLP. */
interface ReceiptFields {
  /** State root or status. */
  readonly outcome: number
  readonly cumulativeGas: number
  readonly bloom: number
  readonly logs: number
}

/** Reads the byte string at `at` in a block's receipts: RLP list (legacy), or type byte and RLP list. */
export function readReceipt(receipts: Uint8Array, at: number): ReceiptFields {
  const payload = rlpPayloadAt(receipts, at)
  const outcome = rlpPayloadAt(receipts, (receipts[payload] as number) >= 0xc0 ? payload : payload + 1)
  const cumulativeGas = rlpEndAt(receipts, outcome)
  const bloom = rlpEndAt(receipts, cumulativeGas)
  return { outcome, cumulativeGas, bloom, logs: rlpEndAt(receipts, bloom) }
}

/** Fields after the logs of each receipt; most receipts have none. */
export function* receiptTails(receipts: Uint8Array): Generator<readonly (number | bigint)[]> {
  const end = rlpEndAt(receipts, 0)
  for (let receipt = rlpPayloadAt(receipts, 0); receipt < end; receipt = rlpEndAt(receipts, receipt)) {
    const tail: (number | bigint)[] = []
    let at = rlpEndAt(receipts, readReceipt(receipts, receipt).logs)
    for (; at < rlpEndAt(receipts, receipt); at = rlpEndAt(receipts, at))
      tail.push(integerOfItem(receipts, at))
    yield tail
  }
}

/** Bytes of most logs with their position members: a token transfer has 750. */
const logBytesExpected = 2_048

/**
 * The logs of an executed block from index `first` on, in order, generated one by one; `receipts` is the store's row.
 */
export function* blockLogs(rows: BlockRows, receipts: Uint8Array, first = 0): Generator<BlockLog, void> {
  const json = new JsonBytes(logBytesExpected)
  const block = blockMembers(rows)
  const keyOf = (item: number) =>
    latin1Key(receipts.subarray(rlpPayloadAt(receipts, item), rlpEndAt(receipts, item)))
  const end = rlpEndAt(receipts, 0)
  let transaction = 0
  let index = 0
  for (let receipt = rlpPayloadAt(receipts, 0); receipt < end; receipt = rlpEndAt(receipts, receipt)) {
    const { logs } = readReceipt(receipts, receipt)
    const position = transactionPosition(rows, transaction++)
    const logsEnd = rlpEndAt(receipts, logs)
    for (let log = rlpPayloadAt(receipts, logs); log < logsEnd; log = rlpEndAt(receipts, log)) {
      if (index++ < first) continue
      json.clear()
      writeLog(json, receipts, log, position, block, index - 1)
      const address = rlpPayloadAt(receipts, log)
      const list = rlpEndAt(receipts, address)
      const topics: string[] = []
      for (let at = rlpPayloadAt(receipts, list); at < rlpEndAt(receipts, list); at = rlpEndAt(receipts, at))
        topics.push(keyOf(at))
      yield { address: keyOf(address), topics, json: json.textFrom(0) }
    }
  }
}

/** Number of logs in a store's row of receipts. */
export function countLogs(receipts: Uint8Array): number {
  let count = 0
  const end = rlpEndAt(receipts, 0)
  for (let receipt = rlpPayloadAt(receipts, 0); receipt < end; receipt = rlpEndAt(receipts, receipt)) {
    const { logs } = readReceipt(receipts, receipt)
    const logsEnd = rlpEndAt(receipts, logs)
    for (let log = rlpPayloadAt(receipts, logs); log < logsEnd; log = rlpEndAt(receipts, log)) count++
  }
  return count
}
