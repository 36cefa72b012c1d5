/**
 * Accounts as rows: without the parts that most accounts have in common. The RLP of an account is 68 bytes longer than
 * its nonce and balance. In most accounts 64 of them are the root of an empty trie and the hash of no code.
 *
 * The first byte is the form. 0: the RLP follows unchanged. Otherwise 1, plus 2 if the storage root follows, plus 4 if
 * the code hash follows; nonce and balance in RLP come last.
 */
import { hashBytes } from '../../../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot } from '../../../primitives/keccak.js'
import { Slab } from '../../../primitives/slab.js'

const asItIs = 0
const slim = 1
const withRoot = 2
const withCode = 4

/** RLP of a list of 56 to 255 bytes begins with this byte and its length. */
const listPrefix = 0xf8
const hashPrefix = 0xa0
/** Storage root and hash of code at the end of the RLP, each with its prefix. */
const tailBytes = 2 * (1 + hashBytes)
const headBytes = 2

/** The row of an account from its RLP; empty stays empty. Bytes that are no account are kept unchanged. */
export function slimAccount(rlp: Uint8Array): Uint8Array {
  if (rlp.length === 0) return rlp
  const rootAt = rlp.length - tailBytes
  const codeAt = rootAt + 1 + hashBytes
  const isAccount =
    rootAt >= headBytes &&
    rlp[0] === listPrefix &&
    rlp[1] === rlp.length - headBytes &&
    rlp[rootAt] === hashPrefix &&
    rlp[codeAt] === hashPrefix
  if (!isAccount) return joined(asItIs, rlp)
  const hasRoot = !hasHash(rlp, rootAt + 1, emptyTrieRoot)
  const hasCode = !hasHash(rlp, codeAt + 1, emptyCodeHash)
  const kind = slim + (hasRoot ? withRoot : 0) + (hasCode ? withCode : 0)
  const row = new Uint8Array(1 + (hasRoot ? hashBytes : 0) + (hasCode ? hashBytes : 0) + rootAt - headBytes)
  row[0] = kind
  let at = 1
  if (hasRoot) at = copyTo(row, at, rlp, rootAt + 1, codeAt)
  if (hasCode) at = copyTo(row, at, rlp, codeAt + 1, rlp.length)
  copyTo(row, at, rlp, headBytes, rootAt)
  return row
}

/** Most accounts are decoded at once. A caller that keeps one keeps no more memory than this. */
const slab = new Slab(2_048)

/** The inverse of {@link slimAccount}. Throws RangeError for a malformed row. */
export function fullAccount(row: Uint8Array): Uint8Array {
  const kind = row[0]
  if (kind === undefined) return row
  if (kind === asItIs) return row.subarray(1)
  const hasRoot = (kind & withRoot) !== 0
  const hasCode = (kind & withCode) !== 0
  const restAt = 1 + (hasRoot ? hashBytes : 0) + (hasCode ? hashBytes : 0)
  const restBytes = row.length - restAt
  const length = restBytes + tailBytes
  if ((kind & ~(withRoot | withCode)) !== slim || restBytes < 0 || length > 0xff) {
    throw new RangeError(`a row of an account begins with ${kind} and has ${row.length} bytes`)
  }
  const rlp = slab.take(headBytes + length)
  rlp[0] = listPrefix
  rlp[1] = length
  copyTo(rlp, headBytes, row, restAt, row.length)
  const rootAt = headBytes + restBytes
  rlp[rootAt] = hashPrefix
  if (hasRoot) copyTo(rlp, rootAt + 1, row, 1, 1 + hashBytes)
  else rlp.set(emptyTrieRoot, rootAt + 1)
  rlp[rootAt + 1 + hashBytes] = hashPrefix
  if (hasCode) copyTo(rlp, rootAt + 2 + hashBytes, row, restAt - hashBytes, restAt)
  else rlp.set(emptyCodeHash, rootAt + 2 + hashBytes)
  return rlp
}

function hasHash(bytes: Uint8Array, at: number, hash: Uint8Array): boolean {
  for (let i = 0; i < hashBytes; i++) if (bytes[at + i] !== hash[i]) return false
  return true
}

/** Copies in a loop: for so few bytes a view takes longer. */
function copyTo(target: Uint8Array, at: number, source: Uint8Array, start: number, end: number): number {
  for (let from = start; from < end; from++) target[at++] = source[from] as number
  return at
}

function joined(first: number, rest: Uint8Array): Uint8Array {
  const row = new Uint8Array(1 + rest.length)
  row[0] = first
  row.set(rest, 1)
  return row
}
