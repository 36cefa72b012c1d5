/** Simulated blocks as JSON: a block as in eth_getBlockByNumber, and the outcome of each of its messages. */
import { closeBlock, openBlock } from '../../../data/chain/blockJson.js'
import { readTransaction, writeTransaction } from '../../../data/chain/transactionJson.js'
import {
  bytesToHex,
  type Hash32,
  hexToBytes,
  noBytes,
  toMinimalBytes,
  toQuantity,
} from '../../../primitives/bytes.js'
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { rlpListSpans, rlpSpanAt } from '../../../primitives/rlp.js'
import { sendersOf } from '../blocks/blockRun.js'
import type { NumberedLog } from '../engine/kernelLogs.js'
import { decodeRevertReason } from '../messages/revertReason.js'
import type { SimulatedBlock } from './simulateBlock.js'
import type { RunCall } from './simulatedCall.js'

/** Account of transfers among the logs (ERC-7528). */
const transferAddress = `0x${'ee'.repeat(20)}`
/** `Transfer(address,address,uint256)` */
const transferTopic = bytesToHex(
  hexToBytes('ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'),
)
/** Codes of a message's error: of a revert, and of any other failure. */
const revertCode = 3
const failureCode = -32015

/** Approximate bytes that a message adds to the answer. */
export function jsonBytesOf({ returnData, logs }: RunCall): number {
  return logs.reduce((sum, { log }) => sum + 700 + 2 * log.data.length, 200 + 2 * returnData.length)
}

/** Writes a block object; `totalDifficulty` includes the block. */
export function writeSimulatedBlock(
  json: JsonBytes,
  block: SimulatedBlock,
  totalDifficulty: bigint,
  isFull: boolean,
): void {
  const { headerRlp, hash, size, transactionsRlp, withdrawals, calls } = block
  const spans = rlpListSpans(transactionsRlp, rlpSpanAt(transactionsRlp, 0))
  const senders = sendersOf(
    calls.map(({ sender, transaction }) => ({ sender, hash: keccak256(transaction.bytes) })),
  )
  const { number, timestamp, baseFeePerGas } = block.header
  const identity = { hash, totalDifficulty: toMinimalBytes(totalDifficulty), size }
  openBlock(json, headerRlp, identity)
  for (const [index, span] of spans.entries()) {
    if (index > 0) json.text(',')
    const place = { blockHash: hash, blockNumber: number, timestamp, baseFeePerGas, index, senders }
    if (isFull) writeTransaction(json, readTransaction(transactionsRlp, span), place)
    else json.hex(senders, index * 52 + 20, index * 52 + 52)
  }
  closeBlock(json, headerRlp, identity, [], withdrawals)
  // `calls` is written before the object's last brace.
  json.cut(json.length - 1)
  json.text(',"calls":[')
  for (const [index, call] of calls.entries()) {
    if (index > 0) json.text(',')
    const transactionHash = senders.subarray(index * 52 + 20, index * 52 + 52) as Hash32
    writeCall(json, call, { block, transactionHash, index })
  }
  json.text(']}')
}

interface CallPlace {
  readonly block: SimulatedBlock
  readonly transactionHash: Hash32
  readonly index: number
}

function writeCall(json: JsonBytes, call: RunCall, place: CallPlace): void {
  const { failure, returnData, gasUsed, gasSpent, logs } = call
  json.text('{"returnData":')
  json.hex(failure === undefined ? returnData : noBytes)
  json.text(',"logs":[')
  const members = logMembers(place)
  for (const [at, log] of logs.entries()) {
    if (at > 0) json.text(',')
    writeLog(json, log, members)
  }
  const gas = `"gasUsed":"${toQuantity(gasUsed)}","maxUsedGas":"${toQuantity(gasSpent)}"`
  json.text(`],${gas},"status":"${failure === undefined ? '0x1' : '0x0'}"`)
  if (failure !== undefined) {
    json.text(',"error":')
    json.raw(Buffer.from(JSON.stringify(errorOf(call))))
  }
  json.text('}')
}

function errorOf({ failure, returnData, wasCapped }: RunCall): object {
  if (failure === undefined || failure.kind === 'reverted') {
    const reason = decodeRevertReason(returnData)
    const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`
    return { message, code: revertCode, data: bytesToHex(returnData) }
  }
  const hint = wasCapped ? " (gas limit was capped by the RPC server's global gas cap)" : ''
  return { message: failure.why + hint, code: failureCode }
}

/** Members shared by all logs of a message, up to the name of the log's index. */
function logMembers({ block, transactionHash, index }: CallPlace): string {
  const { number, timestamp } = block.header
  return [
    `,"blockNumber":"${toQuantity(number)}"`,
    `"transactionHash":"${bytesToHex(transactionHash)}"`,
    `"transactionIndex":"${toQuantity(index)}"`,
    `"blockHash":"${bytesToHex(block.hash)}"`,
    `"blockTimestamp":"${toQuantity(timestamp)}"`,
    '"logIndex":"',
  ].join(',')
}

function writeLog(json: JsonBytes, { isTransfer, index, log }: NumberedLog, members: string): void {
  const address = isTransfer ? transferAddress : bytesToHex(log.address)
  const topics = log.topics.map(bytesToHex)
  const all = isTransfer ? [transferTopic, ...topics] : topics
  json.text(`{"address":"${address}","topics":${JSON.stringify(all)},"data":`)
  json.hex(log.data)
  json.text(`${members}${toQuantity(index)}","removed":false}`)
}
