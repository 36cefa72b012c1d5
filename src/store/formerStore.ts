/**
 * The store of an archive as versions 3 and 4 left it, for who makes a new one of it. Nothing is written. What is of state
 * is in formerState.ts; the tries, which nobody needs, are left aside.
 */
import type { RootDatabase } from 'lmdb'
import { unpack } from 'msgpackr'
import type { Hash32 } from '../primitives/bytes.js'
import { OperatorError } from '../primitives/faults.js'
import type { BlockDiff, Change } from './blockDiff.js'
import { type BlockName, type ChainIdentity, kindOf, type SignedCheckpoint } from './chainRows.js'
import type { SideBlock } from './chainWriter.js'
import { closeEnvironment, openEnvironment, openTable } from './environment.js'
import { DatedState, type FormerState, ListedState } from './formerState.js'
import { decodeOldestKept, historyKinds } from './keptHistory.js'
import { unpackList } from './packedLists.js'
import { unpackReceipts } from './packedReceipts.js'
import type { ReadTable } from './readTable.js'
import { readBlockName, readCheckpoint } from './stateRowsReader.js'
import { StoredBlock } from './storedBlock.js'
import { metaKeys, numberKey } from './tables.js'

/** The first version with rows of state as they are today. */
const schemaOfDatedRows = 4
const formerSchemas: readonly unknown[] = [3, schemaOfDatedRows]

const blockTables = ['meta', 'blocks', 'sideBlocks', 'bodies', 'receipts', 'code'] as const
type Tables<N extends string> = { readonly [name in N]: ReadTable }
type FormerTables = Tables<(typeof blockTables)[number]>

/** A block with what it changed, as far as it does not follow from the rest. */
export type FormerBlock = Omit<BlockDiff, 'number' | 'parentHash' | 'trie' | 'code'> & {
  /** The accounts before it, in the order of `accounts`; empty where there was none. */
  readonly accountsBefore: readonly Change[]
}

export class FormerStore {
  readonly #environment: RootDatabase
  readonly #tables: FormerTables
  readonly #accessLists: ReadTable | undefined
  readonly #state: FormerState
  readonly #unpackReceipts: (row: Uint8Array) => Uint8Array

  private constructor(
    environment: RootDatabase,
    tables: FormerTables,
    accessLists: ReadTable | undefined,
    state: FormerState,
  ) {
    this.#environment = environment
    this.#tables = tables
    this.#accessLists = accessLists
    this.#state = state
    this.#unpackReceipts = state instanceof ListedState ? (row) => row : (row) => unpackReceipts(row)
  }

  /** Throws OperatorError for a store that is not an archive's of these versions, or does not have all blocks and states. */
  static open(path: string, mapBytes: number): FormerStore {
    const environment = openEnvironment({ path, mapBytes, readOnly: true })
    try {
      const meta = openTable(environment, 'meta')
      const { schema, ...identity } = identityIn(meta)
      if (meta === undefined || !formerSchemas.includes(schema) || kindOf(identity) !== 'archive')
        throw new OperatorError(
          `the store ${path} is none of an archive of version ${formerSchemas.join(' or ')}`,
        )
      const oldest = decodeOldestKept(meta.getBinary(metaKeys.oldestKept))
      if (historyKinds.some((kind) => oldest[kind] > 0)) {
        throw new OperatorError(
          `the store ${path} lacks the past that its states follow from, so it cannot be brought up to date; ` +
            'import the chain again into an empty folder, with "tidegate import"',
        )
      }
      const state =
        schema === schemaOfDatedRows
          ? new DatedState(openTables(environment, ['accounts', 'slots', 'changes']))
          : new ListedState(openTables(environment, ['accountHistory', 'slotHistory', 'changes']))
      const tables = openTables(environment, blockTables)
      return new FormerStore(environment, tables, openTable(environment, 'accessLists'), state)
    } catch (error) {
      void environment.close()
      throw error
    }
  }

  close(): Promise<void> {
    return closeEnvironment(this.#environment)
  }

  get identity(): ChainIdentity {
    const { schema: _, ...identity } = identityIn(this.#tables.meta)
    return identity
  }

  get head(): BlockName {
    const head = this.readName('head')
    if (head === undefined) throw new Error('a store without a head')
    return head
  }

  readName(name: 'head' | 'safe' | 'finalized'): BlockName | undefined {
    return readBlockName(this.#tables.meta.getBinary(metaKeys[name]))
  }

  readCheckpoint(): SignedCheckpoint | undefined {
    return readCheckpoint(this.#tables.meta)
  }

  readCode(hash: Uint8Array): Uint8Array | undefined {
    return this.#tables.code.getBinary(hash)
  }

  /** Throws OperatorError where a row of the canonical block is missing. */
  readBlock(number: number): FormerBlock {
    const { blocks, bodies, receipts } = this.#tables
    const row = blocks.getBinary(numberKey(number))
    const stored = row && new StoredBlock(row)
    const hash = stored?.hash
    const body = hash && bodies.getBinary(hash)
    const written = hash && receipts.getBinary(hash)
    const replaced = this.#state.readReplacedState(number)
    if (!stored || !hash || !body || !written || !replaced) throw missing(number)
    const { accounts, slots } = replaced
    const list = this.#accessLists?.getBinary(hash)
    const changeOf = ([key]: Change): Change => {
      const value = this.#state.readChangeIn(number, key)
      if (value === undefined) throw missing(number)
      return [key, value]
    }
    return {
      hash,
      header: stored.header,
      body,
      senders: stored.senders,
      totalDifficulty: stored.totalDifficulty,
      receipts: this.#unpackReceipts(written),
      blockAccessList: list && unpackList(list),
      accountsBefore: accounts,
      accounts: accounts.map(changeOf),
      slots: slots.map(changeOf),
    }
  }

  /** Each block that is known and not canonical, as far as its body is held. */
  *sideBlocks(): Generator<Omit<SideBlock, 'number' | 'parentHash'>> {
    for (const { key, value } of this.#tables.sideBlocks.getRange()) {
      const { header, senders, totalDifficulty } = new StoredBlock(Uint8Array.from(value))
      const hash = Uint8Array.from(key) as Uint8Array as Hash32
      const body = this.#tables.bodies.getBinary(hash)
      if (body !== undefined) yield { hash, header, senders, totalDifficulty, body }
    }
  }
}

/** Throws OperatorError where one is missing. */
function openTables<N extends string>(environment: RootDatabase, names: readonly N[]): Tables<N> {
  const tables = names.map((name) => [name, openTable(environment, name)] as const)
  for (const [name, table] of tables)
    if (table === undefined) throw new OperatorError(`the store is damaged: it lacks the table ${name}`)
  return Object.fromEntries(tables) as unknown as Tables<N>
}

function identityIn(meta: ReadTable | undefined): ChainIdentity & { readonly schema: number } {
  const row = meta?.getBinary(metaKeys.identity)
  if (row === undefined) throw new Error('a store without a chain')
  return unpack(row) as ChainIdentity & { readonly schema: number }
}

function missing(number: number): OperatorError {
  return new OperatorError(
    `the store is damaged: block ${number} is not whole; restore a copy, or import the chain again into an empty folder`,
  )
}
