/**
 * Makes the store of a chain that begins at a block. Its whole state may arrive in any order, but is written in key
 * order, so that each page is written once and full. Everything is made in a folder beside the store, and moved into
 * place at the end, at once. If a process dies before, its remains are no store, and the next one removes them.
 */
import { renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { concatBytes, equalBytes, type Hash32, noBytes } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { isThere, makeFolder, syncPath } from '../../primitives/files.js'
import type { ChainIdentity } from './chainRows.js'
import { ChainWriter, type HistoryRows } from './chainWriter.js'
import { idKey, noContract } from './contractIds.js'
import { encodeOldestKept } from './keptHistory.js'
import { slimAccount } from './layouts/slimAccounts.js'
import { encodeState } from './layouts/stateValues.js'
import { currentRow } from './layouts/trieValues.js'
import { rowsPerCommit } from './lmdb/commitRows.js'
import { commitSync } from './lmdb/environment.js'
import { lockForWriting, type WriterLock } from './lmdb/writerLock.js'
import type { Entry } from './readTable.js'
import { SortedRuns } from './sortedRuns.js'
import { StateDigests } from './stateChanges.js'
import { storedBlockRow } from './storedBlock.js'
import { type ChainTables, makeChainTables, metaKeys, numberKey, type TableName } from './tables.js'
import { trieKey } from './trieRows.js'

/** A block whose body may be unknown; without a body, the members that come from it are unknown, too. */
export type StartBlock = Omit<HistoryRows, 'body'> & { readonly body: Uint8Array | undefined }

const runNames = ['accounts', 'slots', 'trie', 'contracts', 'code'] as const
type RunName = (typeof runNames)[number]

export class StateLoad {
  /** Folder for temporary files; the load removes it. */
  readonly folder: string
  readonly #path: string
  readonly #mapBytes: number | undefined
  readonly #number: number
  readonly #lock: WriterLock
  readonly #runs: Readonly<Record<RunName, SortedRuns>>
  readonly #digests = new StateDigests()
  #contracts = noContract
  readonly counts = { accounts: 0, slots: 0 }

  /**
   * Begins the state after block `number` for the new store `path`. Throws OperatorError if the store exists, or
   * another process writes it.
   */
  constructor(path: string, number: number, mapBytes?: number) {
    this.#path = path
    this.#number = number
    this.#mapBytes = mapBytes
    this.#lock = lockForWriting(path)
    this.folder = join(dirname(path), 'loading')
    try {
      if (isThere(path)) {
        throw new OperatorError(
          `the store ${path} is there already; a state is loaded into an empty folder alone`,
        )
      }
      rmSync(this.folder, { recursive: true, force: true })
      makeFolder(this.folder, 0o700)
    } catch (error) {
      this.#lock.release()
      throw error
    }
    const runs = runNames.map((name) => [name, new SortedRuns(join(this.folder, name))])
    this.#runs = Object.fromEntries(runs)
  }

  /** Adds a new contract with slots; returns its number. */
  addContract(address: Uint8Array): number {
    this.#contracts++
    const id = idKey(this.#contracts)
    this.#runs.contracts.add(address, id)
    this.#runs.contracts.add(id, address)
    return this.#contracts
  }

  /** `rlp`: the whole account. */
  addAccount(address: Uint8Array, rlp: Uint8Array): void {
    const value = slimAccount(rlp)
    this.#digests.accounts.toggle(address, this.#number, value)
    this.#runs.accounts.add(address, this.#row(value))
    this.counts.accounts++
  }

  addSlot(contract: number, address: Uint8Array, slot: Uint8Array, value: Uint8Array): void {
    this.#digests.slots.toggle(concatBytes(address, slot), this.#number, value)
    this.#runs.slots.add(concatBytes(idKey(contract), slot), this.#row(value))
    this.counts.slots++
  }

  /** Adds a row of the trie of a contract's slots, or of the trie of accounts if there is no contract. */
  addTrieRow(contract: number | undefined, path: Uint8Array, content: Uint8Array): void {
    const key = trieKey(idKey(contract ?? noContract), path)
    this.#runs.trie.add(key, currentRow({ from: this.#number, content, older: noBytes }))
  }

  addCode(hash: Hash32, code: Uint8Array): void {
    this.#runs.code.add(hash, code)
  }

  #row(value: Uint8Array): Uint8Array {
    return encodeState({ since: this.#number, value, older: noBytes, isRemoved: false })
  }

  /**
   * Writes all rows and `blocks`: the last is the first one of the store, the others are the ancestors that BLOCKHASH
   * needs. `onWritten` gets the written share, and cancels the load by resolving to false. Resolves to whether the
   * store is in place and on disk.
   */
  async finish(
    identity: ChainIdentity,
    blocks: readonly StartBlock[],
    onWritten: (share: number) => Promise<boolean>,
  ): Promise<boolean> {
    const path = join(this.folder, basename(this.#path))
    const writer = StartWriter.openForWriting({
      path,
      ...(this.#mapBytes !== undefined && { mapBytes: this.#mapBytes }),
    }) as StartWriter
    try {
      for (const [index, name] of runNames.entries()) {
        for (const _ of writer.append(name, this.#rows(name))) {
          if (!(await onWritten(index / runNames.length))) return false
          await setImmediate()
        }
      }
      writer.begin(identity, blocks, { contracts: this.#contracts, digests: this.#digests })
    } finally {
      await writer.close()
    }
    syncPath(path)
    renameSync(path, this.#path)
    syncPath(dirname(this.#path))
    return true
  }

  #rows(name: RunName): Iterable<Entry> {
    const rows = this.#runs[name].inOrder()
    return name === 'code' ? distinct(rows) : rows
  }

  /** Removes all remains of the load, after success or failure. */
  close(): void {
    for (const run of Object.values(this.#runs)) run.close()
    rmSync(this.folder, { recursive: true, force: true })
    this.#lock.release()
  }
}

/** Drops entries whose key repeats the one before: contracts share their code. */
function* distinct(entries: Iterable<Entry>): Generator<Entry> {
  let last: Uint8Array | undefined
  for (const entry of entries) {
    if (last !== undefined && equalBytes(last, entry.key)) continue
    last = Uint8Array.from(entry.key)
    yield entry
  }
}

class StartWriter extends ChainWriter {
  /** Writes rows in key order into an empty table, in the form of the file; yields after each transaction. */
  *append(name: TableName, entries: Iterable<Entry>): Generator<undefined> {
    const tables: ChainTables = makeChainTables(this.environment)
    const table = tables[name]
    const steps = entries[Symbol.iterator]()
    for (let isEnd = false; !isEnd; ) {
      commitSync(this.environment, this.path, () => {
        for (let rows = 0; rows < rowsPerCommit; rows++) {
          const step = steps.next()
          isEnd = step.done === true
          if (isEnd) return
          const { key, value } = step.value as Entry
          if (table.putSync(key, value, { append: true }) as unknown as boolean | undefined) continue
          throw new Error(`a row of ${name} does not follow the one before`)
        }
      })
      yield
    }
  }

  begin(
    identity: ChainIdentity,
    blocks: readonly StartBlock[],
    { contracts, digests }: { readonly contracts: number; readonly digests: StateDigests },
  ): void {
    const first = blocks.at(-1)
    if (first === undefined) throw new Error('a store begins at a block')
    const { number } = first
    this.commit(() => {
      this.putIdentity(identity)
      if (contracts > 0) this.tables.contracts.putSync(idKey(noContract), idKey(contracts))
      for (const block of blocks) this.#putBlock(block)
      const [body, receipts] = [first.body, first.receipts].map(
        (part) => number + (part === undefined ? 1 : 0),
      )
      const oldest = { state: number, trie: number, bodies: body as number, receipts: receipts as number }
      this.tables.meta.putSync(metaKeys.oldestKept, encodeOldestKept(oldest))
      this.tables.meta.putSync(metaKeys.stateDigests, digests.row)
      this.putHead(first)
    })
  }

  #putBlock({ body, ...block }: StartBlock): void {
    const { number, hash } = block
    if (body !== undefined) return this.writeHistory({ ...block, body })
    this.tables.blocks.putSync(numberKey(number), storedBlockRow(hash, { ...block, body }))
    this.tables.numbers.putSync(hash, numberKey(number))
  }
}
