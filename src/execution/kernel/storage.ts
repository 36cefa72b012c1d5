/**
 * SLOAD and SSTORE, TLOAD and TSTORE: their gas and effect. Owns transient storage (EIP-1153): slots that are initially
 * zero and last as long as the transaction.
 */
import { seeNamedSlot, seePaidSlot } from './accessList'
import { Account, findSlot, keyOffset, ownerOffset, Slot, slotBytes } from './accounts'
import { Failure, Frame } from './frame'
import { fail, failAfter } from './frames'
import { originalOf, refund, setRefund, setSlot, setValue, transactionArena, warmSlot } from './journal'
import { noteSstore } from './needs'
import {
  clearedSlotRefund,
  coldSlotGas,
  dirtySlotGas,
  Fork,
  has,
  newSlotStateGas,
  resetSlotGas,
  setSlotGas,
  sstoreSentryGas,
  warmAccessGas,
  warmWriteGas,
} from './rules'
import { payStateGas, refillStateGas } from './stateGas'
import { hashOfWord, Table } from './table'
import { traceCost } from './trace'
import { copyWord, equals, isZero } from './word'

/** SLOAD: replaces the key at `key` with the value. Returns the remaining gas, negative for a failure. */
export function loadSlot(frame: Frame, key: usize, gas: i64): i64 {
  const slot = findSlot(frame.account, key)
  seeNamedSlot(slot)
  if (has(Fork.Berlin)) gas -= warmSlot(slot) ? warmAccessGas : coldSlotGas
  if (gas < 0) return failAfter(gas, Failure.OutOfGas)
  seePaidSlot(slot)
  traceCost(0x54, gas)
  copyWord(slot.value, key)
  return gas
}

export function storeSlot(frame: Frame, key: usize, value: usize, gas: i64): i64 {
  const slot = findSlot(frame.account, key)
  seeNamedSlot(slot)
  if (frame.isStatic) return fail(Failure.WriteRefused)
  noteSstore(frame, gas)
  if (has(Fork.Istanbul) && gas <= sstoreSentryGas) return fail(Failure.SentryReached)
  if (has(Fork.Berlin)) gas -= warmSlot(slot) ? warmWriteGas : coldSlotGas
  // Gas above the sentry always pays for the access.
  seePaidSlot(slot)
  const isNet = has(Fork.Istanbul) || (has(Fork.Constantinople) && !has(Fork.Petersburg))
  gas -= isNet ? netGas(slot, value) : grossGas(slot, value)
  if (gas < 0) return failAfter(gas, Failure.OutOfGas)
  if (newSlotStateGas != 0 && isZero(originalOf(slot)) && isZero(slot.value) != isZero(value)) {
    const left = isZero(value)
      ? gas + refillStateGas(frame, newSlotStateGas)
      : payStateGas(frame, newSlotStateGas, gas)
    if (left < 0) return failAfter(gas, Failure.OutOfGas)
    gas = left
  }
  traceCost(0x55, gas)
  if (!equals(slot.value, value)) setSlot(slot, value)
  return gas
}

/** Gas of SSTORE before EIP-1283 (yellow paper). */
function grossGas(slot: Slot, value: usize): i64 {
  const wasZero = isZero(slot.value)
  const isToBeZero = isZero(value)
  if (wasZero && !isToBeZero) return setSlotGas
  if (!wasZero && isToBeZero) setRefund(refund + clearedSlotRefund)
  return resetSlotGas
}

/** Gas of SSTORE by EIP-1283, EIP-2200, EIP-2929 and EIP-3529, which differ only in numbers. */
function netGas(slot: Slot, value: usize): i64 {
  if (equals(slot.value, value)) return dirtySlotGas
  const original = originalOf(slot)
  if (equals(original, slot.value)) {
    if (isZero(original)) return setSlotGas
    if (isZero(value)) setRefund(refund + clearedSlotRefund)
    return resetSlotGas
  }
  let change: i64 = 0
  if (!isZero(original)) {
    if (isZero(slot.value)) change -= clearedSlotRefund
    else if (isZero(value)) change += clearedSlotRefund
  }
  if (equals(original, value)) change += (isZero(original) ? setSlotGas : resetSlotGas) - dirtySlotGas
  setRefund(refund + change)
  return dirtySlotGas
}

const transients = changetype<Table>(memory.data(offsetof<Table>(), 16))

export function startTransients(): void {
  transients.clear()
}

/** Call it after the heap was cleared. */
export function forgetTransients(): void {
  transients.forget()
}

/** The transient slot of an account; `key` is a word. */
function findTransient(account: Account, key: usize): Slot {
  const hash = hashOfWord(key, changetype<usize>(account) as u64)
  const place = transients.placeFor(hash, keyOffset, key, ownerOffset, changetype<usize>(account) as u32)
  const found = load<u32>(place) as usize
  if (found != 0) return changetype<Slot>(found)
  const slot = changetype<Slot>(transactionArena.take(slotBytes))
  memory.fill(changetype<usize>(slot), 0, slotBytes)
  slot.account = account
  copyWord(key, slot.key)
  transients.put(place, hash, changetype<usize>(slot))
  return slot
}

/** TLOAD: replaces the key at `key` with the value. */
export function loadTransient(frame: Frame, key: usize): void {
  copyWord(findTransient(frame.account, key).value, key)
}

export function storeTransient(frame: Frame, key: usize, value: usize): void {
  setValue(findTransient(frame.account, key), value)
}
