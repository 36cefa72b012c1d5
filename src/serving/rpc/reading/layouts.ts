/**
 * The layouts of clients' calls: the text around the id, the method and the parameters, which is the same in all calls
 * of a client. Most calls have a known layout and are recognised by comparison, without reading each byte (scenario
 * `slots-1k`). Other calls are scanned (scan.ts), and their layout is stored.
 */
import {
  byteAt,
  callBytes,
  integerEnd,
  isAt,
  isDigit,
  type Pattern,
  patternOf,
  stringEnd,
} from './callText.js'
import type { CallSpans } from './scan.js'

/** The texts around the parts of a call, in order; {@link isIdLast} gives the order of the parts. */
interface Layout {
  /** Whether the order is method, params, id; else it is id, method, params. */
  readonly isIdLast: boolean
  readonly first: Pattern
  readonly second: Pattern
  readonly third: Pattern
  readonly last: Pattern
}

/** A server has few kinds of clients. */
const layoutsMax = 8
/** Bytes of all texts of a layout: usual ones have some 45. */
const layoutBytesMax = 128

/**
 * Frequent layouts come first. A layout moves up when a call has it, and a new one replaces the last, so rare ones are
 * dropped.
 */
const layouts: Layout[] = []

const quote = 0x22
const minus = 0x2d
const openBracket = 0x5b
const closeBracket = 0x5d

/**
 * Finds the parts of the call between `start` and `end` by its layout and fills `spans`; false if no layout fits. If
 * the bytes between `paramsStart` and `paramsEnd` are then a JSON array of ASCII, `scanCall` reads the call too.
 */
export function findByLayout(start: number, end: number, spans: CallSpans): boolean {
  for (let place = 0; place < layouts.length; place++) {
    const layout = layouts[place] as Layout
    if (!isAt(start, layout.first)) continue
    const { isIdLast } = layout
    if (isIdLast && !fitsIdLast(layout, start, end, spans)) continue
    if (!isIdLast && !fitsIdFirst(layout, start, end, spans)) continue
    if (byteAt(spans.paramsStart) !== openBracket || byteAt(spans.paramsEnd - 1) !== closeBracket) continue
    if (place > 0) {
      layouts[place] = layouts[place - 1] as Layout
      layouts[place - 1] = layout
    }
    return true
  }
  return false
}

function fitsIdFirst(
  { first, second, third, last }: Layout,
  start: number,
  end: number,
  spans: CallSpans,
): boolean {
  spans.idStart = start + first.length
  spans.idEnd = idEnd(spans.idStart)
  if (spans.idEnd < 0 || !isAt(spans.idEnd, second)) return false
  spans.methodStart = spans.idEnd + second.length
  spans.methodEnd = stringEnd(spans.methodStart - 1) - 1
  if (spans.methodEnd < 0 || !isAt(spans.methodEnd, third)) return false
  spans.paramsStart = spans.methodEnd + third.length
  spans.paramsEnd = end - last.length
  return spans.paramsEnd > spans.paramsStart && isAt(spans.paramsEnd, last)
}

function fitsIdLast(
  { first, second, third, last }: Layout,
  start: number,
  end: number,
  spans: CallSpans,
): boolean {
  spans.methodStart = start + first.length
  spans.methodEnd = stringEnd(spans.methodStart - 1) - 1
  if (spans.methodEnd < 0 || !isAt(spans.methodEnd, second)) return false
  spans.paramsStart = spans.methodEnd + second.length
  spans.idEnd = end - last.length
  if (!isAt(spans.idEnd, last)) return false
  spans.idStart = idStart(spans.idEnd)
  spans.paramsEnd = spans.idStart - third.length
  const isThere = spans.paramsEnd > spans.paramsStart && isAt(spans.paramsEnd, third)
  return isThere && idEnd(spans.idStart) === spans.idEnd
}

function idEnd(start: number): number {
  return byteAt(start) === quote ? stringEnd(start) : integerEnd(start)
}

/** The possible start of an id that ends at `end`. */
function idStart(end: number): number {
  let at = end - 1
  if (byteAt(at) === quote) {
    at--
    while (at > 0 && byteAt(at) !== quote) at--
    return at
  }
  while (at > 0 && isDigit(at)) at--
  return byteAt(at) === minus ? at : at + 1
}

export function keepLayout(start: number, end: number, spans: Readonly<CallSpans>): void {
  const { idStart, idEnd, methodStart, methodEnd, paramsStart, paramsEnd } = spans
  const isIdLast = idStart > methodStart
  const ends = isIdLast
    ? [start, methodStart, methodEnd, paramsStart, paramsEnd, idStart, idEnd, end]
    : [start, idStart, idEnd, methodStart, methodEnd, paramsStart, paramsEnd, end]
  if (paramsEnd === 0 || ends.some((at, i) => i > 0 && at < (ends[i - 1] as number))) return
  const text = (from: number) => patternOf(callBytes.subarray(ends[from], ends[from + 1]))
  const layout = { isIdLast, first: text(0), second: text(2), third: text(4), last: text(6) }
  const { first, second, third, last } = layout
  if (first.length + second.length + third.length + last.length > layoutBytesMax) return
  layouts.length = Math.min(layouts.length, layoutsMax - 1)
  layouts.push(layout)
}
