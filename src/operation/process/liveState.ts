/** The current state of the process, as the admin API shows it. */

import { statfsSync, statSync } from 'node:fs'
import { basisOf } from '../../data/chain/families/basis.js'
import { largest } from '../../primitives/extremes.js'
import { type RefusalReason, refusalReasons } from '../../primitives/refusalReasons.js'
import type { SinceWhen } from '../../primitives/sinceWhen.js'
import { clientVersion } from '../../primitives/version.js'
import type { NotedCall } from '../../serving/access/usageCounter.js'
import type { UsageLedger } from '../../serving/access/usageLedger.js'
import { type HistoryAnswer, others } from '../../serving/metrics/callHistory.js'
import type { EdgeCounts, EdgeFigures } from '../../serving/metrics/edgeCounts.js'
import type { RecentRates } from '../../serving/metrics/recentCalls.js'
import type { Jobs } from '../../serving/pool/jobs.js'
import type { Pool } from '../../serving/pool/pool.js'
import type { IngestFigures } from '../../sources/ingest/thread/messages.js'
import { type BeaconNodeState, beaconPrefix } from '../../sources/upstream/beaconNodes.js'
import type { Readiness } from '../admin/readiness.js'
import type { CallHistory as HistoryShape, LiveState, Network } from '../admin/shapes.js'
import type { Config, NetworkConfig } from '../config/config.js'
import type { Edge } from '../edge/edge.js'
import { rollupCondition } from '../edge/edgeRollup.js'
import { ageSeconds, isCutOff, participationOf } from '../edge/health.js'
import {
  beaconStatesOf,
  conditionOf,
  sinceOfNetwork,
  sinceOfNode,
  troubleOfNode,
} from '../edge/networkCondition.js'
import type { OpenNetwork } from '../edge/openNetwork.js'
import type { NetworkSource } from './networkSource.js'
import type { OpenRollup } from './openRollup.js'

/** Services of `serve` that its live state reads. */
export interface LiveServices {
  /** Edge of the main thread. */
  readonly edge: Edge
  /** Counts by number of the edge. */
  readonly counts: readonly EdgeCounts[]
  readonly pool: Pool<Jobs>
  readonly usage: UsageLedger
  readonly sources: readonly NetworkSource[]
  readonly rollups: readonly OpenRollup[]
  readonly transport: string
}

export function readLive(
  config: Config,
  services: LiveServices,
  rates: RecentRates,
  readiness: Readiness,
  nameOf: (keyId: string) => string | undefined,
  since: SinceWhen,
): LiveState {
  const { edge, counts, pool, transport, usage } = services
  const { ready, sharedKeys } = readiness
  const { methods, errors, rejections, edges, ...whole } = rates
  edge.publish()
  const figures = counts.map((counts) => counts.figures)
  const noted = ({ atMs, ms, error, block, keyId, ...call }: NotedCall) => ({
    at: isoTime(atMs),
    keyId,
    keyName: nameOf(keyId) ?? null,
    ...call,
    error: error ?? null,
    block: block ?? null,
    seconds: ms / 1_000,
  })
  const sum = (name: keyof EdgeFigures) => figures.reduce((total, edge) => total + edge[name], 0)
  const at = new Date().toISOString()
  return {
    at,
    diskFreeBytes: freeBytes(config.dataDir),
    version: clientVersion,
    transport,
    uptimeSeconds: performance.now() / 1_000,
    ready,
    failing: readiness.failing.map(({ network, since = at, ...failed }) => ({
      ...failed,
      network: network ?? null,
      since,
    })),
    sharedKeys: sharedKeys ?? null,
    networks: readNetworks(config, services, since),
    ...withTimes(whole, orNull),
    methods: methods.map((of) => withTimes(of, orNull)),
    errors: errors.map(({ name, ...rest }) => ({ code: name, ...rest })),
    rejections: rejections.map(({ name, ...rest }) => ({
      reason: name,
      text: textOfReason(name),
      ...rest,
    })),
    queues: pool.counts.byClass.map(({ cpuMs: _, ...counts }) => counts),
    caches: [
      { cache: 'blocks', bytes: sum('blockBytes'), hits: sum('blockHits'), misses: sum('blockMisses') },
      { cache: 'proofs', bytes: sum('proofBytes'), hits: sum('proofHits'), misses: sum('proofMisses') },
    ],
    connections: {
      http: sum('connections'),
      webSockets: edge.server.totals.sockets.value,
      subscriptions: sum('subscriptions'),
      skippedEvents: sum('skippedEvents'),
    },
    edges: edges.map(({ cpuShare, delayP99Seconds }, at) => ({
      edge: at,
      cpuShare,
      heapBytes: figures[at]?.heapBytes ?? 0,
      loopDelayP99Seconds: orNull(delayP99Seconds),
    })),
    topKeys: usage.readTopKeys().map(({ keyId, ...amounts }) => ({
      id: keyId,
      name: nameOf(keyId) ?? null,
      ...amounts,
    })),
    refusedKeys: usage.readRefusals().map(({ keyId, atMs, ...refused }) => ({
      id: keyId,
      name: nameOf(keyId) ?? null,
      at: isoTime(atMs),
      ...refused,
    })),
    slowCalls: usage.readSlowCalls().map(noted),
    failedCalls: usage.readFailedCalls().map(noted),
  }
}

export function readHistory(
  history: HistoryAnswer,
  nameOf: (keyId: string) => string | undefined,
): HistoryShape {
  const { atMs, calls, rejectionsPerSecond, errors, keys, ages } = history
  const briefOrNull = (value: number | undefined) => orNull(value && brief(value))
  const figuresOf = ({ calls, failed, p50Seconds, p99Seconds }: HistoryFigures) => ({
    calls,
    errors: failed,
    p50Seconds: briefOrNull(p50Seconds),
    p99Seconds: briefOrNull(p99Seconds),
  })
  return {
    at: atMs.map(isoTime),
    callsPerSecond: calls.map(({ callsPerSecond }) => brief(callsPerSecond)),
    errorsPerSecond: calls.map(({ errorsPerSecond }) => brief(errorsPerSecond)),
    rejectionsPerSecond: rejectionsPerSecond.map(brief),
    p50Seconds: calls.map(({ p50Seconds }) => briefOrNull(p50Seconds)),
    p99Seconds: calls.map(({ p99Seconds }) => briefOrNull(p99Seconds)),
    errors: errors.map(({ name, values }) => ({ code: name, perSecond: values.map(brief) })),
    keys: keys.map(({ name, values }) => ({
      id: name === others ? null : name,
      name: nameOf(name) ?? null,
      unitsPerSecond: values.map(brief),
    })),
    methods: history.methods.map(({ network, method, ...of }) => ({
      network: network || null,
      method,
      ...figuresOf(of),
    })),
    networks: history.networks.map(({ network, ...of }) => ({ network, ...figuresOf(of) })),
    failures: history.failures.map(({ network, method, code, count }) => ({
      network: network || null,
      method: method || null,
      code,
      count,
    })),
    refusals: history.refusals.map(({ reason, count }) => ({ reason, text: textOfReason(reason), count })),
    ages: ages.map(({ network, seconds }) => ({ network, seconds: seconds.map(briefOrNull) })),
  }
}

type HistoryFigures = Omit<HistoryAnswer['networks'][number], 'network'>

/** The sentence of a reason; reasons of an older version have none. */
function textOfReason(reason: string): string {
  return refusalReasons[reason as RefusalReason] ?? reason
}

function orNull(value: number | undefined): number | null {
  return value ?? null
}

/** Figures of calls, with the quantiles of their times in the API's form. */
function withTimes<
  T extends { readonly p50Seconds: number | undefined; readonly p99Seconds: number | undefined },
>({ p50Seconds, p99Seconds, ...rest }: T, reported: (seconds: number | undefined) => number | null) {
  return { ...rest, p50Seconds: reported(p50Seconds), p99Seconds: reported(p99Seconds) }
}

/** Rounds to the digits that a chart can show: an hour has thousands of figures. */
function brief(value: number): number {
  return Number(value.toPrecision(4))
}

/** The networks, the default one first. */
export function readNetworks(
  { defaultNetwork, networks, rollups }: Config,
  services: Pick<LiveServices, 'edge' | 'rollups' | 'sources'>,
  since: SinceWhen,
): Network[] {
  const common = ({ name, hosts }: { readonly name: string; readonly hosts: readonly string[] }) => ({
    name,
    hosts: [...hosts],
    isDefault: name === defaultNetwork,
  })
  const storeOf = ({ source, gateway, storePath }: NetworkConfig) => ({
    source: source?.type ?? (gateway === undefined ? ('none' as const) : ('gateway' as const)),
    storeBytes: statSync(storePath, { throwIfNoEntry: false })?.size ?? 0,
  })
  const chains = networks.flatMap((network): Network[] => {
    const open = services.edge.networks.find(({ name }) => name === network.name)
    if (open === undefined) return []
    if (open.opening !== undefined) {
      const { opening } = open
      const kind = network.kind ?? 'archive'
      const condition = conditionSince(open, since)
      return [{ ...common(network), ...storeOf(network), kind, opening, condition, chain: null, queue: null }]
    }
    const source = services.sources.find(({ name }) => name === network.name)
    const chain = chainOf(open, source?.figures?.upstreams ?? [], since, source?.figures?.engine)
    return [
      {
        ...common(network),
        ...storeOf(network),
        kind: open.current.chain.kind.name,
        opening: null,
        condition: conditionSince(open, since),
        chain,
        queue: null,
      },
    ]
  })
  const queues = rollups.flatMap((rollup): Network[] => {
    const open = services.rollups.find(({ name }) => name === rollup.name)
    if (open === undefined) return []
    const own = { kind: 'rollup', source: 'none', storeBytes: 0, opening: null, chain: null } as const
    const health = open.health()
    const { level, why } = rollupCondition(health)
    const condition = { level, why: why ?? null, since: health.since }
    return [{ ...common(rollup), ...own, condition, queue: queueOf(open) }]
  })
  return [...chains, ...queues].sort((a, b) => Number(b.isDefault) - Number(a.isDefault))
}

/** Adds the time since which each check fails. */
export function withSince(readiness: Readiness, since: SinceWhen): Readiness {
  const { failing } = readiness
  const nameOf = ({ check, network = '' }: Readiness['failing'][number]) => `check ${check} ${network}`
  since.keepOnly('check ', failing.map(nameOf))
  const dated = failing.map((failed) => ({
    ...failed,
    since: since.textOf(nameOf(failed), 'failing'),
  }))
  return { ...readiness, failing: dated }
}

function conditionSince(network: OpenNetwork, since: SinceWhen): Network['condition'] {
  const { level, why } = conditionOf(network)
  return { level, why: why ?? null, since: sinceOfNetwork(network, since) }
}

function chainOf(
  network: OpenNetwork,
  figures: IngestFigures['upstreams'],
  since: SinceWhen,
  engine: IngestFigures['engine'],
): Network['chain'] {
  const { chain, head, syncing } = network.current
  const timestampMs = Number(head.header.timestamp) * 1_000
  return {
    chainId: chain.identity.chainId,
    purpose: network.purpose ?? null,
    basis: basisOf(chain.identity),
    head: {
      number: head.number,
      hash: `0x${Buffer.from(head.hash).toString('hex')}`,
      timestamp: isoTime(timestampMs),
      ageSeconds: Math.max(Date.now() - timestampMs, 0) / 1_000,
    },
    isSyncing: syncing !== undefined,
    isReadable: network.isReadable,
    isCutOff: isCutOff(network),
    logs: logsOf(network),
    workingSet: workingSetOf(network),
    upstreams: [
      ...upstreamsOf(network, head.number, figures, since),
      ...beaconNodesOf(network, figures, since),
    ],
    signed: signedOf(network),
    consensus: consensusOf(engine),
  }
}

type Upstreams = NonNullable<Network['chain']>['upstreams']

function upstreamsOf(
  network: OpenNetwork,
  ownHead: number,
  figures: IngestFigures['upstreams'],
  since: SinceWhen,
): Upstreams {
  const nodes = network.upstreams?.nodes ?? []
  const highest = Math.max(ownHead, largest(nodes.map(({ head }) => head ?? 0)))
  return nodes.map((node) => ({
    ...nodeOf(network.name, 'upstream', node, figures, since),
    head: node.head ?? null,
    blocksBehind: node.head === undefined ? null : highest - node.head,
  }))
}

/** Beacon nodes beside the upstreams: their heads are slots. */
function beaconNodesOf(
  network: OpenNetwork,
  figures: IngestFigures['upstreams'],
  since: SinceWhen,
): Upstreams {
  return beaconStatesOf(network.upstreams).map((node) => ({
    ...nodeOf(network.name, 'beacon node', node, figures, since),
    head: node.claim?.slot ?? null,
    blocksBehind: node.claim?.slotsBehind ?? null,
  }))
}

function nodeOf(
  network: string,
  kind: 'upstream' | 'beacon node',
  node: Omit<BeaconNodeState, 'claim'>,
  figures: IngestFigures['upstreams'],
  since: SinceWhen,
): Omit<Upstreams[number], 'head' | 'blocksBehind'> {
  const { name, lastError } = node
  const named = kind === 'upstream' ? name : `${beaconPrefix}${name}`
  const { answered = 0, failed = 0, seconds = 0 } = figures.find((found) => found.name === named) ?? {}
  return {
    name,
    kind,
    trouble: troubleOfNode(node) ?? null,
    since: sinceOfNode(network, kind, node, since),
    lastError: lastError === undefined ? null : { at: isoTime(lastError.atMs), why: lastError.why },
    meanSeconds: answered ? seconds / answered : null,
    answered,
    failed,
  }
}

function workingSetOf({ upstreams }: OpenNetwork): NonNullable<Network['chain']>['workingSet'] {
  const { workingSet } = upstreams ?? {}
  if (workingSet === undefined) return null
  const { way, currentFrom, ...others } = workingSet
  return { way: way ?? null, currentFrom: currentFrom ?? null, ...others }
}

function logsOf({ logs }: OpenNetwork): NonNullable<Network['chain']>['logs'] {
  return logs === undefined ? null : { ...logs, completeFrom: logs.completeFrom ?? null }
}

function signedOf({ upstreams }: OpenNetwork): NonNullable<Network['chain']>['signed'] {
  const { slot, finalizedSlot, participants, time } = upstreams?.signed ?? {}
  if (slot === undefined || finalizedSlot === undefined || time === undefined) return null
  return { slot, finalizedSlot, participation: participationOf(participants), ageSeconds: ageSeconds(time) }
}

function consensusOf(engine: IngestFigures['engine']): NonNullable<Network['chain']>['consensus'] {
  if (engine === undefined) return null
  const { calledAtMs, silentSinceMs, gap } = engine
  const timeOf = (ms: number | undefined) => (ms === undefined ? null : isoTime(ms))
  return { calledAt: timeOf(calledAtMs), silentSince: timeOf(silentSinceMs), gap: gap ?? null }
}

function queueOf(rollup: OpenRollup): Network['queue'] {
  const { waiting, waitingBytes, oldestWaitingMs, settled, isStoring, sequencerAnswers } = rollup.health()
  return {
    waiting,
    waitingBytes,
    oldestSeconds: oldestWaitingMs / 1_000,
    settled,
    isStoring,
    sequencerAnswers: sequencerAnswers ?? null,
  }
}

/** Bytes that this user may still write. */
function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** The latest time that ISO 8601 writes with a four-digit year. A header may have any number. */
const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59)

export function isoTime(timeMs: number): string {
  return new Date(Math.min(timeMs, lastTimeMs)).toISOString()
}
