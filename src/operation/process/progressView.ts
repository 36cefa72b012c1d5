import { hostname } from 'node:os'

/** Time between lines of the log: often enough to show that the work continues, rare enough for a log file. */
const lineMs = 3000
const barWidth = 24

/** Shows the progress of work: a bar that redraws itself on a terminal, lines of the log elsewhere. */
export interface ProgressView<P> {
  update(progress: P): void
  /** Removes the bar, so that later output begins on an empty line. */
  clear(): void
}

/** `barText` is for a terminal, `fields` for a line of the log. */
export function createProgressView<P>(
  barText: (progress: P) => string,
  fields: (progress: P) => object,
  log: (fields: object) => void,
): ProgressView<P> {
  const terminal = process.stderr
  if (terminal.isTTY) {
    return {
      update: (progress) => terminal.write(`\r\x1b[K${barText(progress)}`),
      clear: () => terminal.write('\r\x1b[K'),
    }
  }
  let nextMs = performance.now() + lineMs
  return {
    update(progress) {
      if (performance.now() < nextMs) return
      nextMs = performance.now() + lineMs
      log(fields(progress))
    },
    clear() {},
  }
}

/** A line in the form of a server's log, for commands without a log. */
export function logLine(fields: object): string {
  return JSON.stringify({ level: 30, time: Date.now(), pid: process.pid, hostname: hostname(), ...fields })
}

/** `done` is from 0 to 1. */
export function bar(done: number): string {
  const filled = Math.round(done * barWidth)
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${Math.floor(done * 100)} %`
}
