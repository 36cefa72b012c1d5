import type { IngestProgress } from '../../sources/ingest/thread/messages.js'
import { bar, createProgressView, type ProgressView } from './progressView.js'

export function importView(network: string, log: (fields: object) => void): ProgressView<IngestProgress> {
  return createProgressView(
    (progress) => barText(network, progress),
    (progress) => progressFields(network, progress),
    log,
  )
}

/** The counters, rates since the start, and the time left if it can be estimated. */
export function progressFields(network: string, progress: IngestProgress): object {
  const { blocksPerSecond, mgasPerSecond, leftMs } = rates(progress)
  return {
    event: 'import',
    network,
    ...progress,
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
    `${network} ${bar(done)}  block ${progress.number}` +
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
