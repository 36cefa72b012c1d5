/**
 * Long calls, of which the event loop reads only the head: id, method and pin. It finds them by the colons and commas
 * between the call's own members (bodyScan.ts). The rest stays text and is parsed by a pool thread, so the work here
 * does not grow with the length of the call.
 */
import { asBuffer } from '../../../primitives/bytes.js'
import { parseFault } from './bodyScan.js'
import { isKey, type Span, skipSpace, skipSpaceBack } from './scan.js'

const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d

/** Positions of the members of a call other than `params`; undefined where absent. */
type CallHead = Readonly<Record<'jsonrpc' | 'id' | 'method' | 'at', Span | undefined>>

/**
 * The head of the object between `start` and `end`, with colons and commas at `signs`; undefined where it is no
 * object or empty. Of members with the same name the last counts, as in JSON.parse. Throws FaultError: ParseError
 * where the head is not JSON; the rest is not checked.
 */
export function findCallHead(
  bytes: Uint8Array,
  start: number,
  end: number,
  separators: readonly number[],
): CallHead | undefined {
  if (bytes[skipSpace(bytes, start)] !== openBrace || separators.length === 0) return undefined
  const last = skipSpaceBack(bytes, end) - 1
  if (separators.length % 2 === 0 || bytes[last] !== closeBrace) throw parseFault()
  const head: Record<keyof CallHead, Span | undefined> = {
    jsonrpc: undefined,
    id: undefined,
    method: undefined,
    at: undefined,
  }
  const names = Object.keys(head) as (keyof CallHead)[]
  const buffer = asBuffer(bytes)
  let keyAt = skipSpace(bytes, start) + 1
  for (let i = 0; i < separators.length; i += 2) {
    const colonAt = separators[i] as number
    const valueEnd = separators[i + 1] ?? last
    if (bytes[colonAt] !== colon || (valueEnd !== last && bytes[valueEnd] !== comma)) throw parseFault()
    const key: Span = { start: skipSpace(bytes, keyAt), end: skipSpaceBack(bytes, colonAt) }
    const name = names.find((each) => isKeyOrFault(buffer, key, each))
    if (name !== undefined) {
      head[name] = { start: skipSpace(bytes, colonAt + 1), end: skipSpaceBack(bytes, valueEnd) }
    }
    keyAt = valueEnd + 1
  }
  return head
}

function isKeyOrFault(bytes: Buffer, { start, end }: Span, name: string): boolean {
  try {
    return isKey(bytes, start, end, name)
  } catch {
    throw parseFault()
  }
}
