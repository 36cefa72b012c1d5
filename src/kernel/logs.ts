/** Logs of the transaction, as a list from the newest back. */
import { Account } from './accounts'
import { transactionArena } from './journal'

/** A log. Its topics follow as words, and then its data. */
@unmanaged
export class Log {
  before: Log | null
  account: Account
  topicCount: u32
  dataLength: u32

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

/** Drops the logs after `log`. */
export function setNewestLog(log: Log | null): void {
  newestLog = log
}

/** Adds a log; the caller writes its topics and data. */
export function addLog(account: Account, topicCount: u32, dataLength: u32): Log {
  const bytes = offsetof<Log>() + ((topicCount as usize) << 5) + dataLength
  const log = changetype<Log>(transactionArena.take(bytes))
  log.before = newestLog
  log.account = account
  log.topicCount = topicCount
  log.dataLength = dataLength
  newestLog = log
  return log
}
