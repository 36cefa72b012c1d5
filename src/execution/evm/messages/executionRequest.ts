/** A message to execute and its outcome, as plain data, for jobs and runs. */
import type { Fault } from '../../../primitives/faults.js'
import type { KernelLog } from '../engine/kernelLogs.js'

/** The block after which a message is executed. */
export interface BlockReference {
  readonly number: number
  /** 32 bytes. */
  readonly hash: Uint8Array
  /** Whether the message runs in the pending block, on the state of this one. */
  readonly isPending: boolean
}

export interface AccessListEntry {
  /** 20 bytes. */
  readonly address: Uint8Array
  /** 32 bytes each. */
  readonly storageKeys: readonly Uint8Array[]
}

/** EIP-7702. */
export interface Authorization {
  readonly chainId: bigint
  /** 20 bytes: the account whose code is used. */
  readonly address: Uint8Array
  readonly nonce: bigint
  readonly yParity: number
  readonly r: bigint
  readonly s: bigint
}

/** An unsigned transaction. Without fees it is free. */
export interface CallMessage {
  /** 20 bytes; zeros if absent. */
  readonly from?: Uint8Array
  /** 20 bytes; absent for a creation. */
  readonly to?: Uint8Array
  readonly gas?: bigint
  /** Wei per gas, like all fees; never together with the next two. */
  readonly gasPrice?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly maxFeePerBlobGas?: bigint
  /** Wei. */
  readonly value: bigint
  readonly data: Uint8Array
  /** Only used for the address of a creation in an access list; execution uses the sender's own nonce. */
  readonly nonce?: bigint
  readonly accessList?: readonly AccessListEntry[]
  /** 32 bytes each. */
  readonly blobVersionedHashes?: readonly Uint8Array[]
  readonly authorizationList?: readonly Authorization[]
}

/** Slot and value, 32 bytes each. */
export type SlotOverride = readonly [slot: Uint8Array, value: Uint8Array]

/** Overrides of an account before the message. At most one of `state` and `stateDiff`. */
export interface AccountOverride {
  /** 20 bytes. */
  readonly address: Uint8Array
  readonly nonce?: bigint
  readonly balance?: bigint
  readonly code?: Uint8Array
  /** Replaces all its storage. */
  readonly state?: readonly SlotOverride[]
  readonly stateDiff?: readonly SlotOverride[]
  /** 20 bytes: the address to which the precompiled contract at this address is moved. */
  readonly movePrecompileTo?: Uint8Array
}

export interface BlockOverrides {
  readonly number?: bigint
  readonly time?: bigint
  readonly gasLimit?: bigint
  /** 20 bytes. */
  readonly feeRecipient?: Uint8Array
  /** 32 bytes. */
  readonly prevRandao?: Uint8Array
  readonly baseFeePerGas?: bigint
  readonly blobBaseFee?: bigint
  /** Without effect since the Merge. */
  readonly difficulty?: bigint
}

/** Arguments of an execution job: a message and its block. */
export interface ExecutionRequest {
  readonly block: BlockReference
  readonly message: CallMessage
  /** Gas of a message without `gas`. */
  readonly gasDefault: bigint
  /** Upper limit of gas, even if the message has more. */
  readonly gasMax: bigint
  readonly stateOverrides?: readonly AccountOverride[]
  readonly blockOverrides?: BlockOverrides
  /** Whether the outcome of a call contains its logs. */
  readonly keepsLogs?: boolean
  /** Added to an estimate, in hundredths of a percent, up to `gasMax`; never to plain transfers. */
  readonly marginBps?: number
}

export interface FillRequest extends ExecutionRequest {
  /** The suggested tip, in wei per gas. */
  readonly tip: bigint
  /** Nonce of the draft. */
  readonly nonce: bigint
}

export interface CallOutcome {
  readonly returnData: Uint8Array
  readonly gasUsed: bigint
  /** Empty unless the request keeps them. */
  readonly logs: readonly KernelLog[]
  /** Reason of the failure; undefined for success. */
  readonly failure: Fault | undefined
}

export interface EstimateOutcome {
  readonly gas: bigint
  readonly runs: number
}

export interface AccessListOutcome {
  /** Sorted by address; the keys are sorted, too. */
  readonly accessList: readonly AccessListEntry[]
  readonly gasUsed: bigint
  /** Reason why execution with this list fails; undefined for success. */
  readonly failure: Fault | undefined
}
