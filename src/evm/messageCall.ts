/** A call on a kernel that holds its state: from the request to its outcome as callers see it. */
import type { Fault } from '../primitives/faults.js'
import type { SignedAuthorization } from './authorizations.js'
import type { BlockContext } from './blockContext.js'
import type { CallOutcome, ExecutionRequest } from './executionRequest.js'
import { startCall } from './gasBounds.js'
import type { JobWatch } from './jobWatch.js'
import type { Kernel } from './kernel.js'
import { type RunOutcome, runMessage } from './messageRun.js'
import { decodeRevertReason } from './revertReason.js'

/** Where a call runs. */
export interface CallPlace {
  readonly context: BlockContext
  /** Holds the state. */
  readonly kernel: Kernel
  /** Balance of the sender in wei. */
  readonly balance: bigint
  readonly watch: JobWatch
  /**
   * Recovers the signers of the message's authorizations, once. Only for a message that may start, whose gas limits
   * the work.
   */
  readonly authorities: () => readonly SignedAuthorization[]
}

/** Executes a call. Throws FaultError MessageRefused where it cannot start, and what the watch and the store throw. */
export function runCall(request: ExecutionRequest, place: CallPlace): CallOutcome {
  const { context, kernel, balance, watch, authorities } = place
  const { priced, gasLimit } = startCall(request, context, balance)
  const outcome = runMessage(priced, {
    kernel,
    gasLimit,
    watch,
    authorizations: authorities(),
    keepsLogs: request.keepsLogs ?? false,
  })
  const { returnData, gasUsed, logs } = outcome
  return { returnData, gasUsed, logs, failure: toFault(outcome) }
}

/** Why a run failed, as a fault; undefined for success. */
export function toFault({ failure, returnData }: RunOutcome): Fault | undefined {
  switch (failure?.kind) {
    case undefined:
      return undefined
    case 'reverted':
      return { kind: 'ExecutionReverted', reason: decodeRevertReason(returnData), data: returnData }
    case 'outOfGas':
    case 'other':
      return { kind: 'ExecutionFailed', why: failure.why }
  }
}
