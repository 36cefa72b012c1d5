/**
 * The state of an archive's store as versions 3 and 4 left it: what each block changed, and what that replaced.
 *
 * Version 3 has every change in `accountHistory` and `slotHistory`, key ‖ block number → value after that block, and the
 * replaced values of every block in `changes`, block number → msgpack. Version 4 has the latest value of a key with the
 * block since which it holds (datedValue.ts), and behind it, key ‖ block number → the value since that block, where another
 * one replaced it, without bytes where there was none; its undo records are those of today.
 */
import { unpack } from 'msgpackr'
import { noBytes, readUint64 } from '../primitives/bytes.js'
import type { Change, ReplacedState } from './blockDiff.js'
import { sinceOf, valueOfRow } from './datedValue.js'
import { PastChanges } from './pastChanges.js'
import type { ReadTable } from './readTable.js'
import { fullValue, kindOf, type StateKind, type StateRow } from './stateRows.js'
import { historyKey, numberKey, type ReadTables } from './tables.js'
import { decodeUndo, type UndoRecord } from './undoRecord.js'

export interface FormerState {
  /** Undefined where it is missing. */
  readReplacedState(number: number): ReplacedState | undefined
  readChangeIn(number: number, key: Uint8Array): Uint8Array | undefined
}

/** That of version 3. */
export class ListedState implements FormerState {
  readonly #tables: { readonly [name in 'changes' | 'accountHistory' | 'slotHistory']: ReadTable }

  constructor(tables: { readonly [name in 'changes' | 'accountHistory' | 'slotHistory']: ReadTable }) {
    this.#tables = tables
  }

  readReplacedState(number: number): ReplacedState | undefined {
    const row = this.#tables.changes.getBinary(numberKey(number))
    return row && (unpack(row) as ReplacedState)
  }

  readChangeIn(number: number, key: Uint8Array): Uint8Array | undefined {
    const { accountHistory, slotHistory } = this.#tables
    const history = kindOf(key) === 'accounts' ? accountHistory : slotHistory
    return history.getBinary(historyKey(key, number))
  }
}

/** That of version 4. */
export class DatedState implements FormerState {
  readonly #tables: Pick<ReadTables, 'accounts' | 'slots' | 'changes'>
  readonly #past = new PastChanges((kind) => this.#rows(kind))

  constructor(tables: Pick<ReadTables, 'accounts' | 'slots' | 'changes'>) {
    this.#tables = tables
  }

  readReplacedState(number: number): ReplacedState {
    const row = this.#tables.changes.getBinary(numberKey(number))
    const { accounts, slots }: UndoRecord = row === undefined ? this.#past.read(number) : decodeUndo(row)
    const before = ([key, since]: readonly [Uint8Array, number | undefined]): Change => {
      const value = since === undefined ? noBytes : this.readChangeIn(since, key)
      if (value === undefined) throw new RangeError(`a value that block ${number} replaced is missing`)
      return [key, value]
    }
    return { accounts: accounts.map(before), slots: slots.map(before) }
  }

  readChangeIn(number: number, key: Uint8Array): Uint8Array | undefined {
    const kind = kindOf(key)
    const table = this.#tables[kind]
    const row = table.getBinary(key)
    const value =
      row !== undefined && sinceOf(row) === number
        ? valueOfRow(row)
        : table.getBinary(historyKey(key, number))
    return value && fullValue(kind, value)
  }

  /** As {@link stateRows}. */
  *#rows(kind: StateKind): Generator<StateRow> {
    const keyBytes = kind === 'accounts' ? 20 : 52
    let latest: StateRow | undefined
    for (const row of this.#tables[kind].getRange()) {
      const [own, value] = [Uint8Array.from(row.key), Uint8Array.from(row.value)]
      const key = own.subarray(0, keyBytes)
      if (latest !== undefined && Buffer.compare(latest.key, key) !== 0) {
        yield latest
        latest = undefined
      }
      if (own.length > keyBytes) yield { key, since: readUint64(own, keyBytes), value, isLatest: false }
      else latest = { key, since: sinceOf(value), value: valueOfRow(value), isLatest: true }
    }
    if (latest !== undefined) yield latest
  }
}
