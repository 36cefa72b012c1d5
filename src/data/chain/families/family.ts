/**
 * What differs between families of chains: one object for each, chosen once by a chain's genesis `config`
 * (`familyOfConfig`) and found again by any of its forks (`familyOf`), because no two families share one. All else asks
 * the object, and nothing outside this folder knows which families there are.
 *
 * A family that is only proved, not executed, needs `config`, `forks`, `transactionTypes`, `proofs` and the rules of
 * headers; what it leaves out is as on Ethereum. What executes blocks has `execution` besides. A new family is a folder
 * here, and a line in `families.ts`; its forks are a line in `forkNames.ts`.
 */
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import type { RlpItem } from '../../../primitives/rlp.js'
import type { TransactionType } from '../../../primitives/transactionTypes.js'
import type { BlobParameters, ChainConfig, ForkName } from '../forkNames.js'
import type { Header } from '../header.js'

export interface ChainFamily {
  /** What operators and clients read of it, such as "OP Stack". */
  readonly title: string
  /** The forks that its chains can have, in order. */
  readonly forks: readonly ForkName[]
  readonly config: FamilyConfig
  /** By number. */
  readonly transactionTypes: ReadonlyMap<number, TransactionType>
  readonly headers: HeaderRules
  readonly proofs: FamilyProofs
  /** What is advised as a tip, in wei per gas, by the head; undefined where that is as on Ethereum. */
  suggestTip?(head: PaidBlock): bigint
  /** Undefined where its blocks cannot be executed here. */
  readonly execution?: FamilyExecution
}

/** What its `config` has besides Ethereum's members. */
export interface FamilyConfig {
  /** Whether a genesis `config` is of this family. */
  isOf(config: Readonly<Record<string, unknown>>): boolean
  /** Members by which forks begin, at a block or a time (unix seconds). */
  readonly blocks: ReadonlyMap<string, ForkName>
  readonly times: ReadonlyMap<string, ForkName>
  /** Members that set no fork. */
  readonly others: ReadonlySet<string>
  /** Checks the whole, and adds what follows from it. Throws RangeError that names a member. */
  complete(parsed: ChainConfig, config: Readonly<Record<string, unknown>>): ChainConfig
}

/** Throws for a field of a header that is not as it has to be. */
export type Must = (holds: boolean, field: string, got: unknown, want: string) => void

/** A block that is about to be on a parent, by the rules of its fork. */
export interface Child {
  readonly number: number
  /** Unix seconds. */
  readonly timestamp: number | bigint
  readonly fork: ForkName
  readonly config: ChainConfig
  /** Undefined before Cancun. */
  readonly blobs: BlobParameters | undefined
}

/** Which fields a header has is in `header.ts` for all families, and what proof of stake wants in `blockRules.ts`. */
export interface HeaderRules {
  /** Seconds from a block to the next, as they are expected. */
  readonly slotSeconds: number
  /** Longest block in RLP; undefined for none. */
  blockBytesMax(fork: ForkName): number | undefined
  /** Wei per gas. */
  nextBaseFee(parent: Header, child: Pick<Child, 'timestamp' | 'config'>): bigint
  /** Fields of an empty child that follow from its parent. */
  child(
    parent: Header,
    child: Child,
  ): Pick<Header, 'gasLimit' | 'extraData' | 'blobGasUsed' | 'excessBlobGas' | 'withdrawalsRoot'>
  /** Checks a header's gas limit, base fee, extra data and fields of blobs against its parent. */
  check(header: Header, parent: Header, child: Child, must: Must): void
}

/** Which parts of a block are covered by a root of its header, and in which form. */
export interface FamilyProofs {
  /** Whether the withdrawals root is that of a body's withdrawals; otherwise the body has an empty list. */
  hasWithdrawals(fork: ForkName): boolean
  /** What the receipt of a transaction without a signature has behind its logs, by the nonce that its sender had. */
  receiptTail?(nonce: bigint, fork: ForkName): readonly bigint[]
  /** A receipt as the trie under the receipts root has it, from one as it is kept and served. */
  receiptInTrie?(receipt: Uint8Array, fork: ForkName): Uint8Array
  /** Names of the members that {@link receiptMembers} writes; a decimal is a text. */
  readonly receiptForms?: Readonly<Record<string, 'quantity' | 'decimal'>>
  /**
   * Writes members of receipts that follow from the block alone; undefined where a block's have none. Their first comma
   * is written too.
   */
  receiptMembers?(block: ReceiptBlock): ((json: JsonBytes, transaction: Uint8Array) => void) | undefined
}

/** What a block's transactions used and paid, in order. */
export interface PaidBlock {
  readonly header: Header
  readonly gasUsed: readonly number[]
  readonly tips: readonly bigint[]
}

/** What the members of a block's receipts are made from. */
export interface ReceiptBlock {
  readonly fork: ForkName
  /** The bytes of its first transaction; undefined where it has none. */
  readonly first: Uint8Array | undefined
}

/** The accounts of a block that is executed; handles are valid within it. A kernel is one. */
export interface BlockAccounts {
  account(address: Uint8Array): number
  credit(account: number, wei: bigint): void
  setCode(account: number, code: Uint8Array): void
  /** 32 bytes each. */
  slotOf(account: number, key: Uint8Array): Uint8Array
}

/** A transaction as it stands in a block. */
export interface BlockItem {
  readonly type: number
  /** A list (legacy), or bytes of type and list. */
  readonly item: RlpItem
}

/** A transaction as rules of a block see it. */
export interface RuledTransaction extends BlockItem {
  /** 20 bytes. */
  readonly sender: Uint8Array
  readonly to: Uint8Array | undefined
  readonly data: Uint8Array
}

/** A block that is about to be made here. */
export interface MadeBlock {
  readonly number: number
  readonly fork: ForkName
  /** Of its parent. */
  readonly forkBefore: ForkName
  /** A slot of the state before it, 32 bytes. */
  slot(address: Uint8Array, slot: Uint8Array): Uint8Array
  /** An account that gets ether which nobody loses. */
  readonly payment: { readonly address: Uint8Array; readonly wei: bigint } | undefined
}

/** What a block has in any case. */
export interface Opening {
  /** The bytes of its first transactions, of which the payment is one. */
  readonly transactions: readonly Uint8Array[]
  /** Whether it has no others. */
  readonly isAlone: boolean
}

export interface FamilyExecution {
  /** Whether blocks end with requests (EIP-7685); otherwise their hash is that of none. */
  readonly hasRequests: boolean
  /** Who gets the base fee, which traces of state show; undefined where nobody does. */
  readonly baseFeeReceiver?: Uint8Array
  /** Undefined where a transaction costs its gas alone, and its base fee goes to nobody. */
  fees?(accounts: BlockAccounts, block: FeeBlock, transaction: RlpItem | undefined): TransactionFees
  /** Changes accounts before the first transaction, as a transaction of its own. */
  beginBlock?(accounts: BlockAccounts, header: Header, config: ChainConfig): void
  /**
   * Whether a transaction that a block has in any case counts with the gas that it used; otherwise with all, or none where
   * the protocol sends it.
   */
  countsForcedGas?(fork: ForkName): boolean
  /** Why a block must not have these transactions, in this order. */
  refuseTransactions?(transactions: readonly RuledTransaction[], fork: ForkName): string | undefined
  /** What the header's blob gas counts instead of blobs. Throws RangeError where that cannot be told. */
  blobGas?(transactions: readonly BlockItem[], fork: ForkName): bigint
  /** What a block begins with that is made here; undefined where it is empty, and withdrawals pay. */
  openBlock?(block: MadeBlock): Opening
  /** Account whose storage root after the block is the withdrawals root; undefined where it is that of withdrawals. */
  withdrawalsAccount?(fork: ForkName): Uint8Array | undefined
  readonly precompiles?: FamilyPrecompiles
  /** Whether the family's nodes trace slots as digits without 0x. */
  readonly tracesBareDigits?: boolean
}

export interface FeeBlock {
  readonly fork: ForkName
  readonly baseFee: bigint
}

/** What a transaction costs besides its gas, in wei. None of it is gas. */
export interface TransactionFees {
  /** Taken at first from the sender, whatever happens. */
  taken(gasLimit: bigint): bigint
  /** Given back to the sender. */
  returned(gasLimit: bigint, gasUsed: bigint): bigint
  /** Credits the accounts that get the base fee and what the sender paid. */
  pay(gasUsed: bigint): void
}

/** Where precompiled contracts are not those of Ethereum's forks. */
export interface FamilyPrecompiles {
  /** Forks from which on there are contracts, by their numbers, that Ethereum has since later ones. */
  readonly since: ReadonlyMap<number, ForkName>
  /** Gas in place of Ethereum's; undefined where it is the same. */
  gas(number: number, fork: ForkName): bigint | undefined
  /** Longest input; a longer one fails. Undefined for any. */
  inputBytesMax(number: number, fork: ForkName): number | undefined
}
