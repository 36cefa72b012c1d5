/** Logs of the transaction, as a list from the newest back; on request also transfers of ether. */
import { Account } from './accounts'
import { transactionArena } from './journal'
import { isZero, reverseWord, WORD } from './word'

/** A log. Its topics follow as words, and then its data. */
@unmanaged
export class Log {
  before: Log | null
  /** Null for a transfer: its topics are the two accounts, and its data the value. */
  account: Account | null
  topicCount: u32
  dataLength: u32
  /** Its number among those since the kernel was cleared, those of failed frames included. */
  index: u32

  @inline
  get topics(): usize {
    return changetype<usize>(this) + offsetof<Log>()
  }
  @inline
  get data(): usize {
    return this.topics + ((this.topicCount as usize) << 5)
  }
}

export let newestLog: Log | null = null
let logCount: u32 = 0
let logsTransfers: bool = false

/** Whether a call, a creation or a destruction that moves ether is logged too. */
export function setTransferLogs(isOn: bool): void {
  logsTransfers = isOn
}

/** Drops the logs after `log`. */
export function setNewestLog(log: Log | null): void {
  newestLog = log
}

/** After the heap was cleared. */
export function forgetLogs(): void {
  newestLog = null
  logCount = 0
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

/** Logs a transfer where that is wanted; the arguments are words. */
export function logTransfer(from: usize, to: usize, value: usize): void {
  if (!logsTransfers || isZero(value)) return
  const log = addLog(null, 2, WORD as u32)
  reverseWord(from, log.topics)
  reverseWord(to, log.topics + WORD)
  reverseWord(value, log.data)
}
