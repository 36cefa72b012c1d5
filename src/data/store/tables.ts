/**
 * Every table of a network's store: key layout → value. All integers in keys are 8 big-endian bytes, so that byte order
 * is number order. A name is never reused for another meaning; a changed layout raises {@link schemaVersion}.
 */
import type { RootDatabase } from 'lmdb'
import { type Address, concatBytes, type Hash32, writeUint64 } from '../../primitives/bytes.js'
import { openTable, type Table } from './lmdb/environment.js'
import type { ReadTable } from './readTable.js'

/** Raised with every change of a layout below; a store of another version is refused. */
export const schemaVersion = 6

/**
 * Number of blocks that can be unwound: the deepest configurable reorganisation, and the farthest revert of a
 * development chain.
 */
export const undoBlocks = 8_192

const tableNames = {
  /** block number → the canonical block without its body, in the layout of storedBlock.ts. */
  blocks: 'blocks',
  /** hash of a canonical block → its number. */
  numbers: 'numbers',
  /** block hash → the same as in `blocks`, for a known block that is not canonical. */
  sideBlocks: 'sideBlocks',
  /** block hash → body, RLP list of transactions, uncles and, since Shanghai, withdrawals. Canonical or not. */
  bodies: 'bodies',
  /** block hash → receipts in the layout of packedReceipts.ts. Executed blocks only. */
  receipts: 'receipts',
  /**
   * block hash → block access list (EIP-7928), RLP in Brotli (packedLists.ts). Executed canonical blocks from Amsterdam
   * on. Older stores of this version lack the table until their next writer makes it.
   */
  accessLists: 'accessLists',
  /** beginning of a transaction's hash → its place in the canonical chain (locations.ts). */
  locations: 'locations',
  /** address → number of a contract that has rows in `slots` or `trie`, and number → address (contractIds.ts). */
  contracts: 'contracts',
  /**
   * owner ‖ path → row of a trie at the head and before; with a block number after the key, the row before that block
   * (trieRows.ts). In the file an owner is the number of a contract, or 0 for the trie of accounts (contractRows.ts).
   */
  trie: 'trie',
  /** block number → keys of the rows of `trie` that the canonical block changed. */
  trieChanges: 'trieChanges',
  /** block number ‖ hash ‖ owner ‖ path → row of a trie after a block that was unwound. */
  sideTries: 'sideTries',
  /** node hash → proved trie node (RLP); gateways only. */
  nodes: 'nodes',
  /** code hash → code. */
  code: 'code',
  /**
   * address → account at the head and before, with blocks (stateValues.ts, slimAccounts.ts). Rows of its history follow
   * it in the same table of the file, so that changing both writes one page.
   */
  accounts: 'accounts',
  /**
   * address ‖ slot → value at the head and before, with blocks, without leading zeros. Zero slots are absent. In the
   * file the number of the contract replaces its address (contractRows.ts).
   */
  slots: 'slots',
  /**
   * address ‖ block number → the row of `accounts` before this block, which removed it or had no room for its values.
   */
  accountHistory: 'accounts',
  /**
   * address ‖ slot ‖ block number → the row of `slots` before this block, which removed it or had no room for its
   * values.
   */
  slotHistory: 'slots',
  /**
   * block number → accounts and slots that the canonical block changed, for unwinding it and for removing the values
   * that it replaced (undoRecord.ts). If all state is kept, for the newest {@link undoBlocks} blocks; otherwise for all
   * blocks with state.
   */
  changes: 'changes',
  /**
   * log key → the newest canonical blocks that have a log with it; log key ‖ block number → earlier ones, up to that
   * block. Keys are made in logKeys.ts, values in logIndex.ts.
   */
  logs: 'logs',
  /**
   * key → proved value, and the blocks after which it holds (storedValueRows.ts). Gateways only. Older stores of this version
   * lack the table until their next writer makes it.
   */
  values: 'held',
  /**
   * block hash ‖ 0 for the block, 1 for its receipts → verification (1 byte) ‖ JSON in the upstream's form.
   * Verification is 0 if roots cover the row, 1 if one upstream reported it, 2 if a quorum did. Gateways to chains of
   * other families only. Older stores lack it, as for `held`.
   */
  reported: 'reported',
  /**
   * part ‖ block number ‖ index → JSON of a block, a transaction or a receipt (readyRows.ts). The newest canonical blocks
   * only. Older stores lack it, as for `held`; readers then find no rows.
   */
  ready: 'ready',
  /** text → value: see {@link metaKeys}. */
  meta: 'meta',
} as const

export type TableName = keyof typeof tableNames
export type ChainTables = { readonly [name in TableName]: Table }
/** The tables for readers. */
export type ReadTables = { readonly [name in TableName]: ReadTable }

/** Tables whose keys in the file contain numbers of contracts. */
export type ContractTableName = 'slots' | 'slotHistory' | 'trie'

/** Keys of the `meta` table. */
export const metaKeys = {
  /** msgpack {@link ChainIdentity} of this store's chain, with the schema version. */
  identity: Buffer.from('identity'),
  /** number (8 bytes) ‖ hash of the newest canonical block. */
  head: Buffer.from('head'),
  /** Number and hash of the blocks that the source reported as safe and finalized; absent if it reported none. */
  safe: Buffer.from('safe'),
  finalized: Buffer.from('finalized'),
  /** numbers (8 bytes each) of the oldest blocks with stored state, receipts and bodies; absent if all are stored. */
  oldestKept: Buffer.from('oldestKept'),
  /** Digests (rowDigest.ts) of all rows of accounts, and of slots, the latest ones and those of history. */
  stateDigests: Buffer.from('stateDigests'),
  /** Progress of the removal of old state (keptHistory.ts); present only while it runs. */
  stateWalk: Buffer.from('stateWalk'),
  /** msgpack {@link Epoch}: a whole epoch of blocks from an archive. */
  epoch: (epoch: number) => concatBytes(Buffer.from('epoch'), numberKey(epoch)),
  /** hash of a block ‖ address of an account that has the code with this hash after that block; gateways only. */
  codeOwner: (codeHash: Uint8Array) => concatBytes(Buffer.from('codeOwner'), codeHash),
  /** number (8 bytes) of the block down to which the chain of headers has no gaps; gateways only. */
  linkedFrom: Buffer.from('linkedFrom'),
  /** the blocks from which on rows in table `held` are valid (storedValueRows.ts); gateways only. */
  valueBounds: Buffer.from('held'),
  /** first and last number (8 bytes each) of each range of blocks whose logs are in the index; gateways only. */
  logRanges: Buffer.from('logRanges'),
  /** slot (8 bytes) ‖ root ‖ anchor from which a light client continues; only if a light client determines the head. */
  checkpoint: Buffer.from('checkpoint'),
  /** msgpack {@link ByHand}; only developer chains on which a caller has set something. */
  byHand: Buffer.from('byHand'),
  /** msgpack {@link BlockDiff}: the block that could be made now of the waiting transactions; developer chains only. */
  pendingBlock: Buffer.from('pendingBlock'),
  /** block ‖ index of a change to the state after it that a caller made → msgpack {@link ChangeByHand}. */
  changesByHand: Buffer.from('changeByHand'),
  /** The blocks that have rows in table `ready` (readyRows.ts); absent if none has. */
  ready: Buffer.from('ready'),
  /** hash of a block → state root after it with these changes. */
  rootByHand: (hash: Uint8Array) => concatBytes(Buffer.from('rootByHand'), hash),
  /**
   * ‖ address, or address ‖ slot → nothing: the keys that own blocks or callers have changed. Only forks of developer
   * chains have these rows.
   */
  changedHere: Buffer.from('changedHere:'),
  /** Runs of empty blocks, and the hashes of their blocks (emptyRuns.ts); developer chains only. */
  emptyRun: Buffer.from('emptyRun:'),
  emptyRunHashes: Buffer.from('emptyRunHashes:'),
  belowRun: (hash: Uint8Array) => concatBytes(Buffer.from('belowRun'), hash),
} as const

/** Opens all tables; undefined for a reader if no writer has made them yet. */
export function openChainTables(environment: RootDatabase): ChainTables | undefined {
  const tables: Partial<Record<TableName, ReadTable>> = {}
  for (const name of Object.keys(tableNames) as TableName[]) {
    const table = openTable(environment, tableNames[name]) ?? (name === 'ready' ? emptyTable : undefined)
    if (table === undefined) return undefined
    tables[name] = table
  }
  return tables as ChainTables
}

/** An empty table, for a reader of a store whose writer did not make the table. */
const emptyTable: ReadTable = {
  getBinary: () => undefined,
  getBrief: () => undefined,
  viewUntilNextRead: () => undefined,
  doesExist: () => false,
  getRange: () => [],
  getCount: () => 0,
}

/**
 * Opens the tables for the writer, and makes missing ones. All are made in one transaction, in 2 ms; one by one they
 * took 8 ms each.
 */
export function makeChainTables(environment: RootDatabase): ChainTables {
  const tables = environment.transactionSync(() => openChainTables(environment))
  if (tables === undefined) throw new Error('a writer could not make its tables')
  return tables
}

export function numberKey(number: number): Uint8Array {
  const key = new Uint8Array(8)
  writeUint64(key, number, 0)
  return key
}

/** `address ‖ slot`, the key of a slot and the prefix of its history. */
export function slotKey(address: Address, slot: Hash32): Uint8Array {
  const key = new Uint8Array(52)
  key.set(address)
  key.set(slot, 20)
  return key
}

/** `prefix ‖ block number`: with an address or {@link slotKey} before it, the key of one change in history. */
export function historyKey(prefix: Uint8Array, number: number): Uint8Array {
  const key = new Uint8Array(prefix.length + 8)
  key.set(prefix)
  writeUint64(key, number, prefix.length)
  return key
}

/** Longer than any key. */
export const keyBytesMax = 128
const lastKey = new Uint8Array(keyBytesMax).fill(0xff)

/** The first key after all keys that begin with `prefix`. */
export function keyAfterPrefix(prefix: Uint8Array): Uint8Array {
  const key = Uint8Array.from(prefix)
  for (let i = key.length - 1; i >= 0; i--) {
    if (key[i] !== 0xff) {
      key[i] = (key[i] as number) + 1
      return key.subarray(0, i + 1)
    }
  }
  return lastKey
}
