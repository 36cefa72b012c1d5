/**
 * Accesses of instructions, for `eth_createAccessList`; for a block's access list (EIP-7928) also accesses of the
 * protocol and changes of each transaction. Owns the sets of seen accounts and slots, which include accesses undone
 * since.
 */
import { Account, codeOf, Slot } from './accounts'
import { Arena } from './heap'
import { clearWord, copyWord, equals } from './word'

/** The first account and slot of those seen since {@link startSeen}; the others follow by `nextSeen`. */
export let seenAccounts: Account | null = null
export let seenSlots: Slot | null = null
/** Number of the current sets: an account or slot with an earlier number was not seen. */
let setNumber: u32 = 0

/** Whether changes are recorded, over several transactions. */
export let isRecording: bool = false

enum Kind {
  Slot,
  Balance,
  Nonce,
  Code,
}

/** A value of an account or a slot that differs after a transaction from before it. */
@unmanaged
export class Change {
  before: Change | null
  kind: Kind
  /** The account or slot. */
  target: usize
  /** Number of the transaction, set by the host: the block access index. */
  index: u32
  /** Address and length of the new code. */
  code: usize
  codeLength: u32
  pad0: u32
  pad1: u32

  // Two words follow; for a nonce only the first eight bytes are written, for code its hash.
  @inline
  get old(): usize {
    return changetype<usize>(this) + offsetof<Change>()
  }
  @inline
  get value(): usize {
    return changetype<usize>(this) + offsetof<Change>() + 32
  }
}

export let newestChange: Change | null = null
let index: u32 = 0
const changes = changetype<Arena>(memory.data(offsetof<Arena>(), 16))

/** Values of an account before a transaction that changes it. */
@unmanaged
class Before {
  next: Before | null
  account: Account
  nonce: u64
  b0: u64
  b1: u64
  b2: u64
  b3: u64
  c0: u64
  c1: u64
  c2: u64
  c3: u64

  @inline
  get balance(): usize {
    return changetype<usize>(this) + offsetof<Before>('b0')
  }
  @inline
  get codeHash(): usize {
    return changetype<usize>(this) + offsetof<Before>('c0')
  }
}

/** Call it after the heap was cleared. */
export function forgetAccesses(): void {
  isRecording = false
  seenAccounts = null
  seenSlots = null
  newestChange = null
  changes.forget()
}

/** Clears the sets of seen accounts and slots. */
export function startSeen(): void {
  setNumber++
  seenAccounts = null
  seenSlots = null
}

/** Begins to record a block, including system calls before its transactions. */
export function recordAccesses(): void {
  startSeen()
  isRecording = true
  index = 0
  newestChange = null
  changes.clear()
}

/** Sets the block access index of the following transactions. */
export function setAccessIndex(next: u32): void {
  index = next
}

function see(account: Account): void {
  if (account.seen == setNumber) return
  account.seen = setNumber
  account.nextSeen = seenAccounts
  seenAccounts = account
}

function seeSlot(slot: Slot): void {
  if (slot.seen == setNumber) return
  slot.seen = setNumber
  slot.nextSeen = seenSlots
  seenSlots = slot
}

/** Counts operands of an instruction, paid or not, as go-ethereum's `eth_createAccessList` does. */
@inline
export function seeNamed(account: Account): void {
  if (!isRecording) see(account)
}

@inline
export function seeNamedSlot(slot: Slot): void {
  if (!isRecording) seeSlot(slot)
}

/** Counts accesses of a block: by instructions, once paid, and by the protocol itself. */
@inline
export function seePaid(account: Account): void {
  if (isRecording) see(account)
}

@inline
export function seePaidSlot(slot: Slot): void {
  if (isRecording) seeSlot(slot)
}

function addChange(kind: Kind, target: usize): Change {
  const change = changetype<Change>(changes.take(offsetof<Change>() + 64))
  change.before = newestChange
  change.kind = kind
  change.target = target
  change.index = index
  newestChange = change
  return change
}

/** Records a slot that a transaction wrote, once it has ended. */
export function recordSlot(slot: Slot): void {
  // A destroyed account has no slots left.
  if (slot.incarnation != slot.account.incarnation || equals(slot.original, slot.value)) return
  const change = addChange(Kind.Slot, changetype<usize>(slot))
  copyWord(slot.original, change.old)
  copyWord(slot.value, change.value)
}

/** The accounts that the ending transaction changed. */
let changed: Before | null = null

/**
 * Values of an account before the transaction, initially its current values. `arena` lives as long as the transaction.
 */
export function beforeOf(account: Account, arena: Arena): Before {
  if (account.before != 0) return changetype<Before>(account.before)
  const before = changetype<Before>(arena.take(offsetof<Before>()))
  before.next = changed
  before.account = account
  before.nonce = account.nonce
  copyWord(account.balance, before.balance)
  copyWord(account.codeHash, before.codeHash)
  account.before = changetype<usize>(before)
  changed = before
  return before
}

/** Records the differences of the accounts of {@link beforeOf}. */
export function recordAccounts(): void {
  let at = changed
  while (at !== null) {
    const account = at.account
    account.before = 0
    if (!equals(at.balance, account.balance)) {
      const change = addChange(Kind.Balance, changetype<usize>(account))
      copyWord(at.balance, change.old)
      copyWord(account.balance, change.value)
    }
    if (at.nonce != account.nonce) {
      const change = addChange(Kind.Nonce, changetype<usize>(account))
      clearWord(change.old)
      clearWord(change.value)
      store<u64>(change.old, at.nonce)
      store<u64>(change.value, account.nonce)
    }
    if (!equals(at.codeHash, account.codeHash)) {
      const change = addChange(Kind.Code, changetype<usize>(account))
      copyWord(at.codeHash, change.old)
      copyWord(account.codeHash, change.value)
      const code = codeOf(account)
      change.code = code.bytes
      change.codeLength = code.length
    }
    at = at.next
  }
  changed = null
}
