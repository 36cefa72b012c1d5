/** Block diffs of random content, for tests of stores. */
import fc from 'fast-check'
import type { BlockDiff, Change } from '../../src/data/store/blockDiff.js'
import { encodeTrieRow } from '../../src/data/store/layouts/trieRow.js'
import { accountTrie, storageTrie, trieKey } from '../../src/data/store/trieRows.js'
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

/** Neighbouring addresses, and addresses at both ends of the key space. */
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

/** Rows of tries above and below each other, some that replace others in one child alone. */
export const trieKeys = [
  accountTrie,
  storageTrie(addresses[0] as Address),
  storageTrie(addresses[3] as Address),
].flatMap((owner) => [[], [0], [15], [0, 0], [15, 3]].map((path) => trieKey(owner, Uint8Array.from(path))))
const child = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  fc.nat(3).map((fill) => new Uint8Array(33).fill(fill).fill(0xa0, 0, 1)),
  fc.nat(3).map((fill) => encodeRlp([new Uint8Array(30).fill(0x3f), new Uint8Array(8).fill(fill)])),
)
const trieRow = fc
  .record({
    extension: fc.constantFrom(Uint8Array.of(), Uint8Array.of(1, 2, 3)),
    children: fc.array(child, { minLength: 16, maxLength: 16 }),
    only: fc.nat(3).map((fill) => encodeRlp([new Uint8Array(33).fill(0x20), new Uint8Array(8).fill(fill)])),
  })
  .map(({ extension, children, only }) =>
    children.some((each) => each !== undefined)
      ? encodeTrieRow({ extension, children, leaf: undefined })
      : encodeTrieRow({ extension: new Uint8Array(0), children, leaf: only }),
  )
const trieChanges = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...trieKeys), fc.oneof(fc.constant(new Uint8Array(0)), trieRow)), {
    selector: ([key]) => bytesToHex(key),
    maxLength: 6,
  })
  .map((list): Change[] => [...list].sort(([a], [b]) => Buffer.compare(a, b)))
export const content = fc.record({
  accounts: changesOf(addresses),
  slots: changesOf(slotKeys),
  trie: trieChanges,
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

/** Each log in a receipt of its own; receipts are of both kinds, legacy and typed. */
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
  { accounts, slots, trie, transactions, logs }: Content,
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
    trie,
    code: [[unique(), Uint8Array.of(2, number)]],
  }
}

export const zeroHash = toHash32(new Uint8Array(32))
