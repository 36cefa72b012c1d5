/**
 * The access list of an executed block (EIP-7928), built from the kernel's records. Owns which accesses become entries;
 * chain/blockAccessList.ts owns their form.
 */
import {
  type AccountAccess,
  encodeBlockAccessList,
  type IndexedValue,
} from '../../../data/chain/blockAccessList.js'
import { equalBytes, latin1Key, trimLeft } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { Kernel } from '../engine/kernel.js'
import type { Change } from '../engine/kernelAccesses.js'

/** Accesses and changes of a block for one account; slots by {@link latin1Key}. */
interface AccountRecord {
  readonly address: Uint8Array
  readonly reads: Map<string, Uint8Array>
  readonly writes: Map<string, { readonly slot: Uint8Array; readonly changes: Change[] }>
  readonly balance: Change[]
  readonly nonce: Change[]
  readonly code: Change[]
}

/** RLP of the list of the block that the kernel recorded since {@link Kernel.recordAccesses}. */
export function buildBlockAccessList(kernel: Kernel): Uint8Array {
  const accounts = new Map<string, AccountRecord>()
  const recordOf = (address: Uint8Array): AccountRecord => {
    const key = latin1Key(address)
    let record = accounts.get(key)
    if (record === undefined) {
      record = { address, reads: new Map(), writes: new Map(), balance: [], nonce: [], code: [] }
      accounts.set(key, record)
    }
    return record
  }
  const { addresses, slots } = kernel.readSeen()
  for (const address of addresses) recordOf(address)
  for (const [address, slot] of slots) recordOf(address).reads.set(latin1Key(slot), slot)
  // The kernel returns the last one first.
  for (const change of kernel.readChanges().reverse()) addChange(recordOf(change.address), change)
  return encodeBlockAccessList([...accounts.values()].sort(byBytes(({ address }) => address)).map(toEntry))
}

function addChange(record: AccountRecord, change: Change): void {
  if (change.kind !== 'slot') return append(record[change.kind], change)
  const key = latin1Key(change.key)
  const written = record.writes.get(key)
  if (written === undefined) record.writes.set(key, { slot: change.key, changes: [change] })
  else append(written.changes, change)
}

/** Several calls and payments may have one index; only the values before and after all of them count. */
function append(changes: Change[], change: Change): void {
  const last = changes.at(-1)
  if (last?.index !== change.index) {
    changes.push(change)
    return
  }
  changes.pop()
  const value = change.kind === 'code' ? keccak256(change.value) : change.value
  if (!equalBytes(last.old, value)) changes.push({ ...change, old: last.old })
}

function toEntry({ address, reads, writes, balance, nonce, code }: AccountRecord): AccountAccess {
  const written = [...writes.values()].filter(({ changes }) => changes.length > 0)
  for (const { slot } of written) reads.delete(latin1Key(slot))
  const integers = (changes: readonly Change[]): IndexedValue[] =>
    changes.map(({ index, value }) => ({ index, value: trimLeft(value) }))
  return {
    address,
    storageChanges: written
      .map(({ slot, changes }) => ({ slot, changes: integers(changes) }))
      .sort(byBytes(({ slot }) => slot)),
    storageReads: [...reads.values()].sort(Buffer.compare),
    balanceChanges: integers(balance),
    nonceChanges: integers(nonce),
    codeChanges: code,
  }
}

function byBytes<T>(keyOf: (item: T) => Uint8Array): (a: T, b: T) => number {
  return (a, b) => Buffer.compare(keyOf(a), keyOf(b))
}
