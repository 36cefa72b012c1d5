/**
 * One served rollup network: its queue, its forwarder if it has a sequencer, and the timer that removes old
 * submissions.
 */

import type { NodeStore } from '../../data/store/node/nodeStore.js'
import { SinceWhen } from '../../primitives/sinceWhen.js'
import { setInterval } from '../../primitives/timers.js'
import type { SharedQueueFigures } from '../../serving/metrics/sources.js'
import type { NetworkJobs } from '../../serving/pool/jobs.js'
import { Deliveries } from '../../serving/rollup/deliveries.js'
import type { Felt } from '../../serving/rollup/felt.js'
import { Forwarder } from '../../serving/rollup/forwarder.js'
import { createSequencerClient } from '../../serving/rollup/sequencerClient.js'
import { SubmissionQueue } from '../../serving/rollup/submissionQueue.js'
import type { SubmissionReader } from '../../serving/rollup/submissionStore.js'
import type { RollupConfig } from '../config/config.js'
import {
  chainIdOf,
  type EdgeRollup,
  type RollupHealth,
  rollupCondition,
  rollupNetworkOf,
} from '../edge/edgeRollup.js'
import { openSubmissions } from './rollupStores.js'

/**
 * Time between two removals of old submissions: short enough for the shortest age that can be configured; most find
 * nothing.
 */
const sweepMs = 1_000

export interface OpenRollup extends EdgeRollup {
  readonly queue: SubmissionQueue
  /** Submissions, for reads of other edges that cannot read themselves. */
  readonly submissions: SubmissionReader
  health(): RollupHealth
  /** Undefined if only this process uses the queue. */
  sharedQueue(): SharedQueueFigures | undefined
  /** Ends open deliveries; waiting submissions stay on disk. */
  close(): Promise<void>
}

interface OpenRollupOptions {
  readonly store: NodeStore
  readonly jobs: NetworkJobs
  readonly log: (message: string) => void
}

/** Opens a rollup network. Rejects with OperatorError as {@link openSubmissions} does. */
export async function openRollup(
  config: RollupConfig,
  { store: node, jobs, log }: OpenRollupOptions,
): Promise<OpenRollup> {
  const { upstream, queue: limits, idempotent } = config
  const chainId = chainIdOf(config)
  const submissions = await openSubmissions(config, chainId, node, log)
  const { store } = submissions
  const queueLimits = {
    waitingMax: limits.transactionsMax,
    waitingBytesMax: limits.bytesMax,
    waitingMsMax: limits.ageMsMax,
    keyShare: limits.keySharePercent / 100,
    retentionMs: limits.retentionMs,
    settledMax: limits.settledMax,
  }
  const queue = new SubmissionQueue(store, {
    idempotent,
    computeHash: async (fields, waiter) =>
      (await jobs.run('invokeHash', { chainId, fields }, waiter)) as Felt,
    limits: queueLimits,
  })
  const forwarding =
    upstream &&
    submissions.forward(
      (writer) =>
        new Forwarder({
          queue,
          deliveries: new Deliveries(writer, queueLimits),
          client: createSequencerClient({ ...upstream, prefix: upstream.prefix ?? config.prefix }),
          inFlightMax: upstream.inFlightMax,
          unknownAnswersMax: upstream.unknownAnswersMax,
          log,
        }),
    )
  const since = new SinceWhen()
  let sweeping: Promise<void> | undefined
  const sweep = setInterval(() => {
    // Without a sequencer nothing is ever sent. If another process sends, only that one knows which keys get no
    // answers.
    const silentTo = upstream === undefined ? 'all' : (forwarding?.forwarder?.silentTo ?? new Set<string>())
    sweeping ??= queue
      .sweep(Date.now(), silentTo)
      .catch((error: Error) => {
        // A store that accepts no writes at all reports that itself.
        if (store.isStoring) log(`old submissions could not be removed: ${error.message}`)
      })
      .finally(() => {
        sweeping = undefined
      })
  }, sweepMs)
  sweep.unref()
  return {
    name: config.name,
    network: rollupNetworkOf(config, queue),
    queue,
    submissions: store,
    health() {
      const forwarder = forwarding?.forwarder
      const sequencerAnswers = forwarder?.isAnswered
      const { isStoring } = store
      const { level } = rollupCondition({
        isStoring,
        ...(sequencerAnswers !== undefined && { sequencerAnswers }),
      })
      return {
        ...queue.counts(),
        isStoring,
        condition: level,
        since: since.textOf('rollup', level),
        ...(limits.shared && forwarding && { isSending: forwarder !== undefined }),
        ...(sequencerAnswers !== undefined && { sequencerAnswers }),
      }
    },
    sharedQueue() {
      const { shared } = submissions
      const hasLease = forwarding && forwarding.forwarder !== undefined
      return shared && { isAnswering: shared.isStoring, epoch: shared.epoch, hasLease }
    },
    async close() {
      clearInterval(sweep)
      await forwarding?.stop()
      await sweeping
      await submissions.close()
    },
  }
}
