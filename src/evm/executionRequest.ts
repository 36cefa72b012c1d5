/** A message to execute and what comes of it, as plain data: what a job carries and a run takes. */
import type { Fault } from '../primitives/faults.js'
import type { KernelLog } from './kernel.js'

/** The block after which a message is executed. */
export interface BlockReference {
  readonly number: number
  /** 32 bytes. */
  readonly hash: Uint8Array
  /** The message runs in the block to come, on the state of this one. */
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
  /** 20 bytes: whose code is to be used. */
  readonly address: Uint8Array
  readonly nonce: bigint
  readonly yParity: number
  readonly r: bigint
  readonly s: bigint
}

/** A transaction that nobody has signed. Absent fees make it free. */
export interface CallMessage {
  /** 20 bytes; zeros where absent. */
  readonly from?: Uint8Array
  /** 20 bytes; absent for a creation. */
  readonly to?: Uint8Array
  readonly gas?: bigint
  /** Wei per gas, as all fees; never together with the two that follow. */
  readonly gasPrice?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly maxFeePerBlobGas?: bigint
  /** Wei. */
  readonly value: bigint
  readonly data: Uint8Array
  /** Only names the address of a creation in an access list; the sender's own counts in execution. */
  readonly nonce?: bigint
  readonly accessList?: readonly AccessListEntry[]
  /** 32 bytes each. */
  readonly blobVersionedHashes?: readonly Uint8Array[]
  readonly authorizationList?: readonly Authorization[]
}

/** Slot and value, 32 bytes each. */
export type SlotOverride = readonly [slot: Uint8Array, value: Uint8Array]

/** An account as it is to be before the message. At most one of `state` and `stateDiff`. */
export interface AccountOverride {
  /** 20 bytes. */
  readonly address: Uint8Array
  readonly nonce?: bigint
  readonly balance?: bigint
  readonly code?: Uint8Array
  /** In place of all its storage. */
  readonly state?: readonly SlotOverride[]
  readonly stateDiff?: readonly SlotOverride[]
  /** 20 bytes: where the precompiled contract of this address is to answer. */
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

/** One message to execute at a block, as a job carries it. */
export interface ExecutionRequest {
  readonly block: BlockReference
  readonly message: CallMessage
  /** Gas of a message that names none. */
  readonly gasDefault: bigint
  /** Most gas, also where the message names more. */
  readonly gasMax: bigint
  readonly stateOverrides?: readonly AccountOverride[]
  readonly blockOverrides?: BlockOverrides
  /** Added to an estimate, in hundredths of a percent, up to what the message may have; never to plain transfers. */
  readonly marginBps?: number
}

export interface CallOutcome {
  readonly returnData: Uint8Array
  /** As a receipt would say. */
  readonly gasUsed: bigint
  readonly logs: readonly KernelLog[]
  /** Why it failed; undefined for success. */
  readonly failure: Fault | undefined
}

export interface EstimateOutcome {
  readonly gas: bigint
  /** Executions that it took. */
  readonly runs: number
}

export interface AccessListOutcome {
  /** By address, keys in order. */
  readonly accessList: readonly AccessListEntry[]
  readonly gasUsed: bigint
  /** Why execution with this list fails; undefined for success. */
  readonly failure: Fault | undefined
}
