/**
 * What the pool can be asked for. Owns the shape of jobs and of their results; the work itself is in `chain`, `state`,
 * `evm` and `rollup`, and what runs it on a thread in `workers/`.
 *
 * A job names a block that is resolved already, never a tag, so that its answer belongs to one block whatever the
 * head does meanwhile. Arguments and results cross threads as msgpack: null, undefined, booleans, numbers, bigints,
 * text, Uint8Arrays, arrays, Maps and plain objects of these.
 */
import type { ChainOptions } from '../chain/chain.js'
import type { FoundLogs, LogBounds, LogSearch } from '../chain/logSearch.js'
import type {
  AccessListOutcome,
  CallOutcome,
  EstimateOutcome,
  ExecutionRequest,
} from '../evm/executionRequest.js'
import type { WitnessRequest } from '../evm/executionWitness.js'
import type { Fault } from '../primitives/faults.js'
import type { InvokeHashRequest } from '../rollup/invokeHash.js'
import type { ProofRequest } from '../state/proof.js'
import type { WrittenSlotsRequest } from '../state/writtenKeys.js'

/** One kind of job: the class of work it counts to, its arguments, and its result. */
export interface JobShape {
  readonly class: string
  readonly args: unknown
  readonly result: unknown
}

/** Kinds of jobs by their names. */
export type JobTable<J> = { readonly [N in keyof J]: JobShape }

/** The classes of work whose calls may come to a thread whole. */
export type WholeCallClass = 'proof' | 'execute' | 'slots'

/** A call that its thread reads, runs and renders. Its JSON is the body of the job. */
export interface WholeCall {
  readonly method: string
  /** Hash of the block that the network ends with for this call, and whether every tag stands for it. */
  readonly head: Uint8Array
  readonly isPinned: boolean
  /** The network's own settings. */
  readonly chain: ChainOptions
  readonly execution: { readonly gasCapBlocks: number; readonly marginBps: number }
  readonly proofKeysMax: number
}

/** What such a call comes to, and its price in compute units: rendered JSON, or a fault that the call itself found. */
export type WholeAnswer =
  | { readonly price: number; readonly json: Uint8Array }
  | { readonly price: number; readonly fault: Fault }

type WholeCallJob<C extends WholeCallClass> = {
  readonly class: C
  readonly args: WholeCall
  readonly result: WholeAnswer
}

/** Every job of the service. */
export interface Jobs {
  readonly proofCall: WholeCallJob<'proof'>
  readonly executeCall: WholeCallJob<'execute'>
  readonly slotsCall: WholeCallJob<'slots'>
  /** The rendered JSON of an `eth_getProof` result. */
  readonly prove: { readonly class: 'proof'; readonly args: ProofRequest; readonly result: Uint8Array }
  readonly call: { readonly class: 'execute'; readonly args: ExecutionRequest; readonly result: CallOutcome }
  readonly estimate: {
    readonly class: 'execute'
    readonly args: ExecutionRequest
    readonly result: EstimateOutcome
  }
  readonly accessList: {
    readonly class: 'execute'
    readonly args: ExecutionRequest
    readonly result: AccessListOutcome
  }
  /** The rendered JSON of a `debug_executionWitness` result. */
  readonly witness: { readonly class: 'execute'; readonly args: WitnessRequest; readonly result: Uint8Array }
  /** Slots (32 bytes each) one after another, in the order of the keys. */
  readonly mappingSlots: {
    readonly class: 'slots'
    readonly args: WrittenSlotsRequest
    readonly result: Uint8Array
  }
  readonly searchLogs: {
    readonly class: 'logs'
    readonly args: { readonly search: LogSearch; readonly bounds: LogBounds }
    readonly result: FoundLogs
  }
  /** The hash of an invoke transaction, a felt. */
  readonly invokeHash: { readonly class: 'hash'; readonly args: InvokeHashRequest; readonly result: string }
}

export type JobName = keyof Jobs
export type JobClass = Jobs[JobName]['class']

/** A job's arguments with the network whose store it reads; undefined for jobs that read none. */
export interface JobInput<A> {
  readonly network: string | undefined
  readonly args: A
}

/** Whoever a job is done for. Once they are gone, their jobs are cancelled. */
export interface JobOwner {
  /** Of the caller's API key, by which threads are shared out. */
  readonly keyId: string
  readonly isGone: boolean
  /** Calls `listener` once, when the owner goes. */
  onGone(listener: () => void): void
  forget(listener: () => void): void
  /** A job of theirs took so much CPU of a thread. Called before its outcome, whether or not that is read. */
  ran(cpuMs: number): void
}

/** The jobs of one network, as methods see them. */
export interface NetworkJobs {
  /**
   * Runs a job on a thread of the pool. `owner` is the third argument of a method's `run`.
   * Rejects with FaultError: what the job itself found, ServerBusy where its queue is full, RequestTimedOut or
   * ExecutionTimedOut past its time; with another Error for a defect or a thread that died of it.
   * Bytes of the result belong to the caller. Costs the edge 30 µs and more beside the work (see pool.ts).
   *
   * `body` is handed over without a copy: its memory is the pool's from now on, and was nobody else's.
   */
  run<N extends JobName>(
    name: N,
    args: Jobs[N]['args'],
    owner: JobOwner,
    body?: Uint8Array,
  ): Promise<Jobs[N]['result']>
  /** Jobs are done on this very thread, one after the other: to cut work into several gains nothing. */
  readonly areHere?: boolean
}
