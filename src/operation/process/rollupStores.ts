/** The stores of a rollup network's submissions, and the process that sends them. */
import { StoreError } from '../../data/store/lmdb/environment.js'
import { lockForWriting, type WriterLock } from '../../data/store/lmdb/writerLock.js'
import type { NodeStore } from '../../data/store/node/nodeStore.js'
import type { Felt } from '../../serving/rollup/felt.js'
import type { Forwarder } from '../../serving/rollup/forwarder.js'
import { ForwardingLease } from '../../serving/rollup/forwardingLease.js'
import { LocalSubmissions } from '../../serving/rollup/localSubmissions.js'
import { SharedDatabase } from '../../serving/rollup/sharedDatabase.js'
import { SharedSubmissions } from '../../serving/rollup/sharedSubmissions.js'
import type { SubmissionStore, SubmissionWriter } from '../../serving/rollup/submissionStore.js'
import { queueSchemaOf, type RollupConfig } from '../config/config.js'
/** The forwarder of this process, while it is the one that sends. */
export interface Forwarding {
  readonly forwarder: Forwarder | undefined
  stop(): Promise<void>
}

export interface OpenSubmissions {
  readonly store: SubmissionStore
  /** The store with its shared functions, if several processes share it. */
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
export function openSubmissions(
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
