/**
 * The canonical blocks of a gateway that are in its log index: ranges of their numbers, ascending and not adjacent. One
 * range ends with the head. Another comes from archives, until the two meet. Each long outage of the upstreams adds one
 * more.
 */
import { readUint64, writeUint64 } from '../../primitives/bytes.js'
import { largest, smallest } from '../../primitives/extremes.js'

export type LogRange = readonly [first: number, last: number]

const rangeBytes = 16

export function decodeLogRanges(row: Uint8Array): LogRange[] {
  return Array.from({ length: row.length / rangeBytes }, (_, index) => [
    readUint64(row, index * rangeBytes),
    readUint64(row, index * rangeBytes + 8),
  ])
}

export function encodeLogRanges(ranges: readonly LogRange[]): Uint8Array {
  const row = new Uint8Array(ranges.length * rangeBytes)
  for (const [at, number] of ranges.flat().entries()) writeUint64(row, number, 8 * at)
  return row
}

/** The range that has this number; undefined if none has. */
export function logRangeAt(ranges: readonly LogRange[], number: number): LogRange | undefined {
  return ranges.find(([first, last]) => first <= number && number <= last)
}

/** The last number up to which the answer for `number` stays the same: in a range, or in none. */
export function lastAlike(ranges: readonly LogRange[], number: number): number {
  const next = ranges.find(([, last]) => last >= number)
  if (next === undefined) return Number.POSITIVE_INFINITY
  return next[0] <= number ? next[1] : next[0] - 1
}

/** The same ranges with one more number. */
export function withNumber(ranges: readonly LogRange[], number: number): LogRange[] {
  const below = ranges.filter(([, last]) => last < number - 1)
  const above = ranges.filter(([first]) => first > number + 1)
  const near = ranges.slice(below.length, ranges.length - above.length).flat()
  return [...below, [smallest([number, ...near]), largest([number, ...near])], ...above]
}

/** The same ranges without a number. */
export function withoutNumber(ranges: readonly LogRange[], number: number): LogRange[] {
  return ranges.flatMap(([first, last]): LogRange[] => {
    if (number < first || number > last) return [[first, last]]
    const parts: LogRange[] = [
      [first, number - 1],
      [number + 1, last],
    ]
    return parts.filter(([from, to]) => from <= to)
  })
}
