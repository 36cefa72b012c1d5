import pino, { type Logger } from 'pino'
import { reportTimersTo } from '../../primitives/timers.js'
import { redactText } from '../../serving/access/keyText.js'
import type { Config } from '../config/config.js'

/**
 * The log of a thread: JSON lines on standard error, written before the call returns. Whatever a line contains, secrets
 * are cut out of it here ({@link redactText}). The timers of the thread report to it.
 */
export function createLog({ logLevel, logStyle }: Pick<Config, 'logLevel' | 'logStyle'>): Logger {
  const words = {
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const destination = pino.destination({ dest: 2, sync: true })
  // Its terminal is gone, or the disk that it is written to is full: requests are answered all the same.
  destination.on('error', () => {})
  const log = pino(
    { level: logLevel, hooks: { streamWrite: redactText }, ...(logStyle === 'words' && words) },
    destination,
  )
  reportTimersTo((error) => {
    const stack = error instanceof Error ? error.stack : String(error)
    log.error({ stack }, 'a timer failed; the server goes on')
  })
  return log
}
