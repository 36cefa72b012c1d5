/** A submission queue on a real store of either kind, with or without a forwarder, inside the test's process. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { DatabaseAddress } from '../../src/data/postgres/connection.js'
import { NodeStore } from '../../src/data/store/node/nodeStore.js'
import { nobody } from '../../src/data/store/node/submissions.js'
import type { Forwarding, OpenSubmissions } from '../../src/operation/process/rollupStores.js'
import { FaultError, type InvokeErrorCode } from '../../src/primitives/faults.js'
import { Deliveries, type WaitLimit } from '../../src/serving/rollup/deliveries.js'
import { asciiToFelt, type Felt } from '../../src/serving/rollup/felt.js'
import { Forwarder } from '../../src/serving/rollup/forwarder.js'
import { ForwardingLease } from '../../src/serving/rollup/forwardingLease.js'
import { computeInvokeHash } from '../../src/serving/rollup/invokeHash.js'
import {
  type HashedFields,
  invokeLimitsDefault,
  parseInvokeTransaction,
  toHashedFields,
} from '../../src/serving/rollup/invokeTransaction.js'
import { LocalSubmissions } from '../../src/serving/rollup/localSubmissions.js'
import {
  createSequencerClient,
  type SequencerClient,
  type SequencerOptions,
} from '../../src/serving/rollup/sequencerClient.js'
import { SharedDatabase } from '../../src/serving/rollup/sharedDatabase.js'
import { SharedSubmissions } from '../../src/serving/rollup/sharedSubmissions.js'
import { type QueueOptions, SubmissionQueue } from '../../src/serving/rollup/submissionQueue.js'
import type { Rejection } from '../../src/serving/rollup/submissionService.js'
import type { Lane, SubmissionId, SubmissionWriter } from '../../src/serving/rollup/submissionStore.js'
import { RequestContext } from '../../src/serving/rpc/contexts/requestContext.js'
import { startPostgres, withoutPostgres } from '../feed/postgres.js'
import { waitFor } from '../library/until.js'

export const chainId = asciiToFelt('SN_SEPOLIA')

export const limitsOfTests: QueueOptions['limits'] = {
  waitingMax: 10_000,
  waitingBytesMax: 2 ** 28,
  waitingMsMax: 3_600_000,
  keyShare: 0.5,
  retentionMs: 3_600_000,
  settledMax: 10_000,
}

export interface OpenQueue {
  readonly queue: NobodysQueue
  readonly deliveries: NobodysDeliveries
  readonly logged: string[]
  /** Inputs of computed hashes. */
  readonly hashed: readonly HashedFields[]
  /** Submits a transaction in a caller's form, and returns its hash. */
  submit(written: unknown, submitter?: RequestContext): Promise<Felt>
  /** Waits for a state. */
  reaches(hash: Felt, state: string): Promise<void>
  /** `attempts`: number of transactions taken for sending. */
  forward(options: ForwardOptions): Forwarding & { attempts(): number }
  close(): Promise<void>
}

type ForwardOptions = Partial<SequencerOptions> & {
  /** Replaces the client for `url`. */
  readonly client?: SequencerClient
  readonly inFlightMax?: number
  readonly unknownAnswersMax?: number
  readonly retryMsMin?: number
}

/** A queue that is read without a key by default. */
export class NobodysQueue extends SubmissionQueue {
  override readRow(hash: Felt, key: string = nobody) {
    return super.readRow(hash, key)
  }

  override readTransaction(hash: Felt, key: string = nobody) {
    return super.readTransaction(hash, key)
  }
}

/** Deliveries looked up only by hash, or by sender. Counts transactions taken for sending. */
export class NobodysDeliveries extends Deliveries {
  attempts = 0
  readonly #queue: NobodysQueue

  constructor(writer: SubmissionWriter, limit: WaitLimit, queue: NobodysQueue) {
    super(writer, limit)
    this.#queue = queue
  }

  override beginSending(of: Lane | Felt) {
    this.attempts++
    return super.beginSending(typeof of === 'string' ? { key: nobody, sender: of } : of)
  }

  override async settle(of: SubmissionId | Felt, rejection: Rejection | undefined): Promise<void> {
    const id = typeof of === 'string' ? await this.#queue.readRow(of) : of
    if (id === undefined) throw new Error(`there is no submission ${of}`)
    await super.settle(id, rejection)
  }
}

interface OpenQueueOptions {
  readonly limits?: Partial<QueueOptions['limits']>
  readonly idempotent?: boolean
  /** Default: {@link computeInvokeHash}. */
  readonly computeHash?: (fields: HashedFields) => Felt
}

/** A queue in the node store. */
export function openQueue(t: Test, folder: string, options: OpenQueueOptions = {}): OpenQueue {
  const node = NodeStore.open({ path: join(folder, 'node.mdb'), mapBytes: 2 ** 30 })
  const store = new LocalSubmissions(node.openSubmissions('roll', chainId), () => node.isStoring)
  const forward = (make: (writer: SubmissionWriter) => Forwarder) => {
    const forwarder = make(store)
    forwarder.serve(store.readWaitingLanes())
    return { forwarder, stop: () => forwarder.stop() }
  }
  return runQueue(t, { store, forward, close: () => node.close() }, options)
}

/** A queue in a schema of PostgreSQL, as in one process of several. */
export async function openSharedQueue(
  t: Test,
  address: DatabaseAddress,
  { leaseMs = 600, ...options }: OpenQueueOptions & { readonly leaseMs?: number } = {},
): Promise<OpenQueue> {
  const said: string[] = []
  const log = (message: string) => said.push(message)
  const database = await SharedDatabase.open(address, chainId, log)
  const store = await SharedSubmissions.open(database)
  const forward = (make: (writer: SubmissionWriter) => Forwarder) =>
    new ForwardingLease({ database, submissions: store, leaseMs, forward: make, log })
  return runQueue(t, { store, forward, close: () => database.close() }, options)
}

type OpenAnyQueue = (t: Test, folder: string, options?: OpenQueueOptions) => Promise<OpenQueue>

/** Every kind of store, with a function that opens a queue in it: the same queue again for the same folder. */
export async function queueStores(t: Test): Promise<readonly (readonly [where: string, OpenAnyQueue])[]> {
  const local = [
    'in the node store',
    async (...args: Parameters<OpenAnyQueue>) => openQueue(...args),
  ] as const
  if (withoutPostgres !== false) {
    t.test('in PostgreSQL', { skip: withoutPostgres }, () => undefined)
    return [local]
  }
  const { url } = await startPostgres(t)
  const shared: OpenAnyQueue = (test, folder, options) => {
    const path = join(folder, 'schema')
    if (!existsSync(path)) writeFileSync(path, `queue_${randomUUID()}`)
    return openSharedQueue(test, { url, schema: readFileSync(path, 'utf8') }, options)
  }
  return [local, ['in PostgreSQL', shared]]
}

function runQueue(
  t: Test,
  { store, forward, close: closeStore }: OpenSubmissions,
  {
    limits = {},
    idempotent = false,
    computeHash = (fields) => computeInvokeHash({ chainId, fields }),
  }: OpenQueueOptions,
): OpenQueue {
  const hashed: HashedFields[] = []
  const allLimits = { ...limitsOfTests, ...limits }
  const queue = new NobodysQueue(store, {
    idempotent,
    // The pool's threads use the same function.
    computeHash: async (fields) => {
      hashed.push(fields)
      return computeHash(fields)
    },
    limits: allLimits,
  })
  const logged: string[] = []
  let forwarding: Forwarding | undefined
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= (async () => {
      await forwarding?.stop()
      await closeStore()
    })()
    return closed
  }
  t.teardown(close)
  return {
    queue,
    deliveries: new NobodysDeliveries(store, allLimits, queue),
    logged,
    hashed,
    async submit(written, submitter = new RequestContext()) {
      const transaction = parseInvokeTransaction(written, invokeLimitsDefault)
      queue.assertAcceptable(transaction)
      return (await queue.submit(transaction, submitter)).hash as Felt
    },
    async reaches(hash, state) {
      // The state may have changed by the next check.
      const look = async () => (await queue.readRow(hash))?.state === state && state
      t.equal(await waitFor(`${hash} to be ${state}`, look), state)
    },
    forward({ inFlightMax = 8, unknownAnswersMax = 3, retryMsMin = 10, client: given, ...options }) {
      const log = (message: string) => logged.push(message)
      let deliveries: NobodysDeliveries | undefined
      const opened = forward((writer) => {
        const { url = '' } = options
        const form = { form: 'rpc', prefix: 'rollupx', timeoutMs: 5_000 } as const
        const client = given ?? createSequencerClient({ ...form, ...options, url })
        deliveries = new NobodysDeliveries(writer, allLimits, queue)
        const pace = { inFlightMax, unknownAnswersMax, retryMsMin }
        return new Forwarder({ queue, deliveries, client, ...pace, log })
      })
      forwarding = opened
      return {
        get forwarder() {
          return opened.forwarder
        },
        attempts: () => deliveries?.attempts ?? 0,
        stop: () => opened.stop(),
      }
    },
    close,
  }
}

/** A caller with an API key, whose id is this number. */
export function callerOf(key: number): RequestContext {
  return new RequestContext(undefined, { key: { id: keyIdOf(key) } })
}

export function keyIdOf(key: number): string {
  return key.toString(16).padStart(12, '0')
}

/** The hash of a transaction in a caller's form. */
export function hashOf(written: unknown): Felt {
  const transaction = parseInvokeTransaction(written, invokeLimitsDefault)
  return computeInvokeHash({ chainId, fields: toHashedFields(transaction) })
}

/** The rejection of a refused submission. */
export function refusal(code: InvokeErrorCode): FaultError {
  return new FaultError({ kind: 'InvokeRefused', code, text: undefined })
}
