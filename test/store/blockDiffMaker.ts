/** Block diffs of random content, for tests of what a store does with them. */
import fc from 'fast-check'
import {
  type Address,
  bytesToHex,
  concatBytes,
  type Hash32,
  hexToBytes,
  toHash32,
} from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import type { BlockDiff, Change } from '../../src/store/blockDiff.js'

/** Neighbours, and those at both ends of the key space. */
export const addresses = [
  '00'.repeat(20),
  `${'00'.repeat(19)}01`,
  `${'ff'.repeat(19)}fe`,
  'ff'.repeat(20),
].map((hex) => hexToBytes(hex) as Uint8Array as Address)
export const slots = [
  '00'.repeat(32),
  `${'00'.repeat(31)}01`,
  `${'00'.repeat(12)}${'ff'.repeat(20)}`,
  'ff'.repeat(32),
].map((hex) => toHash32(hexToBytes(hex)))
export const slotKeys = addresses.flatMap((address) => slots.map((slot) => concatBytes(address, slot)))

const row = fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ minLength: 1, maxLength: 8 }))
const changesOf = (keys: readonly Uint8Array[]) =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...keys), row), {
      selector: ([key]) => bytesToHex(key),
      maxLength: 6,
    })
    .map((list): Change[] => [...list].sort(([a], [b]) => Buffer.compare(a, b)))
export const content = fc.record({
  accounts: changesOf(addresses),
  slots: changesOf(slotKeys),
  transactions: fc.nat(3),
  logs: fc.array(
    fc.record({
      address: fc.constantFrom(...addresses),
      topics: fc.array(fc.constantFrom(...slots), { maxLength: 4 }),
    }),
    { maxLength: 4 },
  ),
})
export type Content = typeof content extends fc.Arbitrary<infer C> ? C : never

let made = 0

/** Each log in a receipt of its own, of both kinds that there are. */
function receiptsWith(logs: Content['logs']): Uint8Array {
  return encodeRlp(
    logs.map(({ address, topics }, at) => {
      const log = [address, topics, Uint8Array.of(7)]
      const receipt = encodeRlp([Uint8Array.of(1), Uint8Array.of(at + 1), new Uint8Array(256), [log]])
      return at % 2 === 0 ? receipt : concatBytes(Uint8Array.of(2), receipt)
    }),
  )
}

/** A block diff whose hashes occur nowhere else; the store does not look into its RLP. */
export function makeBlockDiff(
  number: number,
  parentHash: Hash32,
  { accounts, slots, transactions, logs }: Content,
): BlockDiff {
  const unique = () => keccak256(Buffer.from(`${made++}`))
  const hash = unique()
  const senders = concatBytes(
    ...Array.from({ length: transactions }, () => concatBytes(new Uint8Array(20).fill(number), unique())),
  )
  return {
    number,
    hash,
    parentHash,
    header: concatBytes(Uint8Array.of(number), hash),
    body: concatBytes(Uint8Array.of(0xb0), hash),
    senders,
    receipts: receiptsWith(logs),
    totalDifficulty: number === 0 ? new Uint8Array(0) : Uint8Array.of(number),
    accounts,
    slots,
    nodes: [[unique(), Uint8Array.of(1, number)]],
    code: [[unique(), Uint8Array.of(2, number)]],
  }
}

export const zeroHash = toHash32(new Uint8Array(32))
