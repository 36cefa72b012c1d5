/**
 * Makes the store of a chain that begins at a block: its whole state, which comes in any order, in the order of its keys,
 * so that each page is written once and full. All is made in a folder beside the store and gets its place at the end, at
 * once: what a process left there when it died is no store, and the next one removes it.
 */
import { renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { concatBytes, equalBytes, type Hash32, noBytes } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/isThere.js'
import { makeFolder } from '../../primitives/makeFolder.js'
import { syncPath } from '../../primitives/syncPath.js'
import type { ChainIdentity } from './chainRows.js'
import { ChainWriter, type HistoryRows } from './chainWriter.js'
import { rowsPerCommit } from './commitRows.js'
import { idKey, noContract } from './contractIds.js'
import { commitSync } from './environment.js'
import { encodeOldestKept } from './keptHistory.js'
import type { Entry } from './readTable.js'
import { slimAccount } from './slimAccounts.js'
import { SortedRuns } from './sortedRuns.js'
import { StateDigests } from './stateChanges.js'
import { encodeState } from './stateValues.js'
import { storedBlockRow } from './storedBlock.js'
import { type ChainTables, makeChainTables, metaKeys, numberKey, type TableName } from './tables.js'
import { trieKey } from './trieRows.js'
import { currentRow } from './trieValues.js'
import { lockForWriting, type WriterLock } from './writerLock.js'

/** A block of which the body may be unknown, and what stands in its body, too. */
export type StartBlock = Omit<HistoryRows, 'body'> & { readonly body: Uint8Array | undefined }

const runNames = ['accounts', 'slots', 'trie', 'contracts', 'code'] as const
type RunName = (typeof runNames)[number]

export class StateLoad {
  /** Folder for what is needed meanwhile; it goes with the load. */
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
   * Begins the state after block `number` for the store `path`, which must not be there yet. Throws OperatorError where it
   * is, or another process writes it.
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

  /** A new contract that has slots, by the number that stands for it. */
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

  /** A row of the trie of slots, or without a contract of that of accounts. */
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
   * Writes all rows, with `blocks`, the last of which is the first one of the store, and those before it that BLOCKHASH may
   * ask for. `onWritten` gets the share that is written, and ends the load where it resolves to false. Afterwards the store
   * is in its place, on disk; resolves to whether it is.
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

  /** Removes what is left of the load, whatever came of it. */
  close(): void {
    for (const run of Object.values(this.#runs)) run.close()
    rmSync(this.folder, { recursive: true, force: true })
    this.#lock.release()
  }
}

/** Of entries in order those with a key of their own: contracts share their code. */
function* distinct(entries: Iterable<Entry>): Generator<Entry> {
  let last: Uint8Array | undefined
  for (const entry of entries) {
    if (last !== undefined && equalBytes(last, entry.key)) continue
    last = Uint8Array.from(entry.key)
    yield entry
  }
}

class StartWriter extends ChainWriter {
  /** Writes rows in the order of their keys into a table that is empty, as they are in the file; pauses after each transaction. */
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
