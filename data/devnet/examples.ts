/**
 * Examples of calls to the demo network: the shape of `examples.json`. Bytes are hex, numbers are JSON numbers, and
 * values that may exceed 2^53 are hex quantities.
 */
import type { Hex } from '../../src/primitives/bytes.js'

/** A fork and the first block under it. */
export interface ForkExample {
  readonly name: string
  readonly block: number
  readonly timestamp: number
}

/** Someone with a public private key, or an account without one; balance and nonce are those at the head. */
export interface AccountExample {
  readonly name: string
  readonly address: Hex
  readonly note: string
  readonly privateKey?: Hex
  /** Hex quantity, wei. */
  readonly balance: Hex
  readonly nonce: number
}

/** A contract by the name that the story gave it. `block` 0 means genesis. */
export interface ContractExample {
  readonly name: string
  readonly address: Hex
  readonly source: string
  readonly block: number
  readonly note: string
}

/** A storage slot with its value after a block; `value` has 32 bytes. */
export interface SlotExample {
  readonly label: string
  readonly contract: string
  readonly address: Hex
  readonly slot: Hex
  /** How the slot is computed. */
  readonly how: string
  readonly block: number
  readonly value: Hex
}

/** A block with something in it. */
export interface BlockExample {
  readonly number: number
  readonly hash: Hex
  readonly timestamp: number
  readonly labels: readonly string[]
  readonly note: string
  readonly transactions: number
  readonly uncles: number
  readonly withdrawals: number
  readonly logs: number
}

/** A transaction with something to it. */
export interface TransactionExample {
  readonly label: string
  readonly note: string
  readonly hash: Hex
  readonly block: number
  readonly index: number
  readonly type: number
  readonly succeeded: boolean
}

/** The whole of `examples.json`. */
export interface Examples {
  readonly chainId: number
  readonly genesisHash: Hex
  readonly head: { readonly number: number; readonly hash: Hex; readonly stateRoot: Hex }
  /** Hex quantities. */
  readonly terminalTotalDifficulty: Hex
  readonly totalDifficulty: Hex
  readonly totalGasUsed: Hex
  readonly totalTransactions: number
  readonly forks: readonly ForkExample[]
  readonly accounts: readonly AccountExample[]
  readonly contracts: readonly ContractExample[]
  readonly slots: readonly SlotExample[]
  readonly blocks: readonly BlockExample[]
  readonly transactions: readonly TransactionExample[]
}
