/** Transient storage (EIP-1153): slots that begin as zero and live as long as the transaction. */
import { Account, Slot, slotBytes } from './accounts'
import { transactionArena } from './journal'
import { hashOfWord, Table } from './table'
import { copyWord, equals } from './word'

const slots = changetype<Table>(memory.data(offsetof<Table>(), 16))

export function startTransients(): void {
  slots.clear()
}

/** After the heap was cleared. */
export function forgetTransients(): void {
  slots.forget()
}

/** The transient slot of an account; `key` is a word. */
export function findTransient(account: Account, key: usize): Slot {
  slots.prepare()
  const hash = hashOfWord(key, changetype<usize>(account) as u64)
  let steps: u32 = 0
  let found = slots.at(hash, 0)
  while (found != 0) {
    const slot = changetype<Slot>(found)
    if (slot.account == account && equals(slot.key, key)) return slot
    found = slots.at(hash, ++steps)
  }
  const slot = changetype<Slot>(transactionArena.take(slotBytes))
  memory.fill(changetype<usize>(slot), 0, slotBytes)
  slot.account = account
  copyWord(key, slot.key)
  slots.put(hash, steps, changetype<usize>(slot))
  return slot
}
