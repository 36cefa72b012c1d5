import { hostname } from 'node:os'
import type { IngestProgress } from '../../sources/ingest/messages.js'

/** Time between lines of the log: often enough to show that the import goes on, rare enough for a log file. */
export const lineMs = 3000
const barWidth = 24

/** Shows how an import goes: a bar that redraws itself on a terminal, lines of the log elsewhere. */
export interface ProgressView {
  update(progress: IngestProgress): void
  /** Removes the bar, so that later output begins on an empty line. */
  clear(): void
}

export function createProgressView(
  network: string,
  terminal: NodeJS.WriteStream,
  log: (fields: object) => void,
): ProgressView {
  if (!terminal.isTTY) return createLines(network, log)
  return {
    update: (progress) => terminal.write(`\r\x1b[K${barText(network, progress)}`),
    clear: () => terminal.write('\r\x1b[K'),
  }
}

/** A line as the log of a server has them, for commands that have no log of their own. */
export function logLine(fields: object): string {
  return JSON.stringify({ level: 30, time: Date.now(), pid: process.pid, hostname: hostname(), ...fields })
}

function createLines(network: string, log: (fields: object) => void): ProgressView {
  let next = lineMs
  return {
    update(progress) {
      if (progress.elapsedMs < next) return
      next = progress.elapsedMs + lineMs
      log(progressFields(network, progress))
    },
    clear() {},
  }
}

export function bar(done: number): string {
  const filled = Math.round(done * barWidth)
  return '█'.repeat(filled) + '░'.repeat(barWidth - filled)
}

/** The counters, rates since the start, and the time left where it can be estimated. */
export function progressFields(network: string, progress: IngestProgress): object {
  const { blocksPerSecond, mgasPerSecond, leftMs } = rates(progress)
  const { number, executed, known, side, gas, bytesRead, bytesTotal } = progress
  return {
    event: 'import',
    network,
    number,
    executed,
    known,
    side,
    gas,
    bytesRead,
    bytesTotal,
    elapsedMs: Math.round(progress.elapsedMs),
    blocksPerSecond: round(blocksPerSecond),
    mgasPerSecond: round(mgasPerSecond),
    ...(leftMs !== undefined && { leftMs: Math.round(leftMs) }),
  }
}

/** The bar as one line: share of the files read, block number, blocks/s, Mgas/s and the time left. */
function barText(network: string, progress: IngestProgress): string {
  const { done, blocksPerSecond, mgasPerSecond, leftMs } = rates(progress)
  const left = leftMs === undefined ? '' : `, ${durationText(leftMs)} left`
  return (
    `${network} ${bar(done)} ${Math.floor(done * 100)} %  block ${progress.number}` +
    `  ${round(blocksPerSecond)} blocks/s, ${round(mgasPerSecond)} Mgas/s${left}`
  )
}

/** The outcome as one sentence. */
export function summaryText(network: string, progress: IngestProgress, stopped: boolean): string {
  const { executed, known, side, number } = progress
  const { mgasPerSecond } = rates(progress)
  const parts = [
    `${executed} executed`,
    ...(known > 0 ? [`${known} known already`] : []),
    ...(side > 0 ? [`${side} kept beside the canonical chain`] : []),
  ]
  const start = stopped ? `Stopped; run the command again to continue` : 'Done'
  return `${start}: ${network} is at block ${number}; blocks: ${parts.join(', ')} (${durationText(progress.elapsedMs)}, ${round(mgasPerSecond)} Mgas/s).`
}

/** The outcome of an import of archives as one sentence. */
export function archiveSummary(network: string, progress: IngestProgress, stopped: boolean): string {
  const start = stopped ? 'Stopped after the last whole epoch; run the command again to continue' : 'Done'
  const where = stopped ? '' : ` ${network} is at block ${progress.number};`
  return `${start}:${where} ${takenText(progress)}.`
}

/** The outcome of an import beneath a gateway, as one sentence. */
export function beneathSummary(network: string, progress: IngestProgress, stopped: boolean): string {
  const start = stopped ? 'Stopped; run the command again to continue' : 'Done'
  return `${start}: the blocks of ${network} are linked from ${progress.number} on; ${takenText(progress)}.`
}

function takenText(progress: IngestProgress): string {
  const { executed, known } = progress
  const { blocksPerSecond } = rates(progress)
  const parts = [`${executed} checked and stored`, ...(known > 0 ? [`${known} known already`] : [])]
  return `blocks: ${parts.join(', ')} (${durationText(progress.elapsedMs)}, ${round(blocksPerSecond)} blocks/s)`
}

function rates({ executed, known, side, gas, bytesRead, bytesTotal, elapsedMs }: IngestProgress) {
  const seconds = Math.max(elapsedMs, 1) / 1000
  const done = bytesTotal === 0 ? 0 : Math.min(1, bytesRead / bytesTotal)
  return {
    done,
    blocksPerSecond: (executed + known + side) / seconds,
    mgasPerSecond: gas / 1e6 / seconds,
    // Undefined before the first bytes are read and after the last.
    leftMs: done > 0 && done < 1 ? (elapsedMs * (1 - done)) / done : undefined,
  }
}

function round(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 10) / 10
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}
