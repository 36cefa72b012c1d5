/** Transient storage (EIP-1153): slots that are initially zero and last as long as the transaction. */
import { Account, keyOffset, ownerOffset, Slot, slotBytes } from './accounts'
import { transactionArena } from './journal'
import { hashOfWord, Table } from './table'
import { copyWord } from './word'

const slots = changetype<Table>(memory.data(offsetof<Table>(), 16))

export function startTransients(): void {
  slots.clear()
}

/** Call it after the heap was cleared. */
export function forgetTransients(): void {
  slots.forget()
}

/** The transient slot of an account; `key` is a word. */
export function findTransient(account: Account, key: usize): Slot {
  const hash = hashOfWord(key, changetype<usize>(account) as u64)
  const place = slots.placeFor(hash, keyOffset, key, ownerOffset, changetype<usize>(account) as u32)
  const found = load<u32>(place) as usize
  if (found != 0) return changetype<Slot>(found)
  const slot = changetype<Slot>(transactionArena.take(slotBytes))
  memory.fill(changetype<usize>(slot), 0, slotBytes)
  slot.account = account
  copyWord(key, slot.key)
  slots.put(place, hash, changetype<usize>(slot))
  return slot
}
