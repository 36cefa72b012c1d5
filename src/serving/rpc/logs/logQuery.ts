/**
 * Log searches of callers: the blocks, the logs, and the thread. Owns the filter object of eth_getLogs; the search
 * itself is `chain/logSearch.ts`.
 */

import type { ChainView } from '../../../data/chain/chain.js'
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import type { LogCriteria } from '../../../data/chain/logFilter.js'
import { type FoundLogs, type LogBounds, type LogSearch, requireLogs } from '../../../data/chain/logSearch.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { typeName } from '../../../primitives/jsonType.js'
import type { NetworkJobs } from '../../pool/jobs.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { inOneSlice, RequestSlices } from '../contexts/requestSlices.js'
import { blockId, hash32, invalidArgument, ObjectForm, required } from '../params/params.js'
import { nullable, type Schema } from '../params/schema.js'
import { decodeLogCriteria, logCriteriaSchemas } from './logCriteria.js'

/** Maximum time of a search on the edge. A longer one is repeated on a pool thread, which takes 0.1 ms of the edge. */
const inlineMsMax = 2

/** A decoded filter object: logs of one block, or of a range with its ends as written. */
export interface LogQuery {
  readonly criteria: LogCriteria
  readonly blocks: Hash32 | { readonly first: BlockId; readonly last: BlockId }
}

const latest: BlockId = { kind: 'tag', tag: 'latest' }
const numberOrTag = blockId()

const bound = nullable({ type: 'string', anyOf: numberOrTag.schema.anyOf })
/** Members of the filter object; all are optional. */
export const logFilterMembers: Readonly<Record<string, Schema>> = {
  ...logCriteriaSchemas,
  blockHash: nullable(hash32.schema),
  fromBlock: bound,
  toBlock: bound,
}

/** Strict: a filter with a misspelled member would search other blocks or match other logs. */
const filterForm = new ObjectForm('a filter object', Object.keys(logFilterMembers), true)

/** The filter object of go-ethereum: `address`, `topics`, and `blockHash` or `fromBlock` and `toBlock`. */
export const logQuery = required(
  (value, index): LogQuery => decodeLogQuery(filterForm.read(value, index), index),
  { type: 'object', title: 'log filter', properties: logFilterMembers },
)

/** Decodes the members of {@link logQuery}; ignores others. */
export function decodeLogQuery(
  { blockHash, fromBlock, toBlock, address, topics }: Readonly<Record<string, unknown>>,
  index: number,
): LogQuery {
  const criteria = decodeLogCriteria(address, topics, index, () => {})
  if (!isThere(blockHash)) {
    const blocks = { first: decodeBound(fromBlock, index), last: decodeBound(toBlock, index) }
    return { criteria, blocks }
  }
  if (isThere(fromBlock) || isThere(toBlock)) {
    throw invalidArgument(
      index,
      'cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other',
    )
  }
  return { criteria, blocks: hash32.decode(blockHash, index) }
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null
}

function decodeBound(value: unknown, index: number): BlockId {
  if (!isThere(value)) return latest
  if (typeof value !== 'string')
    throw invalidArgument(index, `want a block number or tag, got ${typeName(value)}`)
  return numberOrTag.decode(value, index)
}

/** The search of a query, which is argument 0. Throws FaultError for an unknown block or an invalid range. */
export function toLogSearch(chain: ChainView, { criteria, blocks }: LogQuery): LogSearch {
  if (blocks instanceof Uint8Array) {
    const block = chain.resolve({ kind: 'hash', hash: blocks, requireCanonical: false }, 0)
    if (block === undefined) throw new FaultError({ kind: 'UnknownBlock' })
    return { criteria, head: block, first: block.number, last: block.number }
  }
  const first = boundOf(chain, blocks.first)
  const last = boundOf(chain, blocks.last)
  const { number, hash } = chain.head
  if (first > last) throw new FaultError({ kind: 'InvalidBlockRange' })
  if (last > number) throw new FaultError({ kind: 'BlockRangeInFuture' })
  const oldest = chain.oldest.receipts
  if (first < oldest) throw new FaultError({ kind: 'HistoryPruned', oldest })
  // Looked up on this thread, because a gateway notes reads of unproved data here; a pool thread may run the search.
  chain.resolve({ kind: 'number', number: first }, 0)
  return { criteria, head: { number, hash }, first, last }
}

function boundOf(chain: ChainView, id: BlockId): number {
  if (id.kind === 'number') return id.number
  const block = chain.resolve(id, 0)
  if (block === undefined) throw new FaultError({ kind: 'UnknownBlock' })
  if (block.isPending) throw new FaultError({ kind: 'PendingLogsNotSupported' })
  // Bodies may be stored for older blocks than receipts.
  const isEarliest = id.kind === 'tag' && id.tag === 'earliest'
  return isEarliest ? Math.max(block.number, chain.oldest.receipts) : block.number
}

/** Number of addresses and topics, for the price of calls. */
export function countCriteria({ addresses, topics }: LogCriteria): number {
  return topics.reduce((sum, { length }) => sum + length, addresses.length)
}

interface SearchedNetwork {
  readonly chain: ChainView
  readonly jobs: NetworkJobs
}

/** Searches on the edge if that is quick, otherwise on a pool thread. Throws FaultError NoReceipts. */
export function findLogs(
  { chain, jobs }: SearchedNetwork,
  search: LogSearch,
  { logsMax, logBytesMax }: LogBounds,
  context: RequestContext,
  turnMsMax: number,
): FoundLogs | Promise<FoundLogs> {
  requireLogs(chain.kind)
  const bounds = { logsMax, logBytesMax }
  return inOneSlice(new RequestSlices(turnMsMax, context, 0), () => {
    const startedAtMs = performance.now()
    const found = chain.searchLogs(search, bounds, () => performance.now() - startedAtMs >= inlineMsMax)
    context.ran(performance.now() - startedAtMs)
    return found ?? jobs.run('searchLogs', { search, bounds }, context)
  })
}

/** Like {@link findLogs}. Throws FaultError TooManyLogs with a range that fits if the logs exceed one answer. */
export function findWholeLogs(
  network: SearchedNetwork & { readonly limits: LogBounds },
  query: LogQuery,
  context: RequestContext,
  turnMsMax: number,
): Uint8Array | Promise<Uint8Array> {
  const { chain, limits } = network
  const search = toLogSearch(chain, query)
  const found = findLogs(network, search, limits, context, turnMsMax)
  if (!(found instanceof Promise)) return wholeLogs(found, search, limits)
  return found.then((settled) => wholeLogs(settled, search, limits))
}

/** The logs found, if they are complete. Otherwise throws FaultError with a range that fits. */
function wholeLogs(found: FoundLogs, { first, last }: LogSearch, bounds: LogBounds): Uint8Array {
  if (found.last < last) {
    const { logsMax, logBytesMax } = bounds
    throw new FaultError({ kind: 'TooManyLogs', logsMax, logBytesMax, first, last: found.last })
  }
  return found.json
}
