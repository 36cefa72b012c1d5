/** Pages of a log search: the end of a page and the start of the next one, while the chain changes. */

import type { ChainView } from '../../../data/chain/chain.js'
import type { ChainCursor } from '../../../data/chain/chainSteps.js'
import type { FoundLogs, LogBounds, LogSearch } from '../../../data/chain/logSearch.js'
import { asBuffer, bytesToHex, equalBytes, toHash32, writeUint64 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { NotStoredError } from '../../../primitives/notStored.js'
import type { Json } from '../method.js'
import { fixedBytes, invalidArgument, ObjectForm, required } from '../params/params.js'
import { nullable, textSchema } from '../params/schema.js'
import { decodeLogQuery, type LogQuery, logFilterMembers, toLogSearch } from './logQuery.js'

interface Cursor {
  /** The last block whose logs were sent. */
  readonly at: ChainCursor
  /** The last block of the first page's range. */
  readonly last: number
}

interface PageQuery extends LogQuery {
  readonly cursor: Cursor | undefined
  /** Maximum logs of a page; if undefined, the server's limit. */
  readonly limit: number | undefined
}

/** Number and hash of the block, and number of the last block. */
const cursorBytes = 8 + 32 + 8

const pageForm = new ObjectForm(
  'a filter object',
  [...Object.keys(logFilterMembers), 'limit', 'cursor'],
  true,
)

/** The filter object of eth_getLogs with two more members: `limit`, and `cursor` for all pages but the first. */
export const pageQuery = required(
  (value, index): PageQuery => {
    const members = pageForm.read(value, index)
    const { cursor, limit } = members
    return {
      ...decodeLogQuery(members, index),
      cursor: cursor === undefined || cursor === null ? undefined : decodeCursor(cursor, index),
      limit: limit === undefined || limit === null ? undefined : decodeLimit(limit, index),
    }
  },
  {
    type: 'object',
    title: 'log filter with pages',
    properties: {
      ...logFilterMembers,
      limit: nullable({ type: 'integer', minimum: 1 }),
      cursor: nullable(textSchema),
    },
  },
)

function decodeLimit(value: unknown, index: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw invalidArgument(index, 'limit: want an integer from 1 on')
  }
  return value
}

function decodeCursor(value: unknown, index: number): Cursor {
  const bytes = fixedBytes(value, index, cursorBytes, 'cursor')
  const [number, last] = [0, 40].map((at) => Number(asBuffer(bytes).readBigUInt64BE(at))) as [number, number]
  if (Math.max(number, last) > Number.MAX_SAFE_INTEGER) {
    throw invalidArgument(index, 'cursor: not one that was answered')
  }
  return { at: { number, hash: toHash32(bytes.slice(8, 40)) }, last }
}

function encodeCursor({ at, last }: Cursor): string {
  const bytes = new Uint8Array(cursorBytes)
  writeUint64(bytes, at.number, 0)
  bytes.set(at.hash, 8)
  writeUint64(bytes, last, 40)
  return bytesToHex(bytes)
}

/** One page: its search, the end of the whole search, and the limits of the page. */
export interface Page {
  /** The search of the page; undefined if the chain ends before it. */
  readonly search: LogSearch | undefined
  readonly last: number
  readonly bounds: LogBounds
}

/** Throws FaultError: as {@link toLogSearch}, and CursorLeft where logs already sent are invalid. */
export function toPage(chain: ChainView, query: PageQuery, { logsMax, logBytesMax }: LogBounds): Page {
  const bounds = { logsMax: Math.min(query.limit ?? logsMax, logsMax), logBytesMax }
  const { cursor, criteria } = query
  if (cursor === undefined) {
    const search = toLogSearch(chain, query)
    return { search, last: search.last, bounds }
  }
  const { at, last } = cursor
  if (!isPartOf(chain, at)) throw new FaultError({ kind: 'CursorLeft', number: lastCommon(chain, at) })
  const { number, hash } = chain.head
  const search = { criteria, head: { number, hash }, first: at.number + 1, last: Math.min(last, number) }
  return { search: search.first > search.last ? undefined : search, last, bounds }
}

/** Whether a block is part of the chain that ends with the view's block. */
export function isPartOf(chain: ChainView, { number, hash }: ChainCursor): boolean {
  const block = chain.resolve({ kind: 'number', number }, 0)
  return block !== undefined && equalBytes(block.hash, hash)
}

/** The newest block before `left` that is part of the chain. */
function lastCommon(chain: ChainView, left: ChainCursor): number {
  let at = left
  if (chain.readHeader(at.hash) === undefined) throw invalidArgument(0, 'cursor: its block is not known')
  while (!isPartOf(chain, at)) at = parentOf(chain, at)
  return at.number
}

export function parentOf(chain: ChainView, { hash }: ChainCursor): ChainCursor {
  const header = chain.readHeader(hash)
  if (header === undefined) throw new NotStoredError({ kind: 'header', hash })
  return { number: header.number - 1, hash: header.parentHash }
}

/** Renders `{logs, next}`; `next` is null on the last page. */
export function renderPage(
  chain: ChainView,
  { search, last }: Page,
  query: PageQuery,
  found: FoundLogs,
): Json {
  const at =
    search === undefined ? query.cursor?.at : chain.resolve({ kind: 'number', number: found.last }, 0)
  const next = found.last >= last || at === undefined ? 'null' : `"${encodeCursor({ at, last })}"`
  return Buffer.concat([
    Buffer.from('{"logs":', 'latin1'),
    found.json,
    Buffer.from(`,"next":${next}}`, 'latin1'),
  ])
}
