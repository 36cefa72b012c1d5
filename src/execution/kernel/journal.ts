/**
 * The undo log of state changes within a transaction, and all other data with a transaction's lifetime: refunds,
 * accesses (EIP-2929), destroyed accounts.
 */
import { beforeOf, isRecording, recordAccounts, recordSlot } from './accessList'
import { Account, isEmpty, list, Slot } from './accounts'
import { Code, emptyCodeHash } from './code'
import { Arena } from './heap'
import { Fork, has } from './rules'
import { add, clearWord, copyWord, isZero, subtract } from './word'

/** Number of the current transaction. */
export let transaction: u32 = 0

/** Whether it is a system call, in which precompiled contracts are cold like all others. */
let isSystemCall: bool = false

/** Gas to refund at its end. Code that undoes changes must restore it, too. */
export let refund: i64 = 0

export function setRefund(gas: i64): void {
  refund = gas
}

/** Memory that lives as long as the transaction. */
export const transactionArena = changetype<Arena>(memory.data(offsetof<Arena>(), 16))

enum Kind {
  Value,
  Balance,
  Nonce,
  Code,
  Life,
  WarmAccount,
  WarmSlot,
}

/** Record for undoing one change. */
@unmanaged
class Undo {
  before: usize
  kind: Kind
  target: usize
  code: usize
  // The old value: a word, a number, or three numbers.
  o0: u64
  o1: u64
  o2: u64
  o3: u64

  @inline
  get old(): usize {
    return changetype<usize>(this) + 16
  }
}

/** The newest record; 0 for none. */
let newest: usize = 0

/** The account of the RIPEMD-160 contract once touched: the touch is never undone, as in block 2,675,119 of mainnet. */
let stickyTouch: Account | null = null

@inline
function note(kind: Kind, target: usize): Undo {
  const undo = changetype<Undo>(transactionArena.take(offsetof<Undo>()))
  undo.before = newest
  undo.kind = kind
  undo.target = target
  newest = changetype<usize>(undo)
  return undo
}

/** The current position in the undo log. */
@inline
export function snapshot(): usize {
  return newest
}

/** Undoes all changes after the position that {@link snapshot} returned; 0 is the beginning. */
export function undoTo(position: usize): void {
  while (newest != position) {
    const undo = changetype<Undo>(newest)
    takeBack(undo)
    newest = undo.before
  }
}

function takeBack(undo: Undo): void {
  const account = changetype<Account>(undo.target)
  const slot = changetype<Slot>(undo.target)
  switch (undo.kind) {
    case Kind.Value:
      return copyWord(undo.old, slot.value)
    case Kind.Balance:
      return copyWord(undo.old, account.balance)
    case Kind.Nonce:
      account.nonce = undo.o0
      return
    case Kind.Code:
      account.code = undo.code
      return copyWord(undo.old, account.codeHash)
    case Kind.Life:
      account.exists = undo.o0 as u32
      account.createdTx = undo.o1 as u32
      account.destroyedTx = undo.o2 as u32
      return
    case Kind.WarmAccount:
      account.warmTx = undo.o0 as u32
      return
    case Kind.WarmSlot:
      slot.warmTx = undo.o0 as u32
  }
}

export function startJournal(ofSystem: bool): void {
  transaction++
  isSystemCall = ofSystem
  newest = 0
  refund = 0
  stickyTouch = null
  transactionArena.clear()
}

/** Call it after the heap was cleared. */
export function forgetJournal(): void {
  transaction = 0
  newest = 0
  refund = 0
  stickyTouch = null
  transactionArena.forget()
}

/** Removes accounts that were destroyed, and those that were touched and are empty (EIP-161). */
export function endAccounts(): void {
  for (let at = newest; at != 0; at = changetype<Undo>(at).before) {
    const undo = changetype<Undo>(at)
    if (undo.kind >= Kind.Balance && undo.kind <= Kind.Life) settle(changetype<Account>(undo.target))
  }
  if (stickyTouch !== null) settle(stickyTouch as Account)
  if (isRecording) record()
  newest = 0
}

/** Records the changes of the transaction. The oldest value of each member is the one before the transaction. */
function record(): void {
  for (let at = newest; at != 0; at = changetype<Undo>(at).before) {
    const undo = changetype<Undo>(at)
    const account = changetype<Account>(undo.target)
    switch (undo.kind) {
      case Kind.Value: {
        const slot = changetype<Slot>(undo.target)
        // A slot that was written twice has two records. Transient ones have no original.
        if (slot.originalTx == transaction) recordSlot(slot)
        slot.originalTx = 0
        break
      }
      case Kind.Balance:
        copyWord(undo.old, beforeOf(account, transactionArena).balance)
        break
      case Kind.Nonce:
        beforeOf(account, transactionArena).nonce = undo.o0
        break
      case Kind.Code:
        copyWord(undo.old, beforeOf(account, transactionArena).codeHash)
        break
      default:
        break
    }
  }
  recordAccounts()
}

function settle(account: Account): void {
  if (account.exists == 0) return
  if (account.destroyedTx == transaction) end(account)
  else if (has(Fork.SpuriousDragon) && isEmpty(account)) account.exists = 0
}

function end(account: Account): void {
  account.destroyedTx = 0
  account.nonce = 0
  copyWord(emptyCodeHash, account.codeHash)
  account.code = 0
  account.incarnation++
  // EIP-8246: the balance stays.
  if (has(Fork.Amsterdam) && !isZero(account.balance)) return
  account.exists = 0
  clearWord(account.balance)
}

export function setBalance(account: Account, word: usize): void {
  copyWord(account.balance, note(Kind.Balance, changetype<usize>(account)).old)
  list(account)
  copyWord(word, account.balance)
}

/** Adds to a balance; with zero it only touches the account. */
export function addBalance(account: Account, word: usize): void {
  touch(account)
  if (isZero(word)) return
  copyWord(account.balance, note(Kind.Balance, changetype<usize>(account)).old)
  list(account)
  add(account.balance, word, account.balance)
}

export function subtractBalance(account: Account, word: usize): void {
  if (isZero(word)) return
  copyWord(account.balance, note(Kind.Balance, changetype<usize>(account)).old)
  list(account)
  subtract(account.balance, word, account.balance)
}

export function setNonce(account: Account, nonce: u64): void {
  note(Kind.Nonce, changetype<usize>(account)).o0 = account.nonce
  list(account)
  account.nonce = nonce
}

export function setCode(account: Account, code: Code): void {
  const undo = note(Kind.Code, changetype<usize>(account))
  undo.code = account.code
  copyWord(account.codeHash, undo.old)
  list(account)
  copyWord(code.codeHash, account.codeHash)
  account.code = changetype<usize>(code)
}

function noteLife(account: Account): void {
  const undo = note(Kind.Life, changetype<usize>(account))
  undo.o0 = account.exists
  undo.o1 = account.createdTx
  undo.o2 = account.destroyedTx
  list(account)
}

/** Makes the account exist, even if empty; with EIP-161 an empty one is removed at the end of the transaction. */
export function touch(account: Account): void {
  if (account.exists != 0 && !isEmpty(account)) return
  noteLife(account)
  account.exists = 1
  if (account.precompile == 3) stickyTouch = account
}

/** Marks the account as created in this transaction. */
export function create(account: Account): void {
  noteLife(account)
  account.exists = 1
  account.createdTx = transaction
}

/** Marks the account to be removed at the end of the transaction. */
export function destroy(account: Account): void {
  if (account.destroyedTx == transaction) return
  noteLife(account)
  account.destroyedTx = transaction
}

/** Whether an account had been accessed in this transaction (EIP-2929); marks it as accessed. */
@inline
export function warm(account: Account): bool {
  if (account.warmTx == transaction || (account.isAlwaysWarm && !isSystemCall)) return true
  note(Kind.WarmAccount, changetype<usize>(account)).o0 = account.warmTx
  account.warmTx = transaction
  return false
}

@inline
export function warmSlot(slot: Slot): bool {
  if (slot.warmTx == transaction) return true
  note(Kind.WarmSlot, changetype<usize>(slot)).o0 = slot.warmTx
  slot.warmTx = transaction
  return false
}

/** The value that a slot had when the transaction began, a word. */
@inline
export function originalOf(slot: Slot): usize {
  return slot.originalTx == transaction ? slot.original : slot.value
}

export function setSlot(slot: Slot, word: usize): void {
  if (slot.originalTx != transaction) {
    slot.originalTx = transaction
    copyWord(slot.value, slot.original)
  }
  list(slot.account)
  setValue(slot, word)
}

/** Sets a slot's value, with an undo record, as for transient storage. */
export function setValue(slot: Slot, word: usize): void {
  copyWord(slot.value, note(Kind.Value, changetype<usize>(slot)).old)
  copyWord(word, slot.value)
}

