/** Arguments of a simulation job, as plain data. */
import type {
  AccountOverride,
  BlockOverrides,
  BlockReference,
  CallMessage,
} from '../messages/executionRequest.js'

/** A withdrawal of the beacon chain (EIP-4895). */
export interface Withdrawal {
  readonly index: bigint
  readonly validatorIndex: bigint
  /** 20 bytes. */
  readonly address: Uint8Array
  /** Gwei. */
  readonly amount: bigint
}

export interface SimulatedBlockOverrides extends BlockOverrides {
  /** 32 bytes: the parent's beacon root (EIP-4788). */
  readonly beaconRoot?: Uint8Array
  readonly withdrawals?: readonly Withdrawal[]
}

/** A message of a simulated block; `chainId` is undefined if the caller gives none. */
export interface SimulatedCall {
  readonly message: CallMessage
  readonly chainId: bigint | undefined
}

export interface BlockStateCalls {
  readonly blockOverrides: SimulatedBlockOverrides
  readonly stateOverrides: readonly AccountOverride[]
  readonly calls: readonly SimulatedCall[]
}

export interface SimulationRequest {
  /** The block on which the first one is built. */
  readonly block: BlockReference
  readonly blocks: readonly BlockStateCalls[]
  /** Whether the rules of real transactions apply: nonces are checked, and nothing is free. */
  readonly validates: boolean
  /** Whether transfers of ether are among the logs. */
  readonly tracesTransfers: boolean
  /** Whether blocks contain their transactions, or only the hashes. */
  readonly isFull: boolean
  /** Gas of all messages together. */
  readonly gasMax: bigint
}
