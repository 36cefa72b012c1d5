import type { Register } from './register.js'
import type { MetricSources, RollupFigures } from './sources.js'

/** Metrics of rollup networks: what waits for the sequencer, and which of the processes that share a queue sends it. */
export function defineRollups(register: Register, { rollups }: Pick<MetricSources, 'rollups'>): void {
  const gauge = (name: string, help: string, read: (figures: RollupFigures) => number | undefined) =>
    register.gauge(`tidegate_submissions_${name}`, help, ['network'], (emit) => {
      for (const figures of rollups()) {
        const value = read(figures)
        if (value !== undefined) emit({ network: figures.network }, value)
      }
    })
  gauge('waiting', 'Transactions that wait for the sequencer.', ({ waiting }) => waiting)
  gauge('waiting_bytes', 'Their bytes.', ({ waitingBytes }) => waitingBytes)
  gauge(
    'oldest_seconds',
    'Time that the oldest of them has waited.',
    ({ oldestWaitingMs }) => oldestWaitingMs / 1_000,
  )
  gauge('settled', 'Transactions with a verdict that are kept.', ({ settled }) => settled)
  gauge(
    'answering',
    'Whether the database of a shared queue answers.',
    ({ shared }) => shared && Number(shared.isAnswering),
  )
  gauge('lease', 'Whether this process sends what waits in a shared queue.', ({ shared }) =>
    shared?.hasLease === undefined ? undefined : Number(shared.hasLease),
  )
  gauge('epoch', 'Epoch of the newest process that sends.', ({ shared }) => shared?.epoch)
}
