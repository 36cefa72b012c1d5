import { type Address, concatBytes, type Hash32 } from '../../primitives/bytes.js'
import type { Wanted } from '../../primitives/notHeld.js'
import type { OldestKept } from './keptHistory.js'
import type { TransactionLocation } from './locations.js'
import type { ReceiptList } from './packedReceipts.js'
import type { StoredBlock } from './storedBlock.js'
import type { TrieRow } from './trieRow.js'

export type { TransactionLocation } from './locations.js'

/** Identity of a chain; fixed by its genesis. */
export interface ChainIdentity {
  readonly chainId: string
  readonly networkId: string
  readonly genesisHash: string
  /** The `config` member of the geth-format genesis, as JSON text: forks, blob schedule, deposit contract. */
  readonly config: string
  /** Of a development chain, see {@link Development}. */
  readonly development?: Development
  /** Of a chain of which blocks and receipts are held and no state. */
  readonly history?: HistoryExtent
  /** Of a chain whose store begins at a block above its genesis, with the whole state after it. */
  readonly start?: Start
  /** Of a chain of which only parts are held, each proved: everything else may be fetched. */
  readonly gateway?: true
  /** The family of a chain that is not Ethereum's; see chain/families. */
  readonly family?: string
  /** Of a chain whose state trie is not formed as Ethereum's. */
  readonly trieForm?: TrieForm
  /** Of the network that comes with the program, where its own source made the store. */
  readonly embedded?: true
}

/** The identity of a store that was initialized. */
export function requireIdentity(store: Pick<ChainRows, 'readIdentity'>): ChainIdentity {
  const identity = store.readIdentity()
  if (identity === undefined) throw new Error('the store has no genesis')
  return identity
}

/** How a state trie that is not Ethereum's is formed. */
export interface TrieForm {
  /** Items in an account, the first four as Ethereum's. */
  readonly accountItems: number
  /** Bits of a slot's first byte that count before it is hashed. */
  readonly slotMask: number
}

/** What of a slot is hashed for its place in a trie of this form. */
export function slotInTrie(slot: Uint8Array, form: TrieForm | undefined): Uint8Array {
  if (form === undefined) return slot
  const key = Uint8Array.from(slot)
  key[0] = (key[0] as number) & form.slotMask
  return key
}

/** What the store of a kind of network holds. Who needs a part asks for it, and not for the kind. */
export interface StoreKind {
  readonly name: 'archive' | 'history' | 'gateway'
  /** `proved`: blocks are held as far as they were asked for, each part proved; any other may be fetched. */
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

/** The block at which a store begins. Below it there are the headers alone that BLOCKHASH may ask for. */
export interface Start {
  readonly number: number
  /** Lower-case hex. */
  readonly hash: string
  /** Time of the genesis block, in seconds: forks up to then are no forks (EIP-2124). */
  readonly genesisTime: number
}

/** Blocks before one that BLOCKHASH reaches (yellow paper, appendix H), and whose headers a store has below its start. */
export const ancestorsMax = 256

/** Number of the first block of a store, with its state where it holds any: 0 where it begins at the genesis. */
export function firstNumberOf({ start, history }: ChainIdentity): number {
  return start?.number ?? history?.first ?? 0
}

/** Number of the first header of a store; see {@link Start}. */
export function firstHeaderOf(identity: ChainIdentity): number {
  const first = firstNumberOf(identity)
  return identity.start === undefined ? first : Math.max(0, first - ancestorsMax)
}

/**
 * A chain that anvil made. Its genesis header has the root of an empty state, though there are accounts; and a header
 * need not follow from its parent's (base fee, gas limit, timestamp), because callers set these at will. Blocks are
 * executed and compared as on any chain.
 */
export interface Development {
  /** The real root of the genesis state, hex; of a gateway, which does not know it, that of the header. */
  readonly stateRoot: string
}

/** What a store without state holds of its chain. */
export interface HistoryExtent {
  /** Number of its first block, which begins an epoch. */
  readonly first: number
  readonly hasReceipts: boolean
}

/** Blocks that came in one archive and were compared with its accumulator. */
export interface Epoch {
  /** Blocks in it, from the first of the epoch on. */
  readonly count: number
  /** Root of their header records; undefined for blocks after the Merge, which have none. */
  readonly accumulator: Hash32 | undefined
  /** Whether the accumulator was in the list of trusted ones. */
  readonly isTrusted: boolean
}

/** A canonical block. */
export interface BlockName {
  readonly number: number
  readonly hash: Hash32
}

/** How what an upstream says is known: roots cover it, it alone says so, or as many say so as the quorum is. */
export type Faith = 'proved' | 'none' | 'quorum'

/** A block, or the list of its receipts, as an upstream has it; its members that roots or hashes cover were compared. */
export interface ToldJson {
  readonly faith: Faith
  /** UTF-8; a block with full transactions. */
  readonly json: Uint8Array
}
export type ToldPart = 'block' | 'receipts'

/** Blocks that a source may mark besides the head. */
export type Marker = 'safe' | 'finalized'

/**
 * The rows of one chain: the interface between what is served and where it is stored. Every read is synchronous. It
 * returns the row, or undefined where there is none; for a row that may exist but is not held here it throws
 * {@link NotHeldError} (primitives), so that others can fetch it.
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
   * Whether {@link readHead} has this hash. `isAfterRead`: a row was read in this turn of the event loop; what was found
   * in the same snapshot is then not looked for again.
   */
  isHead(hash: Uint8Array, isAfterRead?: boolean): boolean
  /**
   * Whether it had this hash when it was looked for last, so that {@link isHead} may be asked after a read. Absent where a
   * row of another block may not be held.
   */
  mayBeHead?(hash: Uint8Array): boolean
  /** From which blocks on there is state, and there are receipts and bodies; absent where nothing is ever removed. */
  readOldestKept?(): OldestKept
  /** Undefined where the source never marked one. */
  readMarker(marker: Marker): BlockName | undefined
  readCanonicalHash(number: number): Hash32 | undefined
  /** Told of every block that a caller names by its number; absent where all numbers are certain. */
  noteNumber?(number: number): void
  /** Whether the canonical block of this number has this hash; `isAfterRead` as for {@link isHead}. */
  isCanonical(number: number, hash: Uint8Array, isAfterRead?: boolean): boolean
  /** RLP. */
  readHeader(hash: Hash32): Uint8Array | undefined
  /**
   * A block without its body, canonical or not. Passing its `number`, if known, saves a read. Its bytes share memory
   * with other rows: copy them to keep them. `isView`: the next read may overwrite them.
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
  /** As {@link readReceipts}, for whoever needs few of them. */
  readReceiptList(hash: Hash32): ReceiptList | undefined
  /**
   * RLP of the block access list (EIP-7928), of a block whose header has the hash of one. Undefined for a block that was
   * never executed, and where blocks came from archives without lists.
   */
  readBlockAccessList(hash: Hash32): Uint8Array | undefined
  /**
   * The JSON of a block of another family, which has members that are in no row; undefined where all are. Absent where all
   * blocks are Ethereum's.
   */
  readTold?(hash: Hash32, part: ToldPart): ToldJson | undefined
  /** Location of a transaction of the canonical chain. */
  readLocation(transactionHash: Hash32): TransactionLocation | undefined
  /** Shortest big-endian bytes. */
  readTotalDifficulty(hash: Hash32): Uint8Array | undefined
  /**
   * A trie node's RLP, where nodes are kept by their hashes. Undefined only where it cannot be fetched either, since a
   * reference to a node means that it exists.
   */
  readNode(hash: Uint8Array): Uint8Array | undefined
  /**
   * Row of a trie (`trieKey` of trieRows.ts) after the canonical block `number`, or without it after the head. Absent, as
   * the next two, where nodes are kept by their hashes.
   */
  readTrieRow?(key: Uint8Array, number?: number): TrieRow | undefined
  /** What a block that is no longer canonical made of it: null for none, undefined where it did not change it. */
  readSideTrieRow?(block: BlockName, key: Uint8Array): TrieRow | null | undefined
  /** Throws FaultError where the tries after canonical block `number` were removed. */
  requireTries?(number: number): void
  /** Where its tries are not formed as Ethereum's. */
  readonly trieForm?: TrieForm | undefined
  readCode(hash: Hash32): Uint8Array | undefined
  /** Whether code is held, or an account is known of which it can be fetched; absent where all code is held. */
  knowsCode?(hash: Hash32): boolean
  /** Account at the head, RLP. */
  readAccount(address: Address): Uint8Array | undefined
  /** Value at the head without leading zeros; undefined for zero. */
  readSlot(address: Address, slot: Hash32): Uint8Array | undefined
  /** Whether rows may have to be fetched: any read may throw NotHeldError. */
  readonly mayLack?: boolean
  /** Remembers for a while that nobody knows a block, or a transaction; absent, as the next, where all rows are held. */
  noteAbsent?(wanted: Wanted): void
  /** How the least proved of what was read since the last call of this is known: a number, or a part of a block. */
  readFaith?(): Faith
  /**
   * Whether the index of logs has block `number`, and up to which block the same is true; absent where it has all. Of
   * blocks that it does not have, the blooms of headers say which may have logs.
   */
  logIndexAt?(number: number): { readonly isIndexed: boolean; readonly last: number }
  /**
   * Numbers of canonical blocks that have a log with this key (`logKeys.ts`), ascending, from `from` on: those of one
   * row of the index; empty where there are no more.
   */
  readLogChunk(key: Uint8Array, from: number): readonly number[]
  /** Account after canonical block `number`. */
  readAccountAt(address: Address, number: number): Uint8Array | undefined
  /**
   * Numbers of canonical blocks that changed an account (also one of its slots), at most `limit`: ascending from
   * `from` on, or descending from it where `isBackward`.
   */
  readAccountChanges(address: Address, from: number, isBackward: boolean, limit: number): readonly number[]
  /** Value after canonical block `number`. */
  readSlotAt(address: Address, slot: Hash32, number: number): Uint8Array | undefined
  /** Each non-zero slot of an account at the head. */
  slotsOf(address: Address): Iterable<readonly [Hash32, Uint8Array]>
  /** Each non-zero slot of an account after canonical block `number`. */
  slotsOfAt(address: Address, number: number): Iterable<readonly [Hash32, Uint8Array]>
}

/** Where a light client of the consensus layer goes on after a start. */
export interface SignedCheckpoint {
  /** Root of a beacon block that is final, 32 bytes. */
  readonly root: Uint8Array
  readonly slot: number
  /** Root of the checkpoint that the operator named, from which it follows. */
  readonly anchor: Uint8Array
}

const faiths: readonly Faith[] = ['proved', 'none', 'quorum']

export function toldKey(hash: Hash32, part: ToldPart): Uint8Array {
  return concatBytes(hash, Uint8Array.of(part === 'block' ? 0 : 1))
}

/** The row of table `told`. */
export function toldRow({ faith, json }: ToldJson): Uint8Array {
  return concatBytes(Uint8Array.of(faiths.indexOf(faith)), json)
}

export function readToldRow(row: Uint8Array): ToldJson {
  return { faith: faiths[row[0] as number] as Faith, json: row.subarray(1) }
}
