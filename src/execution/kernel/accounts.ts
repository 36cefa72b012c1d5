/**
 * Records of the accessed accounts and slots: values from the host, and later changes. Owns the records and their
 * look-up; journal.ts owns undoing.
 */
import { Code, emptyCodeHash, findCode } from './code'
import { Arena } from './heap'
import { readAccount, readSlot } from './host'
import { exchange } from './layout'
import { hashOffset, hashOfWord, Record, Table } from './table'
import { clearWord, copyWord, equals, isZero, reverseWord, writeAddress } from './word'

/** An account. Members that end in `Tx` are the number of the transaction for which the property holds. */
@unmanaged
export class Account extends Record {
  /** Code of the account, once read; 0 before. */
  code: usize
  exists: u32
  /** EIP-2929. */
  warmTx: u32
  createdTx: u32
  destroyedTx: u32
  /** See accessList.ts, like {@link nextSeen} and {@link before}. */
  seen: u32
  nextSeen: Account | null
  before: usize
  /** Number of times that the account was destroyed. Slots of an earlier incarnation are zero. */
  incarnation: u32
  /** Number of its precompiled contract; 0 for none. */
  precompile: u32
  /** Whether it had storage when the host was asked; if so, no contract may be created there (EIP-7610). */
  hasStorage: bool
  /** Whether it is warm at the beginning of each transaction. */
  isAlwaysWarm: bool
  /** Whether it is in the list of changed accounts. */
  isListed: bool
  nextListed: Account | null
  /** Linked list of its slots. */
  slots: Slot | null
  nonce: u64

  /** A word. */
  @inline
  get address(): usize {
    return changetype<usize>(this) + addressOffset
  }
  /** A word. */
  @inline
  get balance(): usize {
    return changetype<usize>(this) + balanceOffset
  }
  /** 32 bytes. */
  @inline
  get codeHash(): usize {
    return changetype<usize>(this) + codeHashOffset
  }
}

const addressOffset: usize = 64
export const balanceOffset: usize = 96
export const codeHashOffset: usize = 128
const accountBytes: usize = 160

@unmanaged
export class Slot extends Record {
  account: Account
  /** EIP-2929. */
  warmTx: u32
  /** The transaction for which `original` was stored; if that is an older one, the current value is the original. */
  originalTx: u32
  /** See accessList.ts. */
  seen: u32
  nextSeen: Slot | null
  incarnation: u32
  nextOfAccount: Slot | null

  /** A word, like the next two. */
  @inline
  get key(): usize {
    return changetype<usize>(this) + keyOffset
  }
  @inline
  get value(): usize {
    return changetype<usize>(this) + valueOffset
  }
  @inline
  get original(): usize {
    return changetype<usize>(this) + 96
  }
}

export const keyOffset: usize = 32
export const valueOffset: usize = 64
export const slotBytes: usize = 128
export const ownerOffset: usize = offsetof<Slot>('account')

const accounts = changetype<Table>(memory.data(offsetof<Table>(), 16))
const slots = changetype<Table>(memory.data(offsetof<Table>(), 16))
const records = changetype<Arena>(memory.data(offsetof<Arena>(), 16))

/** Head of the list of accounts that changed since the host last read it. */
let listed: Account | null = null

/** Call it after the heap was cleared. */
export function forgetAccounts(): void {
  accounts.forget()
  slots.forget()
  records.forget()
  listed = null
}

/** The account of an address (a word); asks the host the first time. */
export function findAccount(address: usize): Account {
  const hash = hashOfWord(address, 0)
  const place = accounts.placeFor(hash, addressOffset, address, hashOffset, hash)
  const found = load<u32>(place) as usize
  if (found != 0) return changetype<Account>(found)
  const account = loadAccount(address)
  accounts.put(place, hash, changetype<usize>(account))
  return account
}

function loadAccount(address: usize): Account {
  const account = changetype<Account>(records.take(accountBytes))
  memory.fill(changetype<usize>(account), 0, accountBytes)
  copyWord(address, account.address)
  writeAddress(address, exchange)
  if (readAccount()) {
    account.exists = 1
    account.nonce = bswap(load<u64>(exchange))
    reverseWord(exchange + 8, account.balance)
    memory.copy(account.codeHash, exchange + 40, 32)
    account.hasStorage = load<u8>(exchange, 72) != 0
  } else memory.copy(account.codeHash, emptyCodeHash, 32)
  account.precompile = load<u32>(exchange, 76)
  account.isAlwaysWarm = load<u8>(exchange, 73) != 0
  return account
}

/** The slot of an account (`key` is a word); asks the host the first time. */
export function findSlot(account: Account, key: usize): Slot {
  const hash = hashOfWord(key, changetype<usize>(account) as u64)
  const place = slots.placeFor(hash, keyOffset, key, ownerOffset, changetype<usize>(account) as u32)
  const found = load<u32>(place) as usize
  if (found != 0) {
    const slot = changetype<Slot>(found)
    if (slot.incarnation != account.incarnation) beginAnew(slot)
    return slot
  }
  const slot = loadSlot(account, key)
  slots.put(place, hash, changetype<usize>(slot))
  return slot
}

function beginAnew(slot: Slot): void {
  slot.incarnation = slot.account.incarnation
  slot.originalTx = 0
  clearWord(slot.value)
}

function loadSlot(account: Account, key: usize): Slot {
  const slot = changetype<Slot>(records.take(slotBytes))
  memory.fill(changetype<usize>(slot), 0, slotBytes)
  copyWord(key, slot.key)
  slot.account = account
  slot.incarnation = account.incarnation
  slot.nextOfAccount = account.slots
  account.slots = slot
  // For an account that was destroyed and created again, the host has the old account's slots.
  if (account.incarnation == 0 && account.exists != 0) {
    writeAddress(account.address, exchange)
    reverseWord(key, exchange + 20)
    if (readSlot()) reverseWord(exchange, slot.value)
  }
  return slot
}

export function codeOf(account: Account): Code {
  if (account.code == 0) account.code = changetype<usize>(findCode(account.codeHash))
  return changetype<Code>(account.code)
}

export function hasCode(account: Account): bool {
  return !equals(account.codeHash, emptyCodeHash)
}

/** Empty by EIP-161: nonce and balance are zero, and there is no code. */
export function isEmpty(account: Account): bool {
  return account.nonce == 0 && isZero(account.balance) && !hasCode(account)
}

/** Adds an account to the list of changed accounts. */
@inline
export function list(account: Account): void {
  if (account.isListed) return
  account.isListed = true
  account.nextListed = listed
  listed = account
}

/**
 * The first account of those that changed since the last call; the others follow by `nextListed`. Empties the list.
 */
export function takeListed(): Account | null {
  const first = listed
  let at = first
  while (at !== null) {
    at.isListed = false
    at = at.nextListed
  }
  listed = null
  return first
}
