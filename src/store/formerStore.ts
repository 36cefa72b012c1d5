/**
 * The store of an archive as version 3 left it, for who makes a new one of it. In it `accountHistory` and `slotHistory`
 * have every change, key ‖ block number → value after that block, and `changes` has the replaced values of every block,
 * block number → msgpack. Nothing is written.
 */
import type { RootDatabase } from 'lmdb'
import { unpack } from 'msgpackr'
import type { Hash32 } from '../primitives/bytes.js'
import { OperatorError } from '../primitives/faults.js'
import type { BlockDiff, Change, ReplacedState } from './blockDiff.js'
import { type BlockName, type ChainIdentity, kindOf, type SignedCheckpoint } from './chainRows.js'
import type { SideBlock } from './chainWriter.js'
import { closeEnvironment, openEnvironment, openTable } from './environment.js'
import { decodeOldestKept, historyKinds } from './keptHistory.js'
import { unpackList } from './packedLists.js'
import type { ReadTable } from './readTable.js'
import { readBlockName, readCheckpoint } from './stateRowsReader.js'
import { StoredBlock } from './storedBlock.js'
import { historyKey, metaKeys, numberKey } from './tables.js'

/** The version that is read. */
export const formerSchema = 3

const formerNames = [
  ...(['meta', 'blocks', 'sideBlocks', 'bodies', 'receipts', 'code'] as const),
  ...(['accountHistory', 'slotHistory', 'changes'] as const),
]
type FormerTables = { readonly [name in (typeof formerNames)[number]]: ReadTable }

/** A block with what it changed, as far as it does not follow from the rest. */
export type FormerBlock = Omit<BlockDiff, 'number' | 'parentHash' | 'trie' | 'code'> & {
  /** The accounts before it, in the order of `accounts`; empty where there was none. */
  readonly accountsBefore: readonly Change[]
}

export class FormerStore {
  readonly #environment: RootDatabase
  readonly #tables: FormerTables
  readonly #accessLists: ReadTable | undefined

  private constructor(environment: RootDatabase, tables: FormerTables, accessLists: ReadTable | undefined) {
    this.#environment = environment
    this.#tables = tables
    this.#accessLists = accessLists
  }

  /** Throws OperatorError for a store that is not an archive's of that version, or does not have all blocks and states. */
  static open(path: string, mapBytes: number): FormerStore {
    const environment = openEnvironment({ path, mapBytes, readOnly: true })
    try {
      const tables = Object.fromEntries(
        formerNames.map((name) => {
          const table = openTable(environment, name)
          if (table === undefined) throw new OperatorError(`the store ${path} has no table ${name}`)
          return [name, table]
        }),
      ) as unknown as FormerTables
      const store = new FormerStore(environment, tables, openTable(environment, 'accessLists'))
      const { schema, ...identity } = store.#identity()
      if (schema !== formerSchema || kindOf(identity) !== 'archive')
        throw new OperatorError(`the store ${path} is none of an archive of version ${formerSchema}`)
      const oldest = decodeOldestKept(tables.meta.getBinary(metaKeys.oldestKept))
      if (historyKinds.some((kind) => oldest[kind] > 0)) {
        throw new OperatorError(
          `the store ${path} lacks the past that its states follow from, so it cannot be brought up to date; ` +
            'import the chain again into an empty folder, with "tidegate import"',
        )
      }
      return store
    } catch (error) {
      void environment.close()
      throw error
    }
  }

  close(): Promise<void> {
    return closeEnvironment(this.#environment)
  }

  get identity(): ChainIdentity {
    const { schema: _, ...identity } = this.#identity()
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
    const { blocks, bodies, receipts, changes } = this.#tables
    const row = blocks.getBinary(numberKey(number))
    const stored = row && new StoredBlock(row)
    const hash = stored?.hash
    const body = hash && bodies.getBinary(hash)
    const written = hash && receipts.getBinary(hash)
    const replaced = changes.getBinary(numberKey(number))
    if (!stored || !hash || !body || !written || !replaced) throw missing(number)
    const { accounts, slots } = unpack(replaced) as ReplacedState
    const list = this.#accessLists?.getBinary(hash)
    return {
      hash,
      header: stored.header,
      body,
      senders: stored.senders,
      totalDifficulty: stored.totalDifficulty,
      receipts: written,
      blockAccessList: list && unpackList(list),
      accountsBefore: accounts,
      accounts: accounts.map(([key]) => this.#changeIn('accountHistory', key, number)),
      slots: slots.map(([key]) => this.#changeIn('slotHistory', key, number)),
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

  #changeIn(name: 'accountHistory' | 'slotHistory', key: Uint8Array, number: number): Change {
    const value = this.#tables[name].getBinary(historyKey(key, number))
    if (value === undefined) throw missing(number)
    return [key, value]
  }

  #identity(): ChainIdentity & { readonly schema: number } {
    const row = this.#tables.meta.getBinary(metaKeys.identity)
    if (row === undefined) throw new Error('a store without a chain')
    return unpack(row) as ChainIdentity & { readonly schema: number }
  }
}

function missing(number: number): OperatorError {
  return new OperatorError(
    `the store is damaged: block ${number} is not whole; restore a copy, or import the chain again into an empty folder`,
  )
}
