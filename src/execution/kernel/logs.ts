/** Logs of the transaction, as a list from the newest back; on request also transfers of ether. */
import { Account, findAccount } from './accounts'
import { Log } from './frame'
import { transactionArena } from './journal'
import { Fork, has } from './rules'
import { traceLog } from './trace'
import { equals, isZero, reverseWord, WORD } from './word'

export let newestLog: Log | null = null
let logCount: u32 = 0
/** Index of the transaction's first log. */
let firstIndex: u32 = 0
let logsTransfers: bool = false

/** Whether a call, a creation or a destruction that moves ether is logged too. */
export function setTransferLogs(isOn: bool): void {
  logsTransfers = isOn
}

/** Call it before a transaction. The index of its first log follows all logs that stay. */
export function startLogs(): void {
  newestLog = null
  firstIndex = logCount
}

/** Drops the logs after `log`; their indices are free again. */
export function setNewestLog(log: Log | null): void {
  newestLog = log
  logCount = log === null ? firstIndex : log.index + 1
}

/** Call it after the heap was cleared. */
export function forgetLogs(): void {
  logCount = 0
  startLogs()
}

/** Adds a log; the caller writes its topics and data. */
export function addLog(account: Account | null, topicCount: u32, dataLength: u32): Log {
  const bytes = offsetof<Log>() + ((topicCount as usize) << 5) + dataLength
  const log = changetype<Log>(transactionArena.take(bytes))
  log.before = newestLog
  log.account = account
  log.topicCount = topicCount
  log.dataLength = dataLength
  log.index = logCount++
  newestLog = log
  return log
}

/** `Transfer(address,address,uint256)` */
const transferTopic: usize = memory.data<u8>([
  0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0, 0x68, 0xfc, 0x37, 0x8d, 0xaa,
  0x95, 0x2b, 0xa7, 0xf1, 0x63, 0xc4, 0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef,
])
/** The system address, as a word. */
const systemAddress: usize = memory.data<u64>([0xfffffffffffffffe, 0xffffffffffffffff, 0xffffffff, 0])

/** The log of ether that moves from one account to another (EIP-7708); the arguments are words. */
export function logMove(from: usize, to: usize, value: usize): void {
  if (!has(Fork.Amsterdam) || isZero(value) || equals(from, to)) return
  const log = addLog(findAccount(systemAddress), 3, WORD as u32)
  memory.copy(log.topics, transferTopic, WORD)
  reverseWord(from, log.topics + WORD)
  reverseWord(to, log.topics + 2 * WORD)
  reverseWord(value, log.data)
  traceLog(log)
}

/** Logs a transfer if transfers are logged; the arguments are words. */
export function logTransfer(from: usize, to: usize, value: usize): void {
  if (!logsTransfers || isZero(value)) return
  const log = addLog(null, 2, WORD as u32)
  reverseWord(from, log.topics)
  reverseWord(to, log.topics + WORD)
  reverseWord(value, log.data)
}
