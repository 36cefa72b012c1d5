/**
 * One served rollup network: its queue, its forwarder if it has a sequencer, and the timer that removes old
 * submissions.
 */

import { StoreError } from '../../data/store/environment.js'
import type { NodeStore } from '../../data/store/nodeStore.js'
import { lockForWriting, type WriterLock } from '../../data/store/writerLock.js'
import { setInterval } from '../../primitives/timers.js'
import type { SharedQueueFigures } from '../../serving/metrics/sources.js'
import type { NetworkJobs } from '../../serving/pool/jobs.js'
import { Deliveries } from '../../serving/rollup/deliveries.js'
import type { Felt } from '../../serving/rollup/felt.js'
import { Forwarder } from '../../serving/rollup/forwarder.js'
import { ForwardingLease } from '../../serving/rollup/forwardingLease.js'
import { LocalSubmissions } from '../../serving/rollup/localSubmissions.js'
import { createSequencerClient } from '../../serving/rollup/sequencerClient.js'
import { SharedDatabase } from '../../serving/rollup/sharedDatabase.js'
import { SharedSubmissions } from '../../serving/rollup/sharedSubmissions.js'
import { SubmissionQueue } from '../../serving/rollup/submissionQueue.js'
import type {
  SubmissionReader,
  SubmissionStore,
  SubmissionWriter,
} from '../../serving/rollup/submissionStore.js'
import { queueSchemaOf, type RollupConfig } from '../config/config.js'
import { chainIdOf, type EdgeRollup, type RollupHealth, rollupNetworkOf } from '../edge/edgeRollup.js'

/**
 * Time between two removals of old submissions: short enough for the shortest age that can be configured; most find
 * nothing.
 */
const sweepMs = 1_000

export interface OpenRollup extends EdgeRollup {
  readonly queue: SubmissionQueue
  /** For reads of other edges that cannot read themselves. */
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
      return {
        ...queue.counts(),
        isStoring: store.isStoring,
        ...(limits.shared && forwarding && { isSending: forwarder !== undefined }),
        ...(forwarder && { sequencerAnswers: forwarder.isAnswered }),
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

/* The stores of a rollup network's submissions, and the process that sends them. */

/** The forwarder of this process, while it is the one that sends. */
export interface Forwarding {
  readonly forwarder: Forwarder | undefined
  stop(): Promise<void>
}

export interface OpenSubmissions {
  readonly store: SubmissionStore
  /** The same store, if several processes share it. */
  readonly shared?: SharedSubmissions
  /** Sends while this process may, with a forwarder made by `make`. */
  forward(make: (writer: SubmissionWriter) => Forwarder): Forwarding
  close(): Promise<void>
}

type Config = Pick<RollupConfig, 'name' | 'queue' | 'lockPath'>

/**
 * Opens the submissions of a network, in the node store or in the shared database. Rejects with OperatorError if
 * another process serves the network from the same data folder, or if they are of another chain.
 */
function openSubmissions(
  config: Config,
  chainId: Felt,
  node: NodeStore,
  log: (message: string) => void,
): Promise<OpenSubmissions> {
  return config.queue.shared === undefined
    ? openLocal(config, chainId, node, log)
    : openShared({ name: config.name, ...config.queue.shared }, chainId, log)
}

async function openLocal(
  { name, lockPath }: Config,
  chainId: Felt,
  node: NodeStore,
  log: (message: string) => void,
): Promise<OpenSubmissions> {
  const { lock, refusal } = lockWhereRoom(lockPath)
  if (refusal !== undefined)
    log(`${refusal.message}; no transactions are taken and sent until the next start`)
  try {
    const store = new LocalSubmissions(node.openSubmissions(name, chainId), () => node.isStoring, refusal)
    return {
      store,
      forward(make) {
        if (refusal !== undefined) return { forwarder: undefined, stop: async () => undefined }
        const forwarder = make(store)
        forwarder.serve(store.readWaitingLanes())
        return { forwarder, stop: () => forwarder.stop() }
      },
      close: async () => lock?.release(),
    }
  } catch (error) {
    lock?.release()
    throw error
  }
}

/** The lock, or the error if the disk is too full for it: stored submissions can still be read. */
function lockWhereRoom(path: string): { readonly lock?: WriterLock; readonly refusal?: StoreError } {
  try {
    return { lock: lockForWriting(path) }
  } catch (error) {
    if (error instanceof StoreError) return { refusal: error }
    throw error
  }
}

async function openShared(
  {
    name,
    url,
    schema = queueSchemaOf(name),
    leaseMs,
  }: NonNullable<Config['queue']['shared']> & { readonly name: string },
  chainId: Felt,
  log: (message: string) => void,
): Promise<OpenSubmissions> {
  const database = await SharedDatabase.open({ url, schema }, chainId, log)
  const store = await SharedSubmissions.open(database)
  return {
    store,
    shared: store,
    forward: (forward) => new ForwardingLease({ database, submissions: store, leaseMs, forward, log }),
    close: () => database.close(),
  }
}
