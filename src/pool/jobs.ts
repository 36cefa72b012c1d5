/**
 * What the pool can be asked for. Owns the shape of jobs and of their results; the work itself is in `state` and
 * `evm`, and what runs it on a thread in `workers/`.
 *
 * A job names a block that is resolved already, never a tag, so that its answer belongs to one block whatever the
 * head does meanwhile. Arguments and results cross threads as msgpack.
 */
import type { AccessListOutcome, CallOutcome, EstimateOutcome, ExecutionRequest } from '../evm/execution.js'
import type { MappingSlotsRequest } from '../state/mappingSlots.js'
import type { ProofRequest } from '../state/proof.js'

/** Every job: which class of work it is, its arguments, and its result. */
export interface Jobs {
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
  /** Slots (32 bytes each) one after another, in the order of the keys. */
  readonly mappingSlots: {
    readonly class: 'slots'
    readonly args: MappingSlotsRequest
    readonly result: Uint8Array
  }
}

export type JobName = keyof Jobs
export type JobClass = Jobs[JobName]['class']
/** A job's arguments with the network whose store it reads; undefined for jobs that read none. */
export interface JobInput<N extends JobName> {
  readonly network: string | undefined
  readonly args: Jobs[N]['args']
}
