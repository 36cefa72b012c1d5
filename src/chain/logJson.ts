/** Logs as JSON, from their consensus encoding. Members and spelling follow go-ethereum. */
import { bytesToHex, type Hash32, latin1Key, toQuantity } from '../primitives/bytes.js'
import { ascii, type Constant, JsonBytes, memberNames, type Written } from '../primitives/jsonBytes.js'
import { type RlpSpan, rlpListSpans, rlpSpanAt } from '../primitives/rlp.js'
import { type BlockRows, transactionPosition } from './blockRows.js'
import type { Header } from './header.js'
import type { LogKeys } from './logFilter.js'
import { type TransactionPosition, writeList } from './transactionJson.js'

/** One log of a block: the keys that filters compare, and the object of eth_getLogs as ASCII text. */
export interface BlockLog extends LogKeys {
  readonly json: string
}

const name = memberNames('data', 'topics', 'transactionIndex')
const firstName = ascii('{"address":')
const comma = ascii(',')
const notRemoved = ascii(',"removed":false}')

/** Members that all logs and receipts of a block share, with the names of the members that follow. */
export interface BlockMembers {
  /** For receipts. */
  readonly hashAndNumber: Constant
  /** For logs. */
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

/** Fields of a log's RLP. */
type LogSpans = readonly [address: RlpSpan, topics: RlpSpan, data: RlpSpan]

function readLog(receipts: Uint8Array, log: RlpSpan): LogSpans {
  return rlpListSpans(receipts, log) as unknown as LogSpans
}

/**
 * Writes a log object; `index` is its index in the block. Members shared by the logs of a transaction are written
 * from `position` for the first log; this returns where, so that they are copied for the others.
 */
export function writeLog(
  json: JsonBytes,
  receipts: Uint8Array,
  log: RlpSpan,
  position: LogPosition | Written,
  block: BlockMembers,
  index: number,
): Written {
  const [address, topics, data] = readLog(receipts, log)
  json.constant(firstName)
  json.hex(receipts, address.payload, address.end)
  json.constant(name.topics)
  writeList(json, receipts, topics, ({ payload, end }) => json.hex(receipts, payload, end))
  json.constant(name.data)
  json.hex(receipts, data.payload, data.end)
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

/** Fields of a receipt's RLP: state root or status, gas used so far, bloom, logs. */
export type ReceiptSpans = readonly [outcome: RlpSpan, cumulativeGas: RlpSpan, bloom: RlpSpan, logs: RlpSpan]

/** Decodes one item of a block's receipts, a byte string: RLP list (legacy), or type byte and RLP list. */
export function readReceipt(receipts: Uint8Array, { payload }: RlpSpan): ReceiptSpans {
  const isLegacy = (receipts[payload] as number) >= 0xc0
  const list = rlpSpanAt(receipts, isLegacy ? payload : payload + 1)
  return rlpListSpans(receipts, list) as unknown as ReceiptSpans
}

/** Bytes of most logs with their position members: a token transfer has 750. */
const logBytesExpected = 2_048

/** All logs of an executed block, in order; `receipts` is the store's row. */
export function blockLogs(rows: BlockRows, receipts: Uint8Array): BlockLog[] {
  const found: BlockLog[] = []
  const json = new JsonBytes(logBytesExpected)
  const block = blockMembers(rows)
  for (const [index, receipt] of rlpListSpans(receipts, rlpSpanAt(receipts, 0)).entries()) {
    const [, , , logs] = readReceipt(receipts, receipt)
    const position = transactionPosition(rows, index)
    json.clear()
    const members = writePositionMembers(json, position, block)
    for (const log of rlpListSpans(receipts, logs)) {
      const [address, topics] = readLog(receipts, log)
      const keyOf = ({ payload, end }: RlpSpan) => latin1Key(receipts.subarray(payload, end))
      const start = json.length
      writeLog(json, receipts, log, members, block, found.length)
      found.push({
        address: keyOf(address),
        topics: rlpListSpans(receipts, topics).map(keyOf),
        json: json.textFrom(start),
      })
    }
  }
  return found
}
