/**
 * The parts of execution that depend on more than Ethereum's forks: the rules of a family of chains, and the data that
 * they may use. Execution finds them by fork (`forkRules.ts`).
 */
import type { RlpItem } from '../../primitives/rlp.js'
import type { ChainConfig, ForkName } from './forkNames.js'
import type { Header } from './header.js'

/** Features that an EVM with Ethereum's rules cannot execute correctly: a run that uses one ends. */
export interface UnknownFeatures {
  readonly opcodes: ReadonlySet<number>
  /** Addresses, lower-case hex without 0x. */
  readonly addresses: ReadonlySet<string>
  /** Lower-case hex without 0x. */
  readonly codePrefix?: string
}

/** The accounts of a block in execution; handles are valid within it. A kernel implements this. */
export interface BlockAccounts {
  account(address: Uint8Array): number
  credit(account: number, wei: bigint): void
  setCode(account: number, code: Uint8Array): void
  /** 32 bytes each. */
  slotOf(account: number, key: Uint8Array): Uint8Array
}

/** A transaction as in a block. */
export interface BlockItem {
  readonly type: number
  /** A list (legacy), or bytes of type and list. */
  readonly item: RlpItem
}

/** The parts of a transaction that block rules use. */
export interface RuledTransaction extends BlockItem {
  /** 20 bytes. */
  readonly sender: Uint8Array
  readonly to: Uint8Array | undefined
  readonly data: Uint8Array
}

/** A block that this program is about to make. */
export interface MadeBlock {
  readonly number: number
  readonly fork: ForkName
  /** The fork of its parent. */
  readonly forkBefore: ForkName
  /** A slot of the state before it, 32 bytes. */
  slot(address: Uint8Array, slot: Uint8Array): Uint8Array
  /** An account to credit with new ether. */
  readonly payment: { readonly address: Uint8Array; readonly wei: bigint } | undefined
}

/** Mandatory transactions of a block. */
export interface Opening {
  /** The bytes of its first transactions, including the payment. */
  readonly transactions: readonly Uint8Array[]
  /** Whether the block has no further transactions. */
  readonly isAlone: boolean
}

export interface ExecutionRules {
  /** Whether blocks end with requests (EIP-7685); otherwise their hash is that of none. */
  readonly hasRequests: boolean
  /** Receiver of the base fee, which traces of state show; undefined if there is none. */
  readonly baseFeeReceiver?: Uint8Array
  /** Undefined if a transaction costs only its gas, and its base fee has no receiver. */
  fees?(accounts: BlockAccounts, block: FeeBlock, transaction: RlpItem | undefined): TransactionFees
  /** Changes accounts before the first transaction, as a transaction of its own. */
  beginBlock?(accounts: BlockAccounts, header: Header, config: ChainConfig): void
  /**
   * Whether a forced transaction counts with its used gas. Otherwise all its gas counts, or none if the protocol sends
   * it.
   */
  countsForcedGas?(fork: ForkName): boolean
  /** Reason why a block must not have these transactions, in this order; undefined if it may. */
  refuseTransactions?(transactions: readonly RuledTransaction[], fork: ForkName): string | undefined
  /** The blob gas in the header, if it does not count blobs. Throws RangeError if it cannot be computed. */
  blobGas?(transactions: readonly BlockItem[], fork: ForkName): bigint
  /** Estimated bytes of a transaction in a batch on L1; undefined if there are no batches. */
  dataBytes?(transaction: Uint8Array): bigint
  /** First transactions of a block made here. Without it, blocks start empty, and withdrawals pay. */
  openBlock?(block: MadeBlock): Opening
  /** Account whose storage root after the block is the withdrawals root; undefined if it is the root of withdrawals. */
  withdrawalsAccount?(fork: ForkName): Uint8Array | undefined
  readonly precompiles?: PrecompileRules
  /** Whether nodes trace slots as digits without 0x. */
  readonly tracesBareDigits?: boolean
}

export interface FeeBlock {
  readonly fork: ForkName
  readonly baseFee: bigint
}

/** Costs of a transaction besides its gas, in wei. */
export interface TransactionFees {
  /** Wei taken from the sender at the start, for any outcome. */
  taken(gasLimit: bigint): bigint
  /** Wei given back to the sender. */
  returned(gasLimit: bigint, gasUsed: bigint): bigint
  /** Credits the receivers of the base fee and of the sender's payments. */
  pay(gasUsed: bigint): void
}

/** Differences from the precompiled contracts of Ethereum's forks. */
export interface PrecompileRules {
  /** First forks of contracts, by their numbers, that Ethereum has only since later forks. */
  readonly since: ReadonlyMap<number, ForkName>
  /** Gas that replaces Ethereum's; undefined if it is the same. */
  gas(number: number, fork: ForkName): bigint | undefined
  /** Longest input; a longer one fails. Undefined for no limit. */
  inputBytesMax(number: number, fork: ForkName): number | undefined
}
