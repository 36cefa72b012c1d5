/**
 * Long calls, of which the event loop reads the head alone: id, method and pin. Where these stand is known from the
 * signs between the call's own members (bodyScan.ts). The rest stays the text that it is, of which a thread makes
 * values: what is read here takes no longer and leaves no more garbage however long the call is.
 */
import { asBuffer } from '../primitives/bytes.js'
import { parseFault } from './bodyScan.js'
import { isKey, type Span, skipSpace, skipSpaceBack } from './scan.js'

const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d

/** What stands around the parameters of a call, each as it was written; undefined where it is not there. */
export type CallHead = Readonly<Record<'jsonrpc' | 'id' | 'method' | 'at', Span | undefined>>

/**
 * The head of the object between `start` and `end`, with `signs` between its members; undefined for what is none, or has no members.
 * Of members with one name the last counts, as for JSON.parse. Throws FaultError: ParseError, where it is noticed that
 * the text is no JSON; elsewhere it may be none all the same.
 */
export function findCallHead(
  bytes: Uint8Array,
  start: number,
  end: number,
  signs: readonly number[],
): CallHead | undefined {
  if (bytes[skipSpace(bytes, start)] !== openBrace || signs.length === 0) return undefined
  const last = skipSpaceBack(bytes, end) - 1
  if (signs.length % 2 === 0 || bytes[last] !== closeBrace) throw parseFault()
  const head: Record<keyof CallHead, Span | undefined> = {
    jsonrpc: undefined,
    id: undefined,
    method: undefined,
    at: undefined,
  }
  const names = Object.keys(head) as (keyof CallHead)[]
  const buffer = asBuffer(bytes)
  let keyAt = skipSpace(bytes, start) + 1
  for (let i = 0; i < signs.length; i += 2) {
    const colonAt = signs[i] as number
    const valueEnd = signs[i + 1] ?? last
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
