import { type Address, concatBytes, type Hash32 } from '../../primitives/bytes.js'
import type { Wanted } from '../../primitives/notStored.js'
import type { BlockDiff, Change } from './blockDiff.js'
import type { OldestKept } from './keptHistory.js'
import type { TransactionLocation } from './layouts/locations.js'
import type { ReceiptList } from './layouts/packedReceipts.js'
import type { TrieRow } from './layouts/trieRow.js'
import type { StoredBlock } from './storedBlock.js'

export type { TransactionLocation } from './layouts/locations.js'

/** Identity of a chain; fixed by its genesis. */
export interface ChainIdentity {
  readonly chainId: string
  readonly networkId: string
  readonly genesisHash: string
  /** The `config` member of the geth-format genesis, as JSON text: forks, blob schedule, deposit contract. */
  readonly config: string
  /** Only for a development chain, see {@link Development}. */
  readonly development?: Development
  /** Only for a store with blocks and receipts but without state. */
  readonly history?: HistoryExtent
  /** Only for a store that begins at a block above its genesis, with the whole state after it. */
  readonly start?: Start
  /** Only for a developer chain that begins at a block of another chain, which is trusted. */
  readonly fork?: ForkBase
  /** Set for a gateway: the store has only parts of the chain, each proved; everything else may be fetched. */
  readonly gateway?: true
  /** The family of a chain that is not Ethereum's; see chain/families. */
  readonly family?: string
  /** Set if the state trie differs from Ethereum's. */
  readonly trieForm?: TrieForm
  /** Set for the network embedded in the program, if its own source made the store. */
  readonly embedded?: true
}

/** The identity of the store. Throws if it was not initialized. */
export function requireIdentity(store: Pick<ChainRows, 'readIdentity'>): ChainIdentity {
  const identity = store.readIdentity()
  if (identity === undefined) throw new Error('the store has no genesis')
  return identity
}

/** Form of a state trie that differs from Ethereum's. */
export interface TrieForm {
  /** Number of items in an account; the first four are Ethereum's. */
  readonly accountItems: number
  /** Mask of the bits of a slot's first byte that are kept before hashing. */
  readonly slotMask: number
}

/** The bytes of a slot that are hashed for its place in a trie of this form. */
export function slotInTrie(slot: Uint8Array, form: TrieForm | undefined): Uint8Array {
  if (form === undefined) return slot
  const key = Uint8Array.from(slot)
  key[0] = (key[0] as number) & form.slotMask
  return key
}

/** Contents of the store of a kind of network. Callers test the part that they need, not the kind. */
export interface StoreKind {
  readonly name: 'archive' | 'history' | 'gateway'
  /** `proved`: only blocks that were requested are stored, each part proved; any other block may be fetched. */
  readonly blocks: 'whole' | 'proved'
  readonly state: 'whole' | 'proved' | 'none'
  readonly hasReceipts: boolean
}

const archive: StoreKind = { name: 'archive', blocks: 'whole', state: 'whole', hasReceipts: true }
const gatewayStore: StoreKind = { name: 'gateway', blocks: 'proved', state: 'proved', hasReceipts: true }
const histories: readonly StoreKind[] = [false, true].map((hasReceipts) => {
  return { name: 'history', blocks: 'whole', state: 'none', hasReceipts }
})

/** The kind of the store that has this identity. */
export function storeKindOf({ gateway, history }: Pick<ChainIdentity, 'gateway' | 'history'>): StoreKind {
  if (gateway) return gatewayStore
  return history === undefined ? archive : (histories[Number(history.hasReceipts)] as StoreKind)
}

/** The block at which a store begins. Below it the store has only headers, those that BLOCKHASH may need. */
export interface Start {
  readonly number: number
  /** Lower-case hex. */
  readonly hash: string
  /** Time of the genesis block, in seconds: forks up to then are no forks (EIP-2124). */
  readonly genesisTime: number
}

/** The block of another chain on which a developer chain makes its blocks. */
export interface ForkBase {
  readonly number: number
  /** Chain id of the other chain. */
  readonly chainId: string
  /** Lower-case hex. */
  readonly hash: string
  /** All bases that the chain has had, the first one first; if absent, only this one. The store has their headers. */
  readonly bases?: readonly Pick<ForkBase, 'number' | 'hash'>[]
}

/** Number of blocks that BLOCKHASH can return (yellow paper, appendix H); a store has their headers below its start. */
export const ancestorsMax = 256

/** Number of the first whole block of a store; 0 if it begins at the genesis. */
export function firstNumberOf({ start, history }: ChainIdentity): number {
  return start?.number ?? history?.first ?? 0
}

/** Number of the first header of a store; see {@link Start}. */
export function firstHeaderOf(identity: ChainIdentity): number {
  const first = firstNumberOf(identity)
  return identity.start === undefined ? first : Math.max(0, first - ancestorsMax)
}

/**
 * A chain that anvil made. Its genesis header has the root of an empty state, although there are accounts. Callers
 * choose base fee, gas limit and timestamp, so these need not follow from the parent's header. Blocks are executed and
 * compared as on any chain.
 */
export interface Development {
  /** The real root of the genesis state, hex; a gateway does not know it and has the root in the header. */
  readonly stateRoot: string
}

/** Values that callers of a developer chain set for its next block. Later blocks use `clock`, `interval` and `coinbase`, too. */
export interface NextBlock {
  /** A time that was current when a caller moved the clock: no later block is earlier. */
  readonly clock?: number
  readonly timestamp?: number
  /** Seconds from the parent's time, in place of the clock. */
  readonly interval?: number
  /** Hex, as the next three. */
  readonly baseFeePerGas?: string
  readonly prevRandao?: string
  readonly gasLimit?: string
  readonly coinbase?: string
}

/** Row of a developer chain with the changes and settings of its callers. */
export interface ByHand {
  /** Differs after each change. */
  readonly revision: number
  /** Number of changes in the store that no other client can verify. */
  readonly changes: number
  readonly next?: NextBlock
  /** Whether the store has a block of the waiting transactions. It is valid on its parent, until the next change. */
  readonly hasPending?: boolean
}

/** The block of waiting transactions that a developer chain could make now. */
export interface PendingBlock {
  /** The revision of {@link ByHand} for which the block was made. */
  readonly revision: number
  readonly block: BlockDiff
}

/** Rows of state and tries; an empty value removes one. In key order. */
export interface StateRows {
  readonly accounts: readonly Change[]
  readonly slots: readonly Change[]
  readonly trie: readonly Change[]
}

/** A change, with the rows that it replaced. */
export interface ChangeByHand extends StateRows {
  /** The method and its parameters, shortened. */
  readonly what: string
  /** Root of the state after the change, 32 bytes. */
  readonly stateRoot: Uint8Array
  /** The block after which the state was changed. */
  readonly number: number
}

/** Extent of a store without state. */
export interface HistoryExtent {
  /** Number of its first block, which begins an epoch. */
  readonly first: number
  readonly hasReceipts: boolean
}

/** An epoch of blocks that came in one archive; they were compared with its accumulator. */
export interface Epoch {
  /** Number of its blocks, counted from the first of the epoch. */
  readonly count: number
  /** Root of the blocks' header records; undefined for blocks after the Merge, which have none. */
  readonly accumulator: Hash32 | undefined
  /** Whether the accumulator is in the list of trusted ones. */
  readonly isTrusted: boolean
}

/** A stored answer about a canonical block. */
export interface ReadyAnswer {
  readonly number: number
  readonly json: Uint8Array
}

/** A canonical block. */
export interface BlockName {
  readonly number: number
  readonly hash: Hash32
}

/**
 * How an upstream's answer is verified: by roots, not at all (one upstream reports it), or by a quorum of upstreams.
 */
export type Evidence = 'proved' | 'none' | 'quorum'

/**
 * A block, or the list of its receipts, as an upstream reports it. Members that roots or hashes cover were compared.
 */
export interface ReportedJson {
  readonly evidence: Evidence
  /** UTF-8; a block with full transactions. */
  readonly json: Uint8Array
}
export type ReportedPart = 'block' | 'receipts'

/** Blocks that a source may name besides the head. */
export type Marker = 'safe' | 'finalized'

/**
 * The rows of one chain: the interface between serving and storage. Every read is synchronous. It returns the row, or
 * undefined if there is none. For a row that may exist but is not stored here it throws {@link NotStoredError}
 * (primitives), so that the caller can fetch it.
 *
 * Rows named by a hash never change. All others are from one snapshot until {@link refresh}.
 */
export interface ChainRows {
  /** Undefined before there is a genesis. */
  readIdentity(): ChainIdentity | undefined
  /** Begins a new snapshot, which includes later writes. */
  refresh(): void
  readHead(): BlockName | undefined
  /**
   * Whether {@link readHead} has this hash. `isAfterRead`: a row was read in this turn of the event loop, so the answer
   * for that snapshot can be reused.
   */
  isHead(hash: Uint8Array, isAfterRead?: boolean): boolean
  /**
   * Whether the head had this hash at the last check; then {@link isHead} may be called after a read. Absent if rows of
   * other blocks may be missing.
   */
  mayBeHead?(hash: Uint8Array): boolean
  /** The oldest blocks with state, receipts and bodies; absent if nothing is ever removed. */
  readOldestKept?(): OldestKept
  /** Undefined if the source never named one. */
  readMarker(marker: Marker): BlockName | undefined
  readCanonicalHash(number: number): Hash32 | undefined
  /** Notes that a caller named a block by this number; absent if all numbers are certain. */
  noteNumber?(number: number): void
  /** Whether the canonical block of this number has this hash; `isAfterRead` as for {@link isHead}. */
  isCanonical(number: number, hash: Uint8Array, isAfterRead?: boolean): boolean
  /** RLP of the header. */
  readHeader(hash: Hash32): Uint8Array | undefined
  /**
   * A block without its body, canonical or not. Passing its `number`, if known, saves a read. Its bytes share memory
   * with other rows: copy them to keep them. If `isView`, the next read may overwrite them.
   */
  readBlock(hash: Hash32, number?: number, isView?: boolean): StoredBlock | undefined
  /**
   * RLP list: transactions, uncles and, since Shanghai, withdrawals. `isView`: the next read may overwrite its bytes.
   */
  readBody(hash: Hash32, isView?: boolean): Uint8Array | undefined
  /**
   * RLP list of receipts in consensus encoding. Undefined also for a block that was never executed. With `lacksBlooms`
   * their blooms may be zeros, which takes less time.
   */
  readReceipts(hash: Hash32, lacksBlooms?: boolean): Uint8Array | undefined
  /** Like {@link readReceipts}, but for callers that need few of them. */
  readReceiptList(hash: Hash32): ReceiptList | undefined
  /**
   * RLP of the block access list (EIP-7928) of a block whose header has its hash. Undefined for a block that was never
   * executed, or that came from an archive without lists.
   */
  readBlockAccessList(hash: Hash32): Uint8Array | undefined
  /**
   * The JSON of a block of another family, whose members no row has; undefined if rows have them all. Absent if all
   * blocks are Ethereum's.
   */
  readReported?(hash: Hash32, part: ReportedPart): ReportedJson | undefined
  /** The blocks with ready answers; this and the next three are absent if no answers are stored. */
  readReadyRange?(): { readonly first: number; readonly last: number }
  /** Number of the canonical block with this hash. */
  readNumber?(hash: Hash32): number | undefined
  /**
   * JSON of canonical block `number` with hashes, if it is stored, and has this hash if one is given. The next read may
   * overwrite its bytes.
   */
  readReadyBlock?(number: number, hash?: Hash32): Uint8Array | undefined
  /** The stored answer about a transaction or its receipt, in block `from` or a later one. */
  readReadyOf?(part: 'transaction' | 'receipt', hash: Hash32, from: number): ReadyAnswer | undefined
  /** Location of a transaction of the canonical chain. */
  readLocation(transactionHash: Hash32): TransactionLocation | undefined
  /** Shortest big-endian bytes. */
  readTotalDifficulty(hash: Hash32): Uint8Array | undefined
  /**
   * A trie node's RLP, for stores that keep nodes by hash. A reference to a node proves that it exists, so undefined
   * means that it cannot be fetched either.
   */
  readNode(hash: Uint8Array): Uint8Array | undefined
  /**
   * Row of a trie (`trieKey` of trieRows.ts) after canonical block `number`, or at the head without it. This and the
   * next two are absent if nodes are kept by hash.
   */
  readTrieRow?(key: Uint8Array, number?: number): TrieRow | undefined
  /** The row that an unwound block wrote. Null if the block removed the row, undefined if it did not change the row. */
  readSideTrieRow?(block: BlockName, key: Uint8Array): TrieRow | null | undefined
  /** Undefined if no caller has set anything; absent, as the next two, if no block is made here. */
  readByHand?(): ByHand | undefined
  /** Undefined if no transaction waits for the block after the head. */
  readPending?(): PendingBlock | undefined
  /** Changes of the state that callers made, in order of their blocks. */
  changesByHand?(): Iterable<ChangeByHand>
  /** Number of the last block of the run of empty blocks (emptyRuns.ts) that has this one; undefined for any other block. */
  lastOfRun?(number: number): number | undefined
  /** The head that was left when the run of empty blocks below this block was unwound; undefined for any other block. */
  belowRun?(hash: Hash32): BlockName | undefined
  /** Root of the state after a block that a caller changed; undefined for all others, whose header has it. */
  readRootByHand?(hash: Uint8Array): Hash32 | undefined
  /** Throws FaultError if the tries after canonical block `number` were removed. */
  requireTries?(number: number): void
  /** Set if the tries differ from Ethereum's. */
  readonly trieForm?: TrieForm | undefined
  readCode(hash: Hash32): Uint8Array | undefined
  /** Whether code is stored, or can be fetched from a known account; absent if all code is stored. */
  knowsCode?(hash: Hash32): boolean
  /** Account at the head, RLP. */
  readAccount(address: Address): Uint8Array | undefined
  /** Value at the head without leading zeros; undefined for zero. */
  readSlot(address: Address, slot: Hash32): Uint8Array | undefined
  /** Whether rows may have to be fetched, so that any read may throw NotStoredError. */
  readonly mayLack?: boolean
  /**
   * Remembers for a while that no upstream knows a block or a transaction. This and the next are absent if all rows are
   * stored.
   */
  noteAbsent?(wanted: Wanted): void
  /** The weakest {@link Faith} of all numbers and block parts that were read since the last call. */
  readEvidence?(): Evidence
  /**
   * Whether the log index has block `number`, and up to which block the same is true; absent if it has all blocks. For
   * blocks outside the index, the blooms of headers say which may have logs.
   */
  logIndexAt?(number: number): { readonly isIndexed: boolean; readonly last: number }
  /**
   * Ascending numbers, from `from` on, of canonical blocks that have a log with this key (`logKeys.ts`). Returns those
   * of one index row; empty if there are no more.
   */
  readLogChunk(key: Uint8Array, from: number): readonly number[]
  /** Account after canonical block `number`. */
  readAccountAt(address: Address, number: number): Uint8Array | undefined
  /**
   * Numbers of canonical blocks that changed an account or one of its slots, at most `limit`. They ascend from `from`
   * on, or descend from it with `isBackward`.
   */
  readAccountChanges(address: Address, from: number, isBackward: boolean, limit: number): readonly number[]
  /** Value after canonical block `number`. */
  readSlotAt(address: Address, slot: Hash32, number: number): Uint8Array | undefined
  /** Each non-zero slot of an account at the head. */
  slotsOf(address: Address): Iterable<readonly [Hash32, Uint8Array]>
  /** Each non-zero slot of an account after canonical block `number`. */
  slotsOfAt(address: Address, number: number): Iterable<readonly [Hash32, Uint8Array]>
}

/** Point at which a light client of the consensus layer resumes after a restart. */
export interface SignedCheckpoint {
  /** Root of a finalized beacon block, 32 bytes. */
  readonly root: Uint8Array
  readonly slot: number
  /** Root of the operator's checkpoint from which it was verified. */
  readonly anchor: Uint8Array
}

const evidences: readonly Evidence[] = ['proved', 'none', 'quorum']

export function reportedKey(hash: Hash32, part: ReportedPart): Uint8Array {
  return concatBytes(hash, Uint8Array.of(part === 'block' ? 0 : 1))
}

/** The row of table `reported`. */
export function reportedRow({ evidence, json }: ReportedJson): Uint8Array {
  return concatBytes(Uint8Array.of(evidences.indexOf(evidence)), json)
}

export function readReportedRow(row: Uint8Array): ReportedJson {
  return { evidence: evidences[row[0] as number] as Evidence, json: row.subarray(1) }
}
