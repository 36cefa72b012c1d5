/**
 * The jobs of the pool. Owns the types of their arguments and results; the work itself is in `chain`, `state`, `evm`
 * and `rollup`, and the thread entries are in `workers/`.
 *
 * A job names a resolved block, never a tag, so that its answer belongs to one block even if the head changes.
 * Arguments and results are passed as msgpack: null, undefined, booleans, numbers, bigints, text, Uint8Arrays,
 * arrays, Maps and plain objects of these.
 */

import type { HeaderProofRequest } from '../../data/chain/headerProof.js'
import type { FoundLogs, LogBounds, LogSearch } from '../../data/chain/logSearch.js'
import type { IndexProofRequest } from '../../data/state/indexProof.js'
import type { ProofRequest } from '../../data/state/proof.js'
import type { WrittenSlotsRequest } from '../../data/state/writtenKeys.js'
import type { WitnessRequest } from '../../execution/evm/blocks/executionWitness.js'
import type { StatePartsRequest } from '../../execution/evm/blocks/stateParts.js'
import type {
  EstimateOutcome,
  ExecutionRequest,
  FillRequest,
} from '../../execution/evm/messages/executionRequest.js'
import type { ListedAccesses } from '../../execution/evm/messages/outcomeJson.js'
import type { SimulationRequest } from '../../execution/evm/simulate/simulationRequest.js'
import type { TraceRequest } from '../../execution/evm/tracers/traceRequest.js'
import type { Waiter } from '../../primitives/deferred.js'
import type { Fault } from '../../primitives/faults.js'
import type { InvokeHashRequest } from '../rollup/invokeHash.js'

export type JobTable<J> = { readonly [N in keyof J]: JobOf<string, unknown, unknown> }

interface JobOf<C extends string, A, R> {
  readonly class: C
  readonly args: A
  readonly result: R
}

/** The rendered JSON of a method's result. */
type Json = Uint8Array

export interface Jobs {
  readonly prove: JobOf<'proof', ProofRequest, Json>
  readonly headerProof: JobOf<'proof', HeaderProofRequest, Json>
  /** The proofs of a transaction, and of its receipt. */
  readonly indexProof: JobOf<'proof', IndexProofRequest, Json>
  readonly call: JobOf<'execute', ExecutionRequest, Json>
  readonly estimate: JobOf<'execute', ExecutionRequest, EstimateOutcome>
  readonly fill: JobOf<'execute', FillRequest, Json>
  readonly accessList: JobOf<'execute', ExecutionRequest, ListedAccesses>
  readonly witness: JobOf<'execute', WitnessRequest, Json>
  readonly simulate: JobOf<'execute', SimulationRequest, Json>
  /** The last part of the trace; `takePart` gets the earlier ones. */
  readonly trace: JobOf<'trace', TraceRequest, Json>
  /** A trace by a tracer in JavaScript, in a thread that ends with it; always whole. */
  readonly script: JobOf<'script', TraceRequest, Json>
  readonly stateParts: JobOf<'trace', StatePartsRequest, Json>
  /** Slots (32 bytes each), concatenated in the order of the keys. */
  readonly mappingSlots: JobOf<'slots', WrittenSlotsRequest, Uint8Array>
  readonly searchLogs: JobOf<'logs', { readonly search: LogSearch; readonly bounds: LogBounds }, FoundLogs>
  /** The hash of an invoke transaction, a felt. */
  readonly invokeHash: JobOf<'hash', InvokeHashRequest, string>
}

export type JobName = keyof Jobs
export type JobClass = Jobs[JobName]['class']

/** A job's arguments with the network whose store it reads; undefined for jobs that read none. */
export interface JobInput<A> {
  readonly network: string | undefined
  readonly args: A
}

/** The caller of a job. Once it has left, its jobs are cancelled. */
export interface JobOwner extends Waiter {
  /** Id of the caller's API key, by which threads are shared. */
  readonly keyId: string
  /** Share of the threads for this key, relative to others; 1 if absent. */
  readonly weight?: number
  readonly isFinished: boolean
  /** Called with the CPU time of one of its jobs, before the outcome, even if the outcome is not read. */
  ran(cpuMs: number): void
  /**
   * Takes a part of a job's result while the job runs; the owner gets the bytes with all of their memory. Calls `taken`
   * once the part is passed on: the job waits while several parts are not. Absent if the caller expects no parts; a job
   * that sends one then fails.
   */
  takePart?(part: Uint8Array<ArrayBuffer>, taken: () => void): void
}

/** The jobs of one network, as methods see them. */
export interface NetworkJobs {
  /**
   * Runs a job on a thread of the pool. `owner` is the third argument of a method's `run`. Rejects with FaultError: a
   * fault of the job itself, ServerBusy if its queue is full, RequestTimedOut or ExecutionTimedOut after its time
   * limit. Rejects with another Error for a defect or a thread that died. Bytes of the result belong to the caller.
   * Takes CPU time of the edge besides the work (scenario `proof-random`).
   */
  run<N extends JobName>(name: N, args: Jobs[N]['args'], owner: JobOwner): Promise<Jobs[N]['result']>
  /**
   * The fault with which {@link run} would refuse any job of this class and owner. Lets callers skip reading the call.
   */
  refusal?(className: JobClass, owner: JobOwner): Fault | undefined
}
