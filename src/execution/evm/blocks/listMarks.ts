/**
 * Whether what execution recorded of a block is the access list that came with it, part by part: each part marks the
 * list's entries that it recorded, and in the end all have to be marked. Faster than to build the list again.
 */
import { equalBytes, latin1Key, trimLeft } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { Kernel } from '../engine/kernel.js'
import type { Change } from '../engine/kernelAccesses.js'
import { type RecordedAccesses, recordedBy } from './blockAccesses.js'
import type { ListedAccount, ListedBlock, ListedValues } from './listedState.js'

/** Something was recorded that the list does not have. */
class NotListedError extends Error {
  override readonly name = 'NotListedError'
}

/** One byte for each entry of a list: 1 where it was recorded. */
export class ListMarks {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly #block: ListedBlock

  constructor(block: ListedBlock) {
    this.#block = block
    this.bytes = new Uint8Array(block.entries)
  }

  /** Marks what a kernel recorded of a part of the block. Throws {@link NotListedError}. */
  mark(kernel: Kernel): void {
    const recorded = recordedBy(kernel)
    for (const address of recorded.addresses) this.#account(address)
    this.#markReads(recorded)
    for (const change of netChanges(recorded.changes)) {
      const account = this.#account(change.address)
      this.#markChange(valuesOf(account, change), change)
    }
  }

  /** Marks what another part has marked. */
  join(bytes: Uint8Array): void {
    for (let at = 0; at < this.bytes.length; at++) if (bytes[at] === 1) this.bytes[at] = 1
  }

  /** Whether all of the list was recorded. */
  get areAll(): boolean {
    return !this.bytes.includes(0)
  }

  #account(address: Uint8Array): ListedAccount {
    const account = this.#block.find(address)
    if (account === undefined) throw new NotListedError('an account is not in the list')
    this.bytes[account.mark] = 1
    return account
  }

  #markReads({ slots }: RecordedAccesses): void {
    // Slots of one account follow each other mostly, and share its address then.
    let last: Uint8Array | undefined
    let account: ListedAccount | undefined
    for (const [address, key] of slots) {
      if (address !== last) account = this.#block.find(address)
      last = address
      const slot = account?.slots.get(latin1Key(key))
      if (slot === undefined) throw new NotListedError('a slot is not in the list')
      if (slot.changes.length === 0) this.bytes[slot.mark] = 1
    }
  }

  #markChange({ changes, mark }: ListedValues, { kind, index, value }: Change): void {
    const listed = kind === 'code' ? value : trimLeft(value)
    const at = changes.findIndex((change) => change.index === index)
    if (at < 0 || !equalBytes(changes[at]?.value as Uint8Array, listed)) {
      throw new NotListedError(`a ${kind} is not in the list`)
    }
    this.bytes[mark + at] = 1
  }
}

function valuesOf(account: ListedAccount, { kind, key }: Change): ListedValues {
  if (kind !== 'slot') return account[kind]
  const slot = account.slots.get(latin1Key(key))
  if (slot === undefined) throw new NotListedError('a slot is not in the list')
  return slot
}

/** Several calls and payments may have one index; only what is different before and after all of them counts. */
function netChanges(changes: readonly Change[]): Change[] {
  const net = new Map<string, Change>()
  for (const change of changes) {
    const { kind, address, key, index } = change
    const name = `${kind}${index} ${latin1Key(address)}${latin1Key(key)}`
    const first = net.get(name)
    net.set(name, first === undefined ? change : { ...change, old: first.old })
  }
  return [...net.values()].filter(
    ({ kind, old, value }) => !equalBytes(old, kind === 'code' ? keccak256(value) : value),
  )
}
