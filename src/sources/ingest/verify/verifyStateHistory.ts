/**
 * Checks the rows of accounts and slots, latest and past, against the writer's digests, and the undo records against
 * these rows. Rows of old blocks are in no trie that is walked, so only this check finds a changed bit in them. Its
 * memory does not grow with the store.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { StateDigests } from '../../../data/store/stateChanges.js'
import { type StateKind, stateKinds } from '../../../data/store/stateRows.js'
import { undoBlocks } from '../../../data/store/tables.js'
import { bytesToHex, equalBytes } from '../../../primitives/bytes.js'
import type { FaultList } from './faultList.js'

/** Rows between two progress reports. */
const rowsPerReport = 65_536

export function verifyStateHistory(
  store: ChainReader,
  head: number,
  list: FaultList,
  onProgress: (what: string, done: number) => void,
): void {
  const oldest = store.readOldestKept().state
  const firstUndo = Math.max(oldest, highestHead(store, head) - undoBlocks) + 1
  const rows = { accounts: 0, slots: 0 }
  list.guard('history', () => {
    const want = store.readStateDigests()
    const got = new StateDigests()
    for (const kind of stateKinds) {
      rows[kind] = walkRows(store, kind, { head, firstUndo }, got, list, onProgress)
      const isSame = equalBytes(got[kind].bytes, want[kind].bytes)
      list.expect(isSame, `history: its rows of ${kind} are not those that were written`)
    }
  })
  const found = { accounts: 0, slots: 0 }
  for (let number = firstUndo; number <= head; number++) {
    if (number % 256 === 0) onProgress('undo records', number / (head + 1))
    list.guard(`undo record of block ${number}`, () => verifyUndo(store, number, found, list))
  }
  for (const kind of stateKinds) {
    list.expect(
      rows[kind] === found[kind],
      `history: it has ${rows[kind]} changes of ${kind} since block ${firstUndo}, the undo records ${found[kind]}`,
    )
  }
}

/**
 * The highest block that was the head, as far as side blocks show: each head removed the undo record of an older block.
 */
function highestHead(store: ChainReader, head: number): number {
  let highest = head
  for (const { header } of store.sideBlocks()) highest = Math.max(highest, decodeHeader(header).number)
  return highest
}

/** Returns how many rows are of blocks with an undo record. */
function walkRows(
  store: ChainReader,
  kind: StateKind,
  { head, firstUndo }: { readonly head: number; readonly firstUndo: number },
  digests: StateDigests,
  list: FaultList,
  onProgress: (what: string, done: number) => void,
): number {
  let recent = 0
  let count = 0
  for (const { key, since, value, isLatest } of store.stateRows(kind)) {
    digests[kind].toggle(key, since, value)
    if (since > head) list.fault(`history: ${bytesToHex(key)} changed in block ${since}, above the head`)
    if (isLatest && value.length === 0) list.fault(`latest state: ${bytesToHex(key)} has no value`)
    if (since >= firstUndo) recent++
    if (++count % rowsPerReport === 0) onProgress(`rows of ${kind}`, 0)
  }
  return recent
}

function verifyUndo(
  store: ChainReader,
  number: number,
  found: { [kind in StateKind]: number },
  list: FaultList,
): void {
  const undo = store.readUndo(number)
  if (undo === undefined) {
    list.fault(`block ${number}: its undo record is missing`)
    return
  }
  for (const kind of stateKinds) {
    let before: Uint8Array | undefined
    for (const [key, since] of undo[kind]) {
      // A key that is named twice could hide a missing one.
      const isNext = before === undefined || Buffer.compare(before, key) < 0
      list.expect(isNext, `block ${number}: the keys of its undo record are not in order`)
      before = key
      const [last] = store.readChangesOf(key, number - 1, true, 1)
      const isThere = last !== undefined && store.readChangeIn(last, key)?.length !== 0
      list.expect(
        store.readChangeIn(number, key) !== undefined && since === (isThere ? last : undefined),
        `block ${number}: its undo record of ${bytesToHex(key)} differs from history`,
      )
      found[kind]++
    }
  }
}
