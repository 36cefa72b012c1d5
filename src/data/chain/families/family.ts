/**
 * The differences between families of chains: one object for each. A chain's schedule of forks has the object
 * (`ForkSchedule.family`): by the family that the store names, otherwise by the genesis `config`. Rules of execution
 * are also found by any fork (`forkRules`), because no two executed families share one. All other code uses the object,
 * and no code outside this folder knows the list of families.
 *
 * An executed family is a folder here, and a line in `families.ts`; its forks are a line in `forkNames.ts`. A family
 * that is only proved is a spread of another family with its own differences, in `provedFamilies.ts`.
 */
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import type { TransactionTypes } from '../../../primitives/transactionTypes.js'
import type { TrieForm } from '../../store/chainRows.js'
import type { ExecutionRules, UnknownFeatures } from '../executionRules.js'
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
  /** Verification of each part by a gateway. */
  readonly parts: Readonly<Record<NetworkPart, Basis>>
  /** Parts that only some blocks prove: a root that does not match is no error; the part is then unverified. */
  readonly reportable: readonly NetworkPart[]
  /** Which calls a gateway runs itself, and which methods it passes on. */
  readonly calls: FamilyCalls
  /** A chain whose forks are known here by its chain id. */
  knownChain?(chainId: bigint): KnownChain | undefined
  /** Suggested tip, in wei per gas, for a head; undefined if it is as on Ethereum. */
  suggestTip?(head: PaidBlock): bigint
  /** Undefined if its blocks cannot be executed here. */
  readonly execution?: ExecutionRules
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

/** Verification of a part: executed here; covered by a hash or a Merkle proof; or only reported by upstreams. */
export type Basis = 'executed' | 'proved' | 'reported'

/** Parts of a network, each with its own kind of verification. */
export const networkParts = ['headers', 'bodies', 'receipts', 'withdrawals', 'state', 'calls'] as const
export type NetworkPart = (typeof networkParts)[number]

export interface FamilyCalls {
  /** The rules of calls without rules of blocks, and the first block time for them; if absent, no call runs here. */
  readonly rules?: {
    /** Fork of these rules; if absent, the forks of the chain's `config`. */
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
  /** Fields of a header after `nonce`, in order, each with its form; if absent, Ethereum's. */
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
