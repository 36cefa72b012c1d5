/**
 * The two networks that the store is measured with, the same on every machine: *wide*, many slots that are written once,
 * and *busy*, blocks of random changes to a state that is there.
 */
import {
  type Address,
  concatBytes,
  hexToBytes,
  toAddress,
  toMinimalBytes,
  writeUint32,
} from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import type { Change } from '../../src/store/blockDiff.js'
import { scatter } from '../data/scatter.js'
import { accountHex } from '../data/syntheticState.js'
import type { AccountChange } from './diffBuilder.js'

export const contracts = 1_000

/** Keys of one block while a network is loaded: more take more memory, about 1 KB each. */
const keysPerBlock = 100_000

export interface StateSize {
  /** Accounts without slots. */
  readonly accounts: number
  /** In {@link contracts} accounts of their own. */
  readonly slots: number
}

export const contractAddress = (index: number): Address =>
  toAddress(keccak256(Uint8Array.of(0x5a, ...toMinimalBytes(index + 1))).slice(0, 20))

export const accountAddress = (index: number): Address => toAddress(hexToBytes(accountHex(index)))

/** As scattered as the hashes that mappings make. */
export function slotOf(index: number): Uint8Array {
  const slot = new Uint8Array(32)
  writeUint32(slot, scatter(index), 0)
  writeUint32(slot, scatter(index + 0x10000000), 14)
  writeUint32(slot, index, 28)
  return slot
}

/** Five or six bytes, as an amount has. */
const amountOf = (serial: number): Uint8Array =>
  concatBytes(Uint8Array.of(1), toMinimalBytes(scatter(serial) + 1))

/** A contract that a slot is of, and its number there. */
export const contractOf = (index: number): number => index % contracts

/**
 * The blocks that load a state: contracts, then accounts, both in the order of their hashes in the trie. `isSorted`: contracts
 * in the order of their rows, which so follow each other in full pages; others split them in half.
 */
export function* loadBlocks({ accounts, slots }: StateSize, isSorted: boolean): Generator<AccountChange[]> {
  const count = Math.min(contracts, slots)
  const order = isSorted ? inAddressOrder(count, contractAddress) : inHashOrder(count, contractAddress)
  yield* inBlocks(order, (contract) => {
    const own: Change[] = []
    for (let index = contract; index < slots; index += contracts) own.push([slotOf(index), amountOf(index)])
    return { address: contractAddress(contract), slots: own }
  })
  yield* inBlocks(inHashOrder(accounts, accountAddress), (index) => ({
    address: accountAddress(index),
    balance: 10n ** 18n + BigInt(index),
    slots: [],
  }))
}

function* inBlocks(
  indexes: Iterable<number>,
  changeOf: (index: number) => AccountChange,
): Generator<AccountChange[]> {
  let block: AccountChange[] = []
  let keys = 0
  for (const index of indexes) {
    const change = changeOf(index)
    block.push(change)
    keys += 1 + change.slots.length
    if (keys < keysPerBlock) continue
    yield block
    block = []
    keys = 0
  }
  if (keys > 0) yield block
}

/** Numbers from 0 on, by the first bytes of the hashes of their addresses. */
function inHashOrder(count: number, addressOf: (index: number) => Address): number[] {
  const order = Float64Array.from({ length: count }, (_, index) => {
    const hash = keccak256(addressOf(index))
    const first = ((hash[0] as number) * 256 + (hash[1] as number)) * 256 + (hash[2] as number)
    return first * 2 ** 28 + index
  }).sort()
  return Array.from(order, (sorted) => sorted % 2 ** 28)
}

function inAddressOrder(count: number, addressOf: (index: number) => Address): number[] {
  const addresses = Array.from({ length: count }, (_, index) => addressOf(index))
  return [...addresses.keys()].sort((a, b) =>
    Buffer.compare(addresses[a] as Address, addresses[b] as Address),
  )
}

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
