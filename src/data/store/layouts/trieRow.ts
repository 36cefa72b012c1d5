/**
 * A row of a trie: a branch with the extension before it, its leaves and short nodes. Branches below it have rows of
 * their own. Owns the layout of the content of rows and of the differences between two contents; trieRowBefore.ts
 * reverts differences. trieRows.ts owns the keys.
 *
 *   content      nibbles of the extension before the branch (1 byte, 0 for none), two to a byte, the last half empty ‖
 *                which of 16 children there are (2 bytes, the lowest bit for the first) ‖ those children in order. A
 *                trie of one leaf has no children, and its leaf in their place.
 *   child        0xa0 ‖ hash (32 bytes): a branch, or the extension before it, which has a row of its own; the RLP of a
 *                leaf (yellow paper, appendix D), however long, or of a node that is shorter than its hash; length ‖ so
 *                much of the RLP of a leaf that ends with {@link plainEnd}.
 *   difference   which children differ (2 bytes) ‖ the earlier child for each: 0x80 if it was absent; or a child as
 *                above; or, if that is shorter, 0xa1 ‖ numbers of bytes at its begin and at its end that equal the
 *                later child (1 byte each) ‖ number of bytes between (1 byte) ‖ these. So for a leaf only the value is
 *                stored.
 *
 * Leaves are stored in the row of their branch, because most branches are above leaves. A row for each leaf, and its
 * hash in another row, would double the size of a leaf.
 */
import { concatBytes } from '../../../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot } from '../../../primitives/keccak.js'
import { rlpEndAt } from '../../../primitives/rlp.js'
import { Slab } from '../../../primitives/slab.js'

/** A decoded row. Bytes are views of the row, or shared. */
export interface TrieRow {
  /** A nibble per byte; empty if the branch has no extension before it. */
  readonly extension: Uint8Array
  /** 16: the RLP of a hash (33 bytes), or a node's own RLP; undefined for none. */
  readonly children: (Uint8Array | undefined)[]
  /** The RLP of the only leaf of a trie, which then has no children. */
  readonly leaf: Uint8Array | undefined
}

/**
 * End of the RLP of an account with neither storage nor code. Most leaves of an account trie end so, and this end is
 * half of their bytes.
 */
const plainEnd = concatBytes(Uint8Array.of(0xa0), emptyTrieRoot, Uint8Array.of(0xa0), emptyCodeHash)

const hashPrefix = 0xa0
const hashedBytes = 33
/** In a difference: the child was absent. */
export const absent = 0x80
/** In a difference: only the middle of the child follows. */
export const splicePrefix = 0xa1
/** Bytes of a splice before its middle. */
export const spliceBytes = 4
const listBase = 0xc0
const noNibbles = new Uint8Array(0)

const slab = new Slab()

/** Allocates memory for contents and rows; they live until their block is stored. */
export const takeBytes = (length: number): Uint8Array => slab.take(length)

/** Throws RangeError for a leaf that cannot be in a trie of accounts or slots. */
export function encodeTrieRow({ extension, children, leaf }: TrieRow): Uint8Array {
  const childrenAt = 3 + ((extension.length + 1) >> 1)
  let length = childrenAt + (leaf === undefined ? 0 : packedLength(leaf))
  let present = 0
  for (let nibble = 0; nibble < 16; nibble++) {
    const child = children[nibble]
    if (child === undefined) continue
    present |= 1 << nibble
    length += packedLength(child)
  }
  const content = takeBytes(length)
  content[0] = extension.length
  for (let at = 0; at < extension.length; at++) {
    const pair = 1 + (at >> 1)
    content[pair] =
      at & 1 ? (content[pair] as number) | (extension[at] as number) : (extension[at] as number) << 4
  }
  writeSet(content, childrenAt - 2, present)
  let at = childrenAt
  if (leaf !== undefined) at = pack(content, at, leaf)
  for (let nibble = 0; nibble < 16; nibble++) {
    const child = children[nibble]
    if (child !== undefined) at = pack(content, at, child)
  }
  return content
}

/** Throws RangeError for a malformed content. */
export function decodeTrieRow(content: Uint8Array): TrieRow {
  return unpackRow(splitContent(content))
}

/** Completes the leaves of a row of {@link splitContent}; all new bytes share one buffer. */
export function unpackRow({ extension, children, leaf }: TrieRow): TrieRow {
  let bytes = 0
  for (const child of children) bytes += unpackedBytes(child)
  const memory = new Uint8Array(bytes + unpackedBytes(leaf))
  let used = 0
  const unpack = (child: Uint8Array | undefined): Uint8Array | undefined => {
    const length = unpackedBytes(child)
    if (child === undefined || length === 0) return child
    const whole = memory.subarray(used, used + length)
    used += length
    whole.set(child.subarray(1))
    whole.set(plainEnd, length - plainEnd.length)
    return whole
  }
  return { extension, children: children.map(unpack), leaf: unpack(leaf) }
}

/** Sets `begin` and `end` of {@link same}: how many bytes a child shares with the later one. Neither is a hash. */
function compareChildren(
  a: Uint8Array,
  from: number,
  fromEnd: number,
  b: Uint8Array,
  to: number,
  toEnd: number,
): void {
  const most = Math.min(fromEnd - from, toEnd - to, 0xff)
  let begin = 0
  while (begin < most && a[from + begin] === b[to + begin]) begin++
  let end = 0
  while (end < most - begin && a[fromEnd - 1 - end] === b[toEnd - 1 - end]) end++
  same.begin = begin
  same.end = end
}

/** Result of the last comparison: an object for each would take longer than the comparison. */
const same = { begin: 0, end: 0 }

/** Decodes a {@link TrieRow} with children as they are stored in the row. */
export function splitContent(content: Uint8Array): TrieRow {
  const nibbles = content[0] as number
  const childrenAt = 3 + ((nibbles + 1) >> 1)
  if (content.length <= childrenAt) throw new RangeError('not a trie row')
  const present = readSet(content, childrenAt - 2)
  const children: (Uint8Array | undefined)[] = []
  let at = childrenAt
  for (let nibble = 0; nibble < 16; nibble++) {
    if ((present & (1 << nibble)) === 0) {
      children.push(undefined)
      continue
    }
    const end = childEnd(content, at)
    children.push(content.subarray(at, end))
    at = end
  }
  const leaf = present === 0 ? content.subarray(at, childEnd(content, at)) : undefined
  if (at + (leaf?.length ?? 0) !== content.length) throw new RangeError('not a trie row')
  return { extension: nibbles === 0 ? noNibbles : readNibbles(content, nibbles), children, leaf }
}

/**
 * The difference that turns content `after` back into `before`, valid until the next call. Returns undefined if more
 * than children differ, or if the difference is not shorter than the whole.
 */
export function differenceOf(before: Uint8Array, after: Uint8Array): Uint8Array | undefined {
  const childrenAt = 3 + (((before[0] as number) + 1) >> 1)
  for (let at = 0; at < childrenAt - 2; at++) if (before[at] !== after[at]) return undefined
  const was = readSet(before, childrenAt - 2)
  const is = readSet(after, childrenAt - 2)
  if (was === 0 || is === 0) return undefined
  // A view of each child would take longer than all other work here.
  const scratch = differenceBytes
  let changed = 0
  let at = 2
  for (let nibble = 0, from = childrenAt, to = childrenAt; nibble < 16; nibble++) {
    const bit = 1 << nibble
    const fromEnd = was & bit ? childEnd(before, from) : from
    const toEnd = is & bit ? childEnd(after, to) : to
    if (!isSame(before, from, fromEnd, after, to, toEnd)) {
      changed |= bit
      const length = fromEnd - from
      if (at + length + 1 >= before.length || at + length + 1 > scratch.length) return undefined
      if (length === 0) scratch[at++] = absent
      else {
        let begin = 0
        let end = 0
        if (length > spliceBytes && toEnd > to && before[from] !== hashPrefix) {
          compareChildren(before, from, fromEnd, after, to, toEnd)
          begin = same.begin
          end = same.end
        }
        const isSpliced = begin + end > spliceBytes
        if (!isSpliced) begin = end = 0
        else {
          scratch[at++] = splicePrefix
          scratch[at++] = begin
          scratch[at++] = end
          scratch[at++] = length - begin - end
        }
        for (let i = from + begin; i < fromEnd - end; i++) scratch[at++] = before[i] as number
      }
    }
    from = fromEnd
    to = toEnd
  }
  writeSet(scratch, 0, changed)
  return scratch.subarray(0, at)
}

/** More than any row has: 16 leaves of accounts. */
const differenceBytes = new Uint8Array(4_096)

function isSame(
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): boolean {
  if (aEnd - aStart !== bEnd - bStart) return false
  for (let at = aStart, other = bStart; at < aEnd; at++, other++) if (a[at] !== b[other]) return false
  return true
}

/** End of the child at `at`. Throws RangeError if there is none. */
export function childEnd(bytes: Uint8Array, at: number): number {
  const first = bytes[at]
  let end: number
  if (first === undefined) end = Number.NaN
  else if (first === hashPrefix) end = at + hashedBytes
  else if (first >= listBase) end = rlpEndAt(bytes, at)
  else if (first < absent) end = at + 1 + first
  else end = first === absent ? at + 1 : Number.NaN
  if (!(end <= bytes.length)) throw new RangeError('not a child of a trie row')
  return end
}

/** Only leaves are that long. */
const plainBytesMin = plainEnd.length + 34

function isPlain(child: Uint8Array): boolean {
  const at = child.length - plainEnd.length
  if (child.length < plainBytesMin || (child[0] as number) < listBase) return false
  for (let i = 0; i < plainEnd.length; i++) if (child[at + i] !== plainEnd[i]) return false
  return true
}

function packedLength(child: Uint8Array): number {
  return isPlain(child) ? 1 + child.length - plainEnd.length : child.length
}

function pack(target: Uint8Array, at: number, child: Uint8Array): number {
  if (!isPlain(child)) {
    target.set(child, at)
    return at + child.length
  }
  const length = child.length - plainEnd.length
  if (length >= absent) throw new RangeError('a leaf with a longer value than accounts have')
  target[at] = length
  for (let i = 0; i < length; i++) target[at + 1 + i] = child[i] as number
  return at + 1 + length
}

/** Full length of a leaf that is stored without its end; 0 for other children. */
function unpackedBytes(child: Uint8Array | undefined): number {
  const length = child === undefined ? absent : (child[0] as number)
  return length < absent ? length + plainEnd.length : 0
}

function readNibbles(content: Uint8Array, count: number): Uint8Array {
  const nibbles = new Uint8Array(count)
  for (let at = 0; at < count; at++) {
    const pair = content[1 + (at >> 1)] as number
    nibbles[at] = at & 1 ? pair & 15 : pair >> 4
  }
  return nibbles
}

/** A set of children, two bytes: bit n is set if there is a child n. */
export function readSet(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
}

export function writeSet(bytes: Uint8Array, at: number, set: number): void {
  bytes[at] = set >> 8
  bytes[at + 1] = set & 0xff
}
