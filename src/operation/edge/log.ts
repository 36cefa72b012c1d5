import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import { reportTimersTo } from '../../primitives/timers.js'
import { redactText } from '../../serving/access/keyText.js'
import type { Config } from '../config/config.js'

/** A line of JSON in readable form for a terminal. Overwrites the progress bar of an import. */
function lineForTerminal(json: string): string {
  const { level, time, pid: _pid, hostname: _hostname, msg = '', ...fields } = JSON.parse(json)
  const details = Object.entries(fields).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`)
  const text = String(msg).replaceAll(/(?!\n)\p{Cc}/gu, ' ')
  const name = pino.levels.labels[level] ?? level
  return `\r\x1b[K${new Date(time).toTimeString().slice(0, 8)} ${name}: ${text}${details.join('')}\n`
}

/**
 * The log of a thread, written to standard error before the call returns: JSON lines, or readable lines on a terminal.
 * Cuts secrets out of all lines ({@link redactText}). The timers of the thread report their errors to it.
 */
export function createLog({ logLevel, logStyle }: Pick<Config, 'logLevel' | 'logStyle'>): Logger {
  const words = {
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const destination = pino.destination({ dest: 2, sync: true })
  // The terminal may be closed, or the disk full: requests are still answered.
  destination.on('error', () => {})
  const isTerminal = isatty(2)
  const streamWrite = (line: string) => redactText(isTerminal ? lineForTerminal(line) : line)
  const log = pino(
    { level: logLevel, hooks: { streamWrite }, ...(logStyle === 'words' && words) },
    destination,
  )
  reportTimersTo((error) => {
    const stack = error instanceof Error ? error.stack : String(error)
    log.error({ stack }, 'a timer failed; the server continues')
  })
  return log
}
