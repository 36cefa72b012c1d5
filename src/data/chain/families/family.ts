/**
 * The differences between families of chains: one object for each. A chain's schedule of forks has the object
 * (`ForkSchedule.family`): by the family that the store names, otherwise by the genesis `config`. Rules of execution are
 * also found by any fork (`familyOf`), because no two executed families share one. All other code uses the object, and
 * no code outside this folder knows the list of families.
 *
 * An executed family is a folder here, and a line in `families.ts`; its forks are a line in `forkNames.ts`. A family
 * that is only proved is a spread of another with what differs, in `provedFamilies.ts`.
 */
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import type { RlpItem } from '../../../primitives/rlp.js'
import type { TransactionTypes } from '../../../primitives/transactionTypes.js'
import type { TrieForm } from '../../store/chainRows.js'
import type { BlobParameters, ChainConfig, ForkName } from '../forkNames.js'
import type { Header } from '../header.js'

export interface ChainFamily {
  /** Name for operators and clients, such as "OP Stack". */
  readonly title: string
  /** The forks that its chains can have, in order. */
  readonly forks: readonly ForkName[]
  readonly config: FamilyConfig
  /** Transactions of unknown types are proved only by their raw bytes. */
  readonly transactionTypes: TransactionTypes
  readonly headers: HeaderRules
  readonly proofs: FamilyProofs
  /** How a gateway verifies each part. */
  readonly parts: Readonly<Record<NetworkPart, Basis>>
  /** Parts that only some blocks prove: a root that does not match is no error; the part is then unverified. */
  readonly loose: readonly NetworkPart[]
  /** Which calls a gateway runs itself, and which methods it passes on. */
  readonly calls: FamilyCalls
  /** A chain whose forks are known here by its chain id. */
  knownChain?(chainId: bigint): KnownChain | undefined
  /** Suggested tip, in wei per gas, for a head; undefined if it is as on Ethereum. */
  suggestTip?(head: PaidBlock): bigint
  /** Undefined if its blocks cannot be executed here. */
  readonly execution?: FamilyExecution
}

/** A chain whose node need not report its rules. */
export interface KnownChain {
  /** The family with these rules for calls. */
  readonly family: ChainFamily
  /** The `config` member of a geth-format genesis. */
  readonly config: Readonly<Record<string, unknown>>
}

/** Members of its `config` besides Ethereum's. */
export interface FamilyConfig {
  /** Whether a genesis `config` is of this family. */
  isOf(config: Readonly<Record<string, unknown>>): boolean
  /** Members that set the start of forks, by block or time (unix seconds). */
  readonly blocks: ReadonlyMap<string, ForkName>
  readonly times: ReadonlyMap<string, ForkName>
  /** Members that set no fork. */
  readonly others: ReadonlySet<string>
  /** Checks the whole, and adds derived members. Throws RangeError that names a member. */
  complete(parsed: ChainConfig, config: Readonly<Record<string, unknown>>): ChainConfig
}

/** Throws unless `holds`; names the wrong field of a header. */
export type Must = (holds: boolean, field: string, got: unknown, want: string) => void

/** The next block on a parent, by the rules of its fork. */
export interface Child {
  readonly number: number
  /** Unix seconds. */
  readonly timestamp: number | bigint
  readonly fork: ForkName
  readonly config: ChainConfig
  /** Undefined before Cancun. */
  readonly blobs: BlobParameters | undefined
}

/**
 * Rules of headers. `header.ts` owns the list of fields of all families, `blockRules.ts` the rules of proof of stake.
 */
export interface HeaderRules {
  /** Expected seconds between two blocks. */
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
  /** Checks a header's gas limit, base fee, extra data and blob fields against its parent. */
  check(header: Header, parent: Header, child: Child, must: Must): void
}

/** How a part is verified: executed here; covered by a hash or a Merkle proof; or only reported by upstreams. */
export type Basis = 'executed' | 'proved' | 'reported'

/** Parts of a network, each with its own kind of verification. */
export const networkParts = ['headers', 'bodies', 'receipts', 'withdrawals', 'state', 'calls'] as const
export type NetworkPart = (typeof networkParts)[number]

/** Features that an EVM with Ethereum's rules cannot execute correctly: a run that uses one ends. */
export interface UnknownFeatures {
  readonly opcodes: ReadonlySet<number>
  /** Addresses, lower-case hex without 0x. */
  readonly addresses: ReadonlySet<string>
  /** Lower-case hex without 0x. */
  readonly codePrefix?: string
}

export interface FamilyCalls {
  /** The rules of calls without rules of blocks, and the first block time for them; absent: no call runs here. */
  readonly rules?: {
    /** Absent: the forks of the chain's `config`. */
    readonly fork?: 'prague' | 'osaka'
    readonly from: number
  }
  /** Features at which a call ends. */
  readonly unknown: UnknownFeatures
  /** Methods passed to upstreams besides those of unverified parts: their gas or fees differ from Ethereum's. */
  readonly asked: readonly string[]
  /** The family's own reading methods, in the form of `passThrough`. */
  readonly reads: readonly string[]
}

/** Parts of a block that a root of its header covers, and their hashed form. */
export interface FamilyProofs {
  /** Fields of a header after `nonce`, in order, each with its form; absent: Ethereum's. */
  readonly headerFields?: Readonly<Record<string, 'integer' | 'bytes'>>
  /** Members of blocks besides the header, each with the field for the hash of its RLP; zero if it covers none. */
  readonly hashedMembers?: Readonly<Record<string, string>>
  /** A field of headers whose roots of state and receipts belong to earlier blocks. */
  readonly settlingField?: string
  /** The state trie, if it differs from Ethereum's. */
  readonly trieForm?: TrieForm
  /** Text before number and hash in the preimage of the hash of a block's last transaction, which no root covers. */
  readonly unrootedPrefix?: string
  /** Whether the withdrawals root is that of a body's withdrawals; otherwise the body has an empty list. */
  hasWithdrawals(fork: ForkName): boolean
  /** Fields after the logs in the receipt of an unsigned transaction, from its sender's nonce. */
  receiptTail?(nonce: bigint, fork: ForkName): readonly bigint[]
  /** A receipt as in the trie under the receipts root, from its stored form. */
  receiptInTrie?(receipt: Uint8Array, fork: ForkName): Uint8Array
  /** Names of the members that {@link receiptMembers} writes; `decimal` is written as a string. */
  readonly receiptForms?: Readonly<Record<string, 'quantity' | 'decimal'>>
  /**
   * Writes members of receipts that follow from the block alone, starting with a comma; undefined if a block has none.
   */
  receiptMembers?(block: ReceiptBlock): ((json: JsonBytes, transaction: Uint8Array) => void) | undefined
}

/** Gas and tips of a block's transactions, in order. */
export interface PaidBlock {
  readonly header: Header
  readonly gasUsed: readonly number[]
  readonly tips: readonly bigint[]
}

/** Inputs for the members of a block's receipts. */
export interface ReceiptBlock {
  readonly fork: ForkName
  /** The bytes of its first transaction; undefined if there is none. */
  readonly first: Uint8Array | undefined
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

export interface FamilyExecution {
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
  /** First transactions of a block made here. Without it, blocks start empty, and withdrawals pay. */
  openBlock?(block: MadeBlock): Opening
  /** Account whose storage root after the block is the withdrawals root; undefined if it is the root of withdrawals. */
  withdrawalsAccount?(fork: ForkName): Uint8Array | undefined
  readonly precompiles?: FamilyPrecompiles
  /** Whether the family's nodes trace slots as digits without 0x. */
  readonly tracesBareDigits?: boolean
}

export interface FeeBlock {
  readonly fork: ForkName
  readonly baseFee: bigint
}

/** Costs of a transaction besides its gas, in wei. */
export interface TransactionFees {
  /** Wei taken from the sender at the start, whatever the outcome. */
  taken(gasLimit: bigint): bigint
  /** Wei given back to the sender. */
  returned(gasLimit: bigint, gasUsed: bigint): bigint
  /** Credits the receivers of the base fee and of the sender's payments. */
  pay(gasUsed: bigint): void
}

/** Differences from the precompiled contracts of Ethereum's forks. */
export interface FamilyPrecompiles {
  /** First forks of contracts, by their numbers, that Ethereum has only since later forks. */
  readonly since: ReadonlyMap<number, ForkName>
  /** Gas that replaces Ethereum's; undefined if it is the same. */
  gas(number: number, fork: ForkName): bigint | undefined
  /** Longest input; a longer one fails. Undefined for no limit. */
  inputBytesMax(number: number, fork: ForkName): number | undefined
}
