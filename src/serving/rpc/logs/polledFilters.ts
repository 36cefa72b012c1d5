/**
 * Polled filters: eth_newFilter and related methods. A filter is its criteria and the last block that its caller knows.
 * A poll reads the changes since then from the store, so an idle filter takes only a few bytes. Owns the filters of one
 * network, their access by key, and their expiry. They exist once per process; other edges use them by message.
 */
import { randomBytes } from 'node:crypto'
import type { ChainCursor } from '../../../data/chain/chainSteps.js'
import { LogFilter } from '../../../data/chain/logFilter.js'
import { removedLogJson } from '../../../data/chain/logJson.js'
import { type FoundLogs, requireLogs } from '../../../data/chain/logSearch.js'
import { bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { setInterval } from '../../../primitives/timers.js'
import type { UpstreamCalls } from '../../../primitives/upstreamCalls.js'
import type { ChainRequest } from '../../streams/chainRequest.js'
import { hashesOf, wholePending } from '../../streams/pendingStreams.js'
import { anonymousId, type RequestContext } from '../contexts/requestContext.js'
import { doSliced, RequestSlices, type SlicedWork } from '../contexts/requestSlices.js'
import type { Json } from '../method.js'
import type { Network } from '../network.js'
import {
  type FilterRequest,
  type FilterService,
  polledFilterBytes,
  polledFilterKeyBytes,
} from './filterService.js'
import { isPartOf, parentOf } from './logPages.js'
import { countCriteria, findLogs, findWholeLogs, type LogQuery } from './logQuery.js'
import { decodeWithin } from './subscriptionRequest.js'

export interface FilterLimits {
  /** Time without a poll after which a filter is removed. */
  readonly idleMsMax: number
  /** Maximum bytes of the filters of one key, and of all filters. */
  readonly bytesPerKeyMax: number
  readonly bytesMax: number
}

/** Maximum block hashes in one answer: 0.7 MB. The next answer contains further ones. */
const hashesMax = 10_000
/** Maximum whole transactions in one answer; each one is requested separately. */
const wholeMax = 100

interface PolledFilter {
  readonly request: FilterRequest
  readonly keyId: string
  readonly bytes: number
  /** For a log filter: numbers of the new blocks whose logs are reported. */
  readonly within: ChainRequest['within']
  /** The last block that was reported. */
  cursor: ChainCursor
  /** For a filter of transactions: the position of the next announcement; undefined if it is unknown. */
  announced: Promise<number | undefined> | undefined
  askedAtMs: number
  /** A running answer; the next one waits for it. */
  reading: Promise<void> | undefined
}

export class PolledFilters implements FilterService {
  /** Id → filter, least recently polled first. */
  readonly #filters = new Map<string, PolledFilter>()
  readonly #bytesOfKeys = new Map<string, number>()
  #bytes = 0
  #sweeper: NodeJS.Timeout | undefined
  readonly #current: () => Network
  readonly #limits: FilterLimits
  readonly #clockMs: () => number

  constructor(current: () => Network, limits: FilterLimits, clockMs: () => number = () => performance.now()) {
    this.#current = current
    this.#limits = limits
    this.#clockMs = clockMs
  }

  create(request: FilterRequest, { keyId }: RequestContext): string {
    this.#sweep()
    const { chain, head, upstreamCalls } = this.#current()
    const { number, hash } = head
    if (request.kind === 'logs') requireLogs(chain.kind)
    const within = request.kind === 'logs' ? withinOf(request.query) : undefined
    const keys = request.kind === 'logs' ? countCriteria(request.query.criteria) : 0
    const bytes = polledFilterBytes + keys * polledFilterKeyBytes
    this.#take(keyId, bytes)
    const id = bytesToHex(randomBytes(16))
    const askedAtMs = this.#clockMs()
    this.#filters.set(id, {
      request,
      keyId,
      bytes,
      within,
      cursor: { number, hash },
      announced: request.kind === 'transactions' ? startOf(upstreamCalls) : undefined,
      askedAtMs,
      reading: undefined,
    })
    this.#sweeper ??= setInterval(() => this.#sweep(), this.#limits.idleMsMax).unref()
    return id
  }

  changes(id: string, context: RequestContext, turnMsMax: number): Json | Promise<Json> {
    const filter = this.#find(id, context)
    if (filter === undefined) throw new FaultError({ kind: 'FilterNotFound' })
    if (filter.reading !== undefined) return filter.reading.then(() => this.changes(id, context, turnMsMax))
    const work = endingWith(changesOf(filter, this.#current(), context, turnMsMax), () =>
      this.#forget(id, filter),
    )
    const answer = doSliced(work)
    if (!(answer instanceof Promise)) return answer
    const done = () => {
      filter.reading = undefined
    }
    filter.reading = answer.then(done, done)
    return answer
  }

  logs(id: string, context: RequestContext, turnMsMax: number): Json | Promise<Json> {
    const filter = this.#find(id, context)
    if (filter?.request.kind !== 'logs') throw new FaultError({ kind: 'FilterNotFound' })
    return findWholeLogs(this.#current(), filter.request.query, context, turnMsMax)
  }

  uninstall(id: string, context: RequestContext): boolean {
    const filter = this.#find(id, context)
    if (filter === undefined) return false
    this.#forget(id, filter)
    return true
  }

  /** A filter of the caller's own key; records the poll. */
  #find(id: string, { keyId }: RequestContext): PolledFilter | undefined {
    this.#sweep()
    const filter = this.#filters.get(id)
    if (filter === undefined || filter.keyId !== keyId) return undefined
    filter.askedAtMs = this.#clockMs()
    this.#filters.delete(id)
    this.#filters.set(id, filter)
    return filter
  }

  #take(keyId: string, bytes: number): void {
    const { bytesPerKeyMax, bytesMax } = this.#limits
    const ofKey = (this.#bytesOfKeys.get(keyId) ?? 0) + bytes
    // Without keys all callers have the same id.
    if (ofKey > bytesPerKeyMax && keyId !== anonymousId) {
      throw new FaultError({ kind: 'TooMuchFilterMemory', whose: 'this API key', max: bytesPerKeyMax })
    }
    if (this.#bytes + bytes > bytesMax) {
      throw new FaultError({ kind: 'TooMuchFilterMemory', whose: 'this server', max: bytesMax })
    }
    this.#bytesOfKeys.set(keyId, ofKey)
    this.#bytes += bytes
  }

  #forget(id: string, { keyId, bytes }: PolledFilter): void {
    if (!this.#filters.delete(id)) return
    const rest = (this.#bytesOfKeys.get(keyId) ?? 0) - bytes
    if (rest > 0) this.#bytesOfKeys.set(keyId, rest)
    else this.#bytesOfKeys.delete(keyId)
    this.#bytes -= bytes
    if (this.#filters.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  #sweep(): void {
    const before = this.#clockMs() - this.#limits.idleMsMax
    for (const [id, filter] of this.#filters) {
      if (filter.askedAtMs > before) return
      this.#forget(id, filter)
    }
  }
}

/** The block numbers that a filter is limited to. Throws FaultError for bounds that go-ethereum refuses. */
function withinOf({ blocks }: LogQuery): ChainRequest['within'] {
  return blocks instanceof Uint8Array ? undefined : decodeWithin(blocks.first, blocks.last)
}

/** Calls `onMissed` if some changes were pruned: the caller gets that fault once and must create a new filter. */
function* endingWith(changes: SlicedWork<Json>, onMissed: () => void): SlicedWork<Json> {
  try {
    return yield* changes
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === 'HistoryPruned') onMissed()
    throw error
  }
}

/** The changes since the last poll. If this throws, the filter is unchanged. */
function* changesOf(
  filter: PolledFilter,
  network: Network,
  context: RequestContext,
  turnMsMax: number,
): SlicedWork<Json> {
  const { request } = filter
  if (request.kind === 'transactions') return yield* newTransactions(filter, request.isWhole, network)
  const turns = new RequestSlices(turnMsMax, context, 0)
  try {
    if (request.kind === 'blocks') return yield* newHashes(filter, network, turns)
    return yield* newLogs(filter, request.query, network, { context, turns, turnMsMax })
  } finally {
    turns.end()
  }
}

/** Reported blocks that a reorg has removed since, newest first; `base` is the block below them. */
function* leftBlocks(
  cursor: ChainCursor,
  { chain }: Network,
  turns: RequestSlices,
): SlicedWork<{ left: readonly ChainCursor[]; base: ChainCursor }> {
  const left: ChainCursor[] = []
  let base = cursor
  while (!isPartOf(chain, base)) {
    if (turns.isOver) yield* turns.pause()
    turns.begin()
    left.push(base)
    base = parentOf(chain, base)
  }
  return { left, base }
}

/** The position of the next announced transaction. */
async function startOf(calls: UpstreamCalls | undefined): Promise<number | undefined> {
  return calls?.announced(undefined, 0).then(
    ({ next }) => next,
    () => undefined,
  )
}

function* newTransactions(
  filter: PolledFilter,
  isWhole: boolean,
  { upstreamCalls }: Network,
): SlicedWork<string> {
  if (upstreamCalls === undefined) return '[]'
  let json = '[]'
  yield (async () => {
    const { next, hashes } = await upstreamCalls.announced(await filter.announced, 0)
    const all = hashesOf(hashes).slice(0, isWhole ? wholeMax : hashesMax)
    filter.announced = Promise.resolve(next - hashes.length / 32 + all.length)
    const found = isWhole
      ? await Promise.all(all.map((hash) => wholePending(upstreamCalls, hash)))
      : all.map((hash) => `"${bytesToHex(hash)}"`)
    json = `[${found.filter((each) => each !== undefined).join()}]`
  })()
  return json
}

function* newHashes(filter: PolledFilter, network: Network, turns: RequestSlices): SlicedWork<string> {
  const { base } = yield* leftBlocks(filter.cursor, network, turns)
  const hashes: string[] = []
  let at = base
  while (at.number < network.head.number && hashes.length < hashesMax) {
    if (turns.isOver) yield* turns.pause()
    turns.begin()
    at = blockAt(network, at.number + 1)
    hashes.push(`"${bytesToHex(at.hash)}"`)
  }
  filter.cursor = at
  return `[${hashes.join(',')}]`
}

/** Removed logs, newest first, then new ones, as many as fit one answer; the next answer contains the rest. */
function* newLogs(
  filter: PolledFilter,
  { criteria }: LogQuery,
  network: Network,
  {
    context,
    turns,
    turnMsMax,
  }: { readonly context: RequestContext; readonly turns: RequestSlices; readonly turnMsMax: number },
): SlicedWork<Json> {
  const { chain, head, limits } = network
  const { left, base } = yield* leftBlocks(filter.cursor, network, turns)
  const { first, last } = filter.within ?? { first: 0, last: Number.POSITIVE_INFINITY }
  const matcher = new LogFilter(criteria)
  const removed: string[] = []
  for (const { number, hash } of left) {
    if (number < first || number > last) continue
    if (turns.isOver) yield* turns.pause()
    turns.begin()
    const gone: string[] = []
    for (const log of chain.eachLog(hash) ?? []) {
      if (turns.isOverAfter(log.json.length)) yield* turns.pause()
      if (matcher.matches(log)) gone.push(removedLogJson(log.json))
    }
    for (const json of gone.reverse()) removed.push(json)
  }
  const search = {
    criteria,
    head: { number: head.number, hash: head.hash as Hash32 },
    first: Math.max(first, base.number + 1),
    last: Math.min(last, head.number),
  }
  if (search.first > search.last) {
    filter.cursor = { number: head.number, hash: head.hash }
    return `[${removed.join(',')}]`
  }
  let found = findLogs(network, search, limits, context, turnMsMax)
  if (found instanceof Promise) {
    let settled: FoundLogs | undefined
    yield found.then((logs) => {
      settled = logs
    })
    found = settled as unknown as FoundLogs
  }
  // Blocks above the filter's last block do not matter, so the cursor may be the head.
  filter.cursor = blockAt(network, found.last === search.last ? head.number : found.last)
  if (removed.length === 0) return found.json
  const before = `[${removed.join(',')}${found.count > 0 ? ',' : ''}`
  return Buffer.concat([Buffer.from(before, 'latin1'), found.json.subarray(1)])
}

function blockAt({ chain }: Network, number: number): ChainCursor {
  const block = chain.resolve({ kind: 'number', number }, 0)
  if (block === undefined) throw new Error(`block ${number} is not part of the chain`)
  return { number, hash: block.hash }
}
