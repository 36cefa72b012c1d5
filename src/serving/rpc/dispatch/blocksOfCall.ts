/** The blocks that a call asks for, as a text for operators. Does not look them up. */
import { blockTags } from '../../../data/chain/chainBlocks.js'
import { bytesToHex, parseQuantity } from '../../../primitives/bytes.js'
import { isObject } from '../../../primitives/jsonType.js'
import type { Param } from '../method.js'
import type { Member } from './batch.js'

/** Names of parameters that are a block, or an object with one. A filter has a range. */
const blockNames: ReadonlySet<string> = new Set([
  'block',
  'newestBlock',
  'blockHash',
  'blockNumber',
  'stateContext',
  'startNumber',
  'endNumber',
  'startHash',
  'endHash',
])

const tags: ReadonlySet<string> = new Set(blockTags)
const hashPattern = /^0x[0-9a-f]{64}$/i
/** Below 2^63. */
const decimalPattern = /^\d{1,19}$/

/**
 * For example `200`, `latest (271)` or `10 to 20`; undefined for a method without blocks, and for a value that is none.
 * `head` is the number that `latest` means.
 */
export function blocksOfCall(
  params: readonly Pick<Param<unknown>, 'name' | 'fallback'>[],
  { params: written, args }: Pick<Extract<Member, { kind: 'call' }>, 'params' | 'args'>,
  head: number,
): string | undefined {
  const given: unknown = args ?? written ?? []
  const findGiven = (name: string, at: number): unknown => {
    if (Array.isArray(given)) return given[at]
    return isObject(given) ? given[name] : undefined
  }
  const found = params.flatMap(({ name, fallback }, at) => {
    const value = findGiven(name, at) ?? fallback
    if (name === 'filter') return rangeText(value, head) ?? []
    return blockNames.has(name) ? (blockText(value, head) ?? []) : []
  })
  return found.length === 0 ? undefined : found.join(' to ')
}

/** The text for a value as a caller wrote it, or for a decoded one: a BlockId, or the bytes of a hash. */
function blockText(value: unknown, head: number): string | undefined {
  if (value === 'latest') return `latest (${head})`
  if (value instanceof Uint8Array) return bytesToHex(value)
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') {
    if (tags.has(value) || hashPattern.test(value) || decimalPattern.test(value)) return value
    return parseQuantity(value)?.toString()
  }
  if (!isObject(value)) return undefined
  const { hash, blockHash, number, blockNumber, tag } = value
  const named = hash ?? blockHash ?? number ?? blockNumber ?? tag
  return isObject(named) ? undefined : blockText(named, head)
}

/** The text for the range in the filter of a search. */
function rangeText(value: unknown, head: number): string | undefined {
  if (!isObject(value)) return undefined
  const { blockHash, fromBlock, toBlock } = value
  if (blockHash !== undefined && blockHash !== null) return blockText(blockHash, head)
  const first = blockText(fromBlock ?? 'latest', head)
  const last = blockText(toBlock ?? 'latest', head)
  if (first === undefined || last === undefined) return undefined
  return first === last ? first : `${first} to ${last}`
}
