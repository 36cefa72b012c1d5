/** Earlier contents of a trie row: applies several differences at once. Their layout is in trieRow.ts. */
import { absent, childEnd, readSet, spliceBytes, splicePrefix, writeSet } from './trieRow.js'

/** More than two lengths of one byte and the bytes between them: no spliced child is longer. */
const splicedBytesMax = 1_024

/** Spliced children, each at its own place: copies of them would take longer than all else. */
const splicedBytes = new Uint8Array(16 * splicedBytesMax)

/** Buffer of each child of the result: an array for each would be garbage at once. */
const sources: Uint8Array[] = new Array<Uint8Array>(16).fill(splicedBytes)
const starts = new Int32Array(16)
/** Equals the start for an absent child. */
const ends = new Int32Array(16)

/**
 * The earlier content of a row, in memory of its own. `spans`: start and end of each difference in `older`, the latest
 * first. Only the children that differ are touched, so it takes as long as reading the row. Throws RangeError for a
 * malformed content or difference.
 */
export function contentBefore(content: Uint8Array, older: Uint8Array, spans: readonly number[]): Uint8Array {
  const childrenAt = placeChildren(content)
  for (let span = 0; span < spans.length; span += 2)
    takeBack(older, spans[span] as number, spans[span + 1] as number)
  let present = 0
  let length = childrenAt
  for (let nibble = 0; nibble < 16; nibble++) {
    const start = starts[nibble] as number
    const end = ends[nibble] as number
    if (start === end) continue
    present |= 1 << nibble
    length += end - start
  }
  if (present === 0) throw notOne()
  const before = new Uint8Array(length)
  for (let at = 0; at < childrenAt - 2; at++) before[at] = content[at] as number
  writeSet(before, childrenAt - 2, present)
  let used = childrenAt
  for (let nibble = 0; nibble < 16; nibble++) {
    const source = sources[nibble] as Uint8Array
    const start = starts[nibble] as number
    const end = ends[nibble] as number
    const isSpliced = source === splicedBytes && start < end
    for (let at = start; at < end; at++) before[used++] = source[at] as number
    if (isSpliced && childEnd(before, used - (end - start)) !== used) throw notOne()
  }
  return before
}

const notOne = () => new RangeError('not a difference of trie rows')

/** Records the current children. Returns the offset of the first. */
function placeChildren(content: Uint8Array): number {
  const childrenAt = 3 + (((content[0] as number) + 1) >> 1)
  if (content.length <= childrenAt) throw new RangeError('not a trie row')
  const present = readSet(content, childrenAt - 2)
  let at = childrenAt
  for (let nibble = 0; nibble < 16; nibble++) {
    sources[nibble] = content
    starts[nibble] = at
    if (present & (1 << nibble)) at = childEnd(content, at)
    ends[nibble] = at
  }
  if (present === 0 || at !== content.length) throw new RangeError('not a trie row')
  return childrenAt
}

/** Reverts the difference from `start` to `end`. */
function takeBack(older: Uint8Array, start: number, end: number): void {
  const changed = end - start > 2 ? readSet(older, start) : 0
  let at = start + 2
  for (let nibble = 0; nibble < 16; nibble++) {
    if ((changed & (1 << nibble)) === 0) continue
    if (older[at] === splicePrefix) {
      at = splice(nibble, older, at)
      continue
    }
    sources[nibble] = older
    starts[nibble] = at
    const isAbsent = older[at] === absent
    at = childEnd(older, at)
    ends[nibble] = isAbsent ? (starts[nibble] as number) : at
  }
  if (at !== end || changed === 0) throw notOne()
}

/** Restores the middle of a child from the splice at `at`, and returns where that ends. */
function splice(nibble: number, older: Uint8Array, at: number): number {
  const begin = older[at + 1] as number
  const rest = older[at + 2] as number
  const middle = older[at + 3] as number
  const length = (ends[nibble] as number) - (starts[nibble] as number)
  if (!(begin + rest <= length) || length > splicedBytesMax || !(at + spliceBytes + middle <= older.length))
    throw notOne()
  const place = nibble * splicedBytesMax
  if (sources[nibble] !== splicedBytes) {
    const source = sources[nibble] as Uint8Array
    const start = starts[nibble] as number
    for (let i = 0; i < length; i++) splicedBytes[place + i] = source[start + i] as number
    sources[nibble] = splicedBytes
    starts[nibble] = place
  }
  if (begin + middle + rest !== length)
    splicedBytes.copyWithin(place + begin + middle, place + length - rest, place + length)
  ends[nibble] = place + begin + middle + rest
  const from = at + spliceBytes
  for (let i = 0; i < middle; i++) splicedBytes[place + begin + i] = older[from + i] as number
  return from + middle
}
