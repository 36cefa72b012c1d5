/** Logs of the transaction, from the newest back. */
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

/** Goes back to where the logs stood. */
export function setNewestLog(log: Log | null): void {
  newestLog = log
}

/** A new log, whose topics and data are to be written. */
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
