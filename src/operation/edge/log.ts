import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import { reportTimersTo } from '../../primitives/timers.js'
import { redactText } from '../../serving/access/keyText.js'
import type { Config } from '../config/config.js'

/** A line of JSON as people read it on a terminal, in place of the bar of an import that may stand there. */
function lineForTerminal(json: string): string {
  const { level, time, pid: _pid, hostname: _hostname, msg = '', ...fields } = JSON.parse(json)
  const details = Object.entries(fields).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`)
  const text = String(msg).replaceAll(/(?!\n)\p{Cc}/gu, ' ')
  const name = pino.levels.labels[level] ?? level
  return `\r\x1b[K${new Date(time).toTimeString().slice(0, 8)} ${name}: ${text}${details.join('')}\n`
}

/**
 * The log of a thread: JSON lines on standard error, where that is a terminal lines for people, written before the call
 * returns. Whatever a line contains, secrets
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
  const isTerminal = isatty(2)
  const streamWrite = (line: string) => redactText(isTerminal ? lineForTerminal(line) : line)
  const log = pino(
    { level: logLevel, hooks: { streamWrite }, ...(logStyle === 'words' && words) },
    destination,
  )
  reportTimersTo((error) => {
    const stack = error instanceof Error ? error.stack : String(error)
    log.error({ stack }, 'a timer failed; the server goes on')
  })
  return log
}
