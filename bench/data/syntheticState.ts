/**
 * States of any size, the same on every machine: slots that are written once in 1,000 contracts, and accounts with some
 * slots each. Written through the store's own block diffs, so that a server opens such a network like any other. Every
 * proof of it verifies against the state root of its head. These blocks have no transactions: the state is consistent,
 * but no execution leads to it.
 */

import type { Change } from '../../src/data/store/blockDiff.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { undoBlocks } from '../../src/data/store/tables.js'
import {
  type Address,
  concatBytes,
  hexToBytes,
  padLeft,
  toAddress,
  toMinimalBytes,
  writeUint32,
} from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { type AccountChange, DiffBuilder } from './diffBuilder.js'
import { scatter } from './scatter.js'

export interface StateSize {
  readonly accounts: number
  /** Slots of each account, from slot 0 on. */
  readonly slotsPerAccount: number
  /** Slots in {@link contracts} accounts of their own. */
  readonly slots: number
}

/** Raised with every change of the generated data: it is part of the name of a cached network. */
export const generatorVersion = 3

export const contracts = 1_000

/** Keys that are loaded between two calls of {@link settle}, which adds 12 MB, mostly headers. */
export const keysPerSettling = 5_000_000

/** Keys of one block: more keys take more memory, about 1 KB each. */
const keysPerBlockDefault = 100_000

export const contractAddress = (index: number): Address =>
  toAddress(keccak256(Uint8Array.of(0x5a, ...toMinimalBytes(index + 1))).slice(0, 20))

/** The contract of a slot, by its index. */
export const contractOf = (index: number): number => index % contracts

/** As scattered as the hashes of mappings. */
export function slotOf(index: number): Uint8Array {
  const slot = new Uint8Array(32)
  writeUint32(slot, scatter(index), 0)
  writeUint32(slot, scatter(index + 0x10000000), 14)
  writeUint32(slot, index, 28)
  return slot
}

/** The value of a slot: five or six bytes, like an amount; never zero. */
export const amountOf = (serial: number): Uint8Array =>
  concatBytes(Uint8Array.of(1), toMinimalBytes(scatter(serial) + 1))

/** Eight hex digits of a 32-bit number. */
const digits = (value: number): string => value.toString(16).padStart(8, '0')

/** Address of an account as hex; scattered like real ones, so that reads hit no neighbours. */
export function accountHex(index: number): string {
  return `0x${digits(scatter(index))}${'0'.repeat(24)}${digits(index)}`
}

export const accountAddress = (index: number): Address => toAddress(hexToBytes(accountHex(index)))

/**
 * The blocks that load a state. First contracts in the order of their rows, which then fill consecutive pages. Then
 * accounts in the order of their hashes in the trie, so that a block changes only its right edge.
 */
export function* loadBlocks(size: StateSize, keysPerBlock = keysPerBlockDefault): Generator<AccountChange[]> {
  const { accounts, slotsPerAccount, slots } = size
  const addresses = Array.from({ length: Math.min(contracts, slots) }, (_, index) => contractAddress(index))
  yield* inBlocks(inOrder(addresses), keysPerBlock, (contract) => {
    const own: Change[] = []
    for (let index = contract; index < slots; index += contracts) own.push([slotOf(index), amountOf(index)])
    return { address: addresses[contract] as Address, slots: own }
  })
  yield* inBlocks(inHashOrder(accounts, accountAddress), keysPerBlock, (index) => ({
    address: accountAddress(index),
    balance: 10n ** 18n + BigInt(index),
    slots: Array.from(
      { length: slotsPerAccount },
      (_, slot): Change => [padLeft(toMinimalBytes(slot), 32), amountOf(index * slotsPerAccount + slot)],
    ),
  }))
}

function* inBlocks(
  indexes: Iterable<number>,
  keysPerBlock: number,
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

/** Numbers from 0 on, in the order of their addresses. */
function inOrder(addresses: readonly Address[]): number[] {
  return [...addresses.keys()].sort((a, b) =>
    Buffer.compare(addresses[a] as Address, addresses[b] as Address),
  )
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

/**
 * Adds blocks without changes until all earlier ones are too old to be unwound, so that the pages of their undo records
 * are reused. Those are a fifth of a store that is loaded in one go.
 */
export async function settle(store: ChainWriter, builder: DiffBuilder): Promise<void> {
  for (let added = 0; added <= undoBlocks; added++) {
    store.beginBatch()
    store.apply(store.head.number, [builder.next([])])
    if (added % 512 === 0) await store.commitBatch()
  }
  await store.commitBatch()
}

/**
 * Writes the network into a new store at `path`. Some 65,000 slots per second of CPU, or 10,000 accounts with three
 * slots.
 */
export async function writeSyntheticNetwork(
  path: string,
  size: StateSize,
  keysPerBlock = keysPerBlockDefault,
): Promise<void> {
  const store = ChainWriter.openForWriting({ path })
  try {
    const builder = new DiffBuilder(store)
    let done = 0
    let settled = 0
    for (const changes of loadBlocks(size, keysPerBlock)) {
      store.beginBatch()
      store.apply(store.head.number, [builder.next(changes)])
      await store.commitBatch()
      for (const { slots } of changes) done += 1 + slots.length
      if (done - settled >= keysPerSettling) {
        await settle(store, builder)
        settled = done
      }
    }
  } finally {
    await store.close()
  }
}
