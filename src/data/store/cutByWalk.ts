/**
 * Removal of old state where no undo record says which rows it is in: a walk over history that goes on from commit to
 * commit. A row goes where another one replaced it up to the block that is the oldest from then on.
 */
import { concatBytes, readUint64 } from '../../primitives/bytes.js'
import type { RowBuffer } from './readTable.js'
import { StateDigests, toggleAll } from './stateChanges.js'
import { type StateKind, stateKinds } from './stateRows.js'
import { decodeState, encodeState, withoutBefore } from './stateValues.js'
import { metaKeys, numberKey } from './tables.js'
import type { BufferedTables } from './writeBuffer.js'

/** How far it is: all rows of kinds before `kind` are done, and of that kind those before `next`. */
interface Walk {
  readonly oldest: number
  readonly kind: StateKind
  readonly next: Uint8Array
}

const blockBytes = 8
const start = new Uint8Array(0)
const keyBytes = { accounts: 20, slots: 52 } as const

export function isWalking(tables: BufferedTables): boolean {
  return tables.meta.getBinary(metaKeys.stateWalk) !== undefined
}

/** Begins a walk that leaves the state from block `oldest` on. That is what the store keeps from now on. */
export function beginWalk(tables: BufferedTables, oldest: number): void {
  // The undo records of what is no longer kept.
  for (const { key } of tables.changes.storedRange({ end: numberKey(oldest + 1) }))
    tables.changes.removeSync(Uint8Array.from(key))
  putWalk(tables, { oldest, kind: 'accounts', next: start })
}

/** Goes on with the walk over at most `rowsMax` rows; returns how many there were. All of them are on disk. */
export function walkOn(tables: BufferedTables, rowsMax: number): number {
  const { oldest, kind, next } = readWalk(tables)
  const history = kind === 'accounts' ? tables.accountHistory : tables.slotHistory
  const latest = kind === 'accounts' ? tables.accounts : tables.slots
  const digests = StateDigests.read(tables)
  const range = history.storedRange({ start: next, limit: rowsMax + 1 })
  const rows = Array.from(range, ({ key, value }) => [Uint8Array.from(key), Uint8Array.from(value)] as const)
  for (const [own] of rows.slice(0, rowsMax)) {
    const key = own.subarray(0, keyBytes[kind])
    const isLatest = own.length === key.length
    const until = isLatest ? undefined : readUint64(own, key.length)
    if (until !== undefined && until <= oldest) {
      const waiting = history.getBinary(own)
      if (waiting !== undefined) toggleAll(digests[kind], key, decodeState(waiting), until)
      history.removeSync(own)
      continue
    }
    // What waits may be newer than the row on disk.
    cutRow(isLatest ? latest : history, own, key)
    const moved = isLatest ? history.movedFrom(key) : undefined
    if (moved !== undefined) cutRow(history, moved, key)
  }
  digests.write(tables)
  function cutRow(table: RowBuffer, own: Uint8Array, key: Uint8Array): void {
    const row = table.getBinary(own)
    const toggle = (since: number, value: Uint8Array) => digests[kind].toggle(key, since, value)
    const rest = row && withoutBefore(decodeState(row), oldest, toggle)
    if (rest !== undefined) table.putSync(own, encodeState(rest))
  }
  const [rest] = rows[rowsMax] ?? []
  const nextKind = stateKinds[stateKinds.indexOf(kind) + 1]
  if (rest !== undefined) putWalk(tables, { oldest, kind, next: rest })
  else if (nextKind !== undefined) putWalk(tables, { oldest, kind: nextKind, next: start })
  else tables.meta.removeSync(metaKeys.stateWalk)
  return 1 + Math.min(rows.length, rowsMax)
}

function readWalk(tables: BufferedTables): Walk {
  const row = tables.meta.getBinary(metaKeys.stateWalk) as Uint8Array
  const kind = stateKinds[row[blockBytes] as number] as StateKind
  return { oldest: readUint64(row, 0), kind, next: Uint8Array.from(row.subarray(blockBytes + 1)) }
}

function putWalk(tables: BufferedTables, { oldest, kind, next }: Walk): void {
  const row = concatBytes(numberKey(oldest), Uint8Array.of(stateKinds.indexOf(kind)), next)
  tables.meta.putSync(metaKeys.stateWalk, row)
}
