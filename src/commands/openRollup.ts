/**
 * One served rollup network: its queue, its forwarder if it has a sequencer, and the timer that removes old
 * submissions.
 */
import type { RollupConfig } from '../config/config.js'
import { chainIdOf, type EdgeRollup, type RollupHealth, rollupNetworkOf } from '../edge/edgeRollup.js'
import type { NetworkJobs } from '../pool/jobs.js'
import type { Felt } from '../rollup/felt.js'
import { Forwarder } from '../rollup/forwarder.js'
import { createSequencerClient } from '../rollup/sequencerClient.js'
import { SubmissionQueue } from '../rollup/submissionQueue.js'
import type { NodeStore } from '../store/nodeStore.js'
import { lockForWriting } from '../store/writerLock.js'

/**
 * Time between two removals of old submissions: short enough for the shortest age that may be configured; each takes
 * 10 µs.
 */
const sweepMs = 1_000

export interface OpenRollup extends EdgeRollup {
  readonly queue: SubmissionQueue
  health(): RollupHealth
  /** Ends deliveries under way; waiting submissions stay on disk. */
  close(): Promise<void>
}

export interface OpenRollupOptions {
  readonly store: NodeStore
  readonly jobs: NetworkJobs
  readonly log: (message: string) => void
}

/** Opens a rollup network. Throws OperatorError where another process serves it from the same data folder. */
export function openRollup(config: RollupConfig, { store, jobs, log }: OpenRollupOptions): OpenRollup {
  const { name, upstream, queue: limits, idempotent } = config
  const lock = lockForWriting(config.lockPath)
  try {
    const chainId = chainIdOf(config)
    const queue = new SubmissionQueue(store.openSubmissions(name, chainId), {
      idempotent,
      computeHash: async (fields, waiter) =>
        (await jobs.run('invokeHash', { chainId, fields }, waiter)) as Felt,
      limits: {
        waitingMax: limits.transactionsMax,
        waitingBytesMax: limits.bytesMax,
        waitingMsMax: limits.ageMsMax,
        retentionMs: limits.retentionMs,
        settledMax: limits.settledMax,
      },
    })
    const forwarder =
      upstream &&
      new Forwarder({
        queue,
        client: createSequencerClient({ ...upstream, prefix: upstream.prefix ?? config.prefix }),
        inFlightMax: upstream.inFlightMax,
        unknownAnswersMax: upstream.unknownAnswersMax,
        log,
      })
    let sweeping: Promise<void> | undefined
    const sweep = setInterval(() => {
      sweeping ??= queue
        .sweep()
        .catch((error: Error) => log(`old submissions could not be removed: ${error.message}`))
        .finally(() => {
          sweeping = undefined
        })
    }, sweepMs)
    sweep.unref()
    return {
      name,
      network: rollupNetworkOf(config, queue),
      queue,
      health: () => ({
        ...queue.counts(),
        isStoring: store.isStoring,
        ...(forwarder && { sequencerAnswers: forwarder.isAnswered }),
      }),
      async close() {
        clearInterval(sweep)
        await forwarder?.stop()
        await sweeping
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}
