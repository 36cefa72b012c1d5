/** Blocks of random changes to a state that is there. */
import type { Change } from '../../src/store/blockDiff.js'
import type { AccountChange } from '../data/diffBuilder.js'
import { scatter } from '../data/scatter.js'
import {
  accountAddress,
  amountOf,
  contractAddress,
  contractOf,
  type StateSize,
  slotOf,
} from '../data/syntheticState.js'

/** One block of `count` changes: random keys of a state, each once, in the proportion of its accounts and slots. */
export function randomChanges(size: StateSize, serial: number, count: number): AccountChange[] {
  const random = randomFrom(serial + 1)
  const accounts = new Map<number, bigint>()
  const slots = new Map<number, Map<number, Uint8Array>>()
  for (let made = 0; made < count; ) {
    const key = random(size.accounts + size.slots)
    const value = serial * count + made
    if (key < size.accounts) {
      if (accounts.has(key)) continue
      accounts.set(key, 10n ** 18n + BigInt(value) * 10n ** 9n)
    } else {
      const slot = key - size.accounts
      const contract = contractOf(slot)
      const own = slots.get(contract) ?? new Map<number, Uint8Array>()
      if (own.has(slot)) continue
      slots.set(contract, own.set(slot, amountOf(value)))
    }
    made++
  }
  return [
    ...Array.from(accounts, ([index, balance]) => ({ address: accountAddress(index), balance, slots: [] })),
    ...Array.from(slots, ([contract, own]) => ({
      address: contractAddress(contract),
      slots: Array.from(own, ([slot, value]): Change => [slotOf(slot), value]),
    })),
  ]
}

/** Numbers below a bound, from a seed (xorshift of 32 bits). */
export function randomFrom(seed: number): (bound: number) => number {
  let state = scatter(seed) || 1
  return (bound) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % bound
  }
}
