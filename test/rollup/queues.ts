/** A submission queue on a real store, with or without a forwarder, inside the test's process. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { FaultError, type InvokeErrorCode } from '../../src/primitives/faults.js'
import { asciiToFelt, type Felt } from '../../src/rollup/felt.js'
import { Forwarder } from '../../src/rollup/forwarder.js'
import { computeInvokeHash } from '../../src/rollup/invokeHash.js'
import {
  type HashedFields,
  invokeLimitsDefault,
  parseInvokeTransaction,
  toHashedFields,
} from '../../src/rollup/invokeTransaction.js'
import { createSequencerClient, type SequencerOptions } from '../../src/rollup/sequencerClient.js'
import { type QueueOptions, SubmissionQueue } from '../../src/rollup/submissionQueue.js'
import { Caller } from '../../src/rpc/caller.js'
import { NodeStore } from '../../src/store/nodeStore.js'
import { waitFor } from '../until.js'

export const chainId = asciiToFelt('SN_SEPOLIA')

export const limitsOfTests: QueueOptions['limits'] = {
  waitingMax: 10_000,
  waitingBytesMax: 2 ** 28,
  waitingMsMax: 3_600_000,
  retentionMs: 3_600_000,
  settledMax: 10_000,
}

export interface OpenQueue {
  readonly queue: SubmissionQueue
  readonly logged: string[]
  /** What had to be hashed. */
  readonly hashed: readonly HashedFields[]
  /** Submits what a caller would write, and returns its hash. */
  submit(written: unknown, submitter?: Caller): Promise<Felt>
  /** Waits for a state. */
  reaches(hash: Felt, state: string): Promise<void>
  forward(options: ForwardOptions): Forwarder
  close(): Promise<void>
}

type ForwardOptions = Partial<SequencerOptions> & {
  readonly url: string
  readonly inFlightMax?: number
  readonly unknownAnswersMax?: number
}

interface OpenQueueOptions {
  readonly limits?: Partial<QueueOptions['limits']>
  readonly idempotent?: boolean
}

export function openQueue(
  t: Test,
  folder: string,
  { limits = {}, idempotent = false }: OpenQueueOptions = {},
): OpenQueue {
  const hashed: HashedFields[] = []
  const store = NodeStore.open({ path: join(folder, 'node.mdb'), mapBytes: 2 ** 30 })
  const queue = new SubmissionQueue(store.openSubmissions('roll', chainId), {
    idempotent,
    // On the threads of the pool it is the same function.
    computeHash: async (fields) => {
      hashed.push(fields)
      return computeInvokeHash({ chainId, fields })
    },
    limits: { ...limitsOfTests, ...limits },
  })
  const logged: string[] = []
  let forwarder: Forwarder | undefined
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= (async () => {
      await forwarder?.stop()
      await store.close()
    })()
    return closed
  }
  t.teardown(close)
  return {
    queue,
    logged,
    hashed,
    async submit(written, submitter = new Caller()) {
      const transaction = parseInvokeTransaction(written, invokeLimitsDefault)
      queue.assertAcceptable(transaction)
      return queue.submit(transaction, submitter)
    },
    async reaches(hash, state) {
      // It may be another one by the time that it is looked at again.
      const look = () => queue.readRow(hash)?.state === state && state
      t.equal(await waitFor(`${hash} to be ${state}`, look), state)
    },
    forward({ inFlightMax = 8, unknownAnswersMax = 3, ...options }) {
      const client = createSequencerClient({ form: 'rpc', prefix: 'rollupx', timeoutMs: 5_000, ...options })
      const log = (message: string) => logged.push(message)
      forwarder = new Forwarder({ queue, client, inFlightMax, unknownAnswersMax, log })
      return forwarder
    },
    close,
  }
}

/** The hash of what a caller would write. */
export function hashOf(written: unknown): Felt {
  const transaction = parseInvokeTransaction(written, invokeLimitsDefault)
  return computeInvokeHash({ chainId, fields: toHashedFields(transaction) })
}

/** What a refused submission rejects with. */
export function refusal(code: InvokeErrorCode): FaultError {
  return new FaultError({ kind: 'InvokeRefused', code, text: undefined })
}
