/**
 * Polled filters: eth_newFilter and related methods. A filter is its criteria and the last block that its caller knows.
 * A poll reads the changes since then from the store, so an idle filter takes only a few bytes. Owns the filters of one
 * network, their access by key, and their expiry. They exist once per process; other edges use them by message.
 */
import { randomBytes } from 'node:crypto'
import type { ChainCursor } from '../../../data/chain/chainSteps.js'
import { LogFilter } from '../../../data/chain/logFilter.js'
import { removedLogJson } from '../../../data/chain/logJson.js'
import { requireLogs } from '../../../data/chain/logSearch.js'
import { bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { setInterval } from '../../../primitives/timers.js'
import type { UpstreamCalls } from '../../../primitives/upstreamCalls.js'
import type { ChainRequest } from '../../streams/chainRequest.js'
import { hashesOf, wholePending } from '../../streams/pendingStreams.js'
import { anonymousId, type RequestContext } from '../contexts/requestContext.js'
import { RequestSlices } from '../contexts/requestSlices.js'
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

  async changes(id: string, context: RequestContext, turnMsMax: number): Promise<Json> {
    const filter = this.#find(id, context)
    if (filter === undefined) throw new FaultError({ kind: 'FilterNotFound' })
    if (filter.reading !== undefined) {
      await filter.reading
      return this.changes(id, context, turnMsMax)
    }
    const changes = changesOf(filter, this.#current(), context, turnMsMax)
    filter.reading = changes.then(
      () => {},
      () => {},
    )
    try {
      return await changes
    } catch (thrown) {
      // Some changes were pruned: the caller gets that fault once and must create a new filter.
      if (thrown instanceof FaultError && thrown.fault.kind === 'HistoryPruned') this.#forget(id, filter)
      throw thrown
    } finally {
      filter.reading = undefined
    }
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

/** The changes since the last poll. If this throws, the filter is unchanged. */
async function changesOf(
  filter: PolledFilter,
  network: Network,
  context: RequestContext,
  turnMsMax: number,
): Promise<Json> {
  const { request } = filter
  if (request.kind === 'transactions') return newTransactions(filter, request.isWhole, network)
  const turns = new RequestSlices(turnMsMax, context, 0)
  return turns.run(() =>
    request.kind === 'blocks'
      ? newHashes(filter, network, turns)
      : newLogs(filter, request.query, network, { context, turns, turnMsMax }),
  )
}

interface LeftBlocks {
  /** Reported blocks that a reorg has removed since, newest first. */
  readonly left: readonly ChainCursor[]
  /** The block below them. */
  readonly base: ChainCursor
}

function leftBlocks(
  cursor: ChainCursor,
  { chain }: Network,
  turns: RequestSlices,
): LeftBlocks | Promise<LeftBlocks> {
  const left: ChainCursor[] = []
  let base = cursor
  return turns.repeat(() => {
    if (isPartOf(chain, base)) return { left, base }
    left.push(base)
    base = parentOf(chain, base)
    return undefined
  })
}

/** The position of the next announced transaction. */
async function startOf(calls: UpstreamCalls | undefined): Promise<number | undefined> {
  return calls?.announced(undefined, 0).then(
    ({ next }) => next,
    () => undefined,
  )
}

async function newTransactions(
  filter: PolledFilter,
  isWhole: boolean,
  { upstreamCalls }: Network,
): Promise<string> {
  if (upstreamCalls === undefined) return '[]'
  const { next, hashes } = await upstreamCalls.announced(await filter.announced, 0)
  const all = hashesOf(hashes).slice(0, isWhole ? wholeMax : hashesMax)
  filter.announced = Promise.resolve(next - hashes.length / 32 + all.length)
  const found = isWhole
    ? await Promise.all(all.map((hash) => wholePending(upstreamCalls, hash)))
    : all.map((hash) => `"${bytesToHex(hash)}"`)
  return `[${found.filter((each) => each !== undefined).join()}]`
}

async function newHashes(filter: PolledFilter, network: Network, turns: RequestSlices): Promise<string> {
  const { base } = await leftBlocks(filter.cursor, network, turns)
  const hashes: string[] = []
  let at = base
  return turns.repeat(() => {
    if (at.number < network.head.number && hashes.length < hashesMax) {
      at = blockAt(network, at.number + 1)
      hashes.push(`"${bytesToHex(at.hash)}"`)
      return undefined
    }
    filter.cursor = at
    return `[${hashes.join(',')}]`
  })
}

/** Removed logs, newest first, then new ones, as many as fit one answer; the next answer contains the rest. */
async function newLogs(
  filter: PolledFilter,
  { criteria }: LogQuery,
  network: Network,
  {
    context,
    turns,
    turnMsMax,
  }: { readonly context: RequestContext; readonly turns: RequestSlices; readonly turnMsMax: number },
): Promise<Json> {
  const { head, limits } = network
  const { left, base } = await leftBlocks(filter.cursor, network, turns)
  const { first, last } = filter.within ?? { first: 0, last: Number.POSITIVE_INFINITY }
  const within = left.filter(({ number }) => number >= first && number <= last)
  const reading = eachRemovedLog(within, new LogFilter(criteria), network)
  const removed = await turns.repeat(() => {
    for (;;) {
      const step = reading.next()
      if (step.done) return step.value
      if (turns.isOverAfter(step.value)) return undefined
    }
  })
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
  const found = await findLogs(network, search, limits, context, turnMsMax)
  return turns.repeat(() => {
    // Blocks above the filter's last block do not matter, so the cursor may be the head.
    filter.cursor = blockAt(network, found.last === search.last ? head.number : found.last)
    if (removed.length === 0) return found.json
    const before = `[${removed.join(',')}${found.count > 0 ? ',' : ''}`
    return Buffer.concat([Buffer.from(before, 'latin1'), found.json.subarray(1)])
  })
}

/** The logs of removed blocks that match, each block's newest first. Yields the bytes of each log that it reads. */
function* eachRemovedLog(
  left: readonly ChainCursor[],
  matcher: LogFilter,
  { chain }: Network,
): Generator<number, readonly string[]> {
  const removed: string[] = []
  for (const { hash } of left) {
    const gone: string[] = []
    for (const log of chain.eachLog(hash) ?? []) {
      if (matcher.matches(log)) gone.push(removedLogJson(log.json))
      yield log.json.length
    }
    for (const json of gone.reverse()) removed.push(json)
  }
  return removed
}

function blockAt({ chain }: Network, number: number): ChainCursor {
  const block = chain.resolve({ kind: 'number', number }, 0)
  if (block === undefined) throw new Error(`block ${number} is not part of the chain`)
  return { number, hash: block.hash }
}
