/** The admin listener of `serve`, and the figures that it shows of the process. */
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { freeBytesAt } from '../../data/store/lmdb/environment.js'
import type { NodeStore } from '../../data/store/node/nodeStore.js'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import { clientVersion, version } from '../../primitives/version.js'
import type { Allowances } from '../../serving/access/allowances.js'
import {
  createKey,
  findKey,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
} from '../../serving/access/keyChanges.js'
import type { KeyChecker } from '../../serving/access/keyChecker.js'
import type { KeyFreshness } from '../../serving/access/keyFreshness.js'
import { type KeyRecord, keyToJson } from '../../serving/access/keyRecord.js'
import type { KeyRepository } from '../../serving/access/keyRepository.js'

import { CallHistory } from '../../serving/metrics/callHistory.js'
import type { EdgeCounts } from '../../serving/metrics/edgeCounts.js'
import { Metrics } from '../../serving/metrics/metrics.js'
import { RecentCalls, sampleCounts } from '../../serving/metrics/recentCalls.js'
import type { MetricSources } from '../../serving/metrics/sources.js'
import { anonymousId, RequestContext } from '../../serving/rpc/contexts/requestContext.js'
import { renderOpenRpc } from '../../serving/rpc/openRpc.js'
import { lastingPieces } from '../../serving/transport/answerBytes.js'
import { AdminListener } from '../admin/adminListener.js'
import { readAdminToken } from '../admin/adminToken.js'
import { checkReadiness, type Readiness, type ReadinessFigures } from '../admin/readiness.js'
import type { ApiServices } from '../admin/routes.js'
import { secondsOf } from '../admin/shapes.js'
import type { AdminConfig, Config } from '../config/config.js'
import type { Edge } from '../edge/edge.js'
import { isBehind, isCutOff, withKeysSince } from '../edge/health.js'
import { whyCutOff } from '../edge/networkCondition.js'
import type { OpenNetwork } from '../edge/openNetwork.js'
import { readAudit, readLastBlocks, readSubmissions, readUsage } from './adminLists.js'
import { type LiveServices, readHistory, readLive, readNetworks, withSince } from './liveState.js'
import type { OpenRollup } from './openRollup.js'
import { demoExample, networkUrls } from './welcome.js'

/** Services of `serve` that the admin listener shows. */
interface AdminServices extends LiveServices {
  /** Port of the edge. */
  readonly port: number
  readonly store: NodeStore
  readonly keys: KeyRepository
  /** Undefined if keys are not shared. */
  readonly keyFreshness: KeyFreshness | undefined
  readonly keyChecker: KeyChecker
  readonly allowances: Allowances
  readonly log: Logger
  isDraining(): boolean
}

/** Ports tried if the operator chose none: several servers on one machine take one after the other. */
const portsMax = 16

/** Edges publish their figures each second. An edge without news for this long is stuck. */
const stuckMs = 10_000

/**
 * Opens the admin listener and logs its address. Returns undefined if it is off, or if the operator chose no port and
 * none of the tried ones is free. Throws OperatorError if it cannot listen on the chosen port.
 */
export async function openAdmin(config: Config, services: AdminServices): Promise<AdminListener | undefined> {
  const { admin } = config
  if (admin === undefined) return undefined
  const { log } = services
  const recent = new RecentCalls(services.counts)
  const history = new CallHistory({
    path: config.node.calls,
    counts: () => sampleCounts(services.counts, performance.now()),
    ages: () => headAges(services.edge.networks),
    onFailure: (error) => log.warn(`the history of calls could not be written: ${error.message}`),
  })
  services.usage.listen((used) => history.take(used))
  const keyFreshness = config.auth ? services.keyFreshness : undefined
  const nameOf = keyNames(services.keys.store)
  const metrics = new Metrics(metricSources(config, services, nameOf))
  const { since } = services.edge
  const ready = () => withSince(readiness(admin, services, keyFreshness), since)
  const listener = new AdminListener({
    host: admin.host,
    port: admin.port,
    hosts: admin.hosts,
    version,
    token: readAdminToken(config.node.adminToken),
    stuck: () => stuckEdges(services.counts),
    ready,
    metrics: () => metrics.read(),
    noteFailedLogIns: ({ count, address, otherAddresses }) => {
      const others = otherAddresses === 0 ? '' : ` and ${otherAddresses} other addresses`
      const note = { atMs: Date.now(), actor: adminActor(address), keyId: undefined }
      const detail = `${count} wrong tokens from ${address}${others}`
      services.keys
        .note({ ...note, action: 'log-in failed', detail })
        .catch((error: Error) => log.error(`the audit log could not be written: ${error.message}`))
    },
    tick() {
      recent.sample()
      history.tick()
      // Times of changes are as exact as this timer.
      readNetworks(config, services, since)
      ready()
    },
    api: {
      ...openPlayground(config, services.edge, services.port),
      ...openAdminKeys(services.keys, services.keyChecker, services.allowances),
      readLive: () => readLive(config, services, recent.read(), ready(), nameOf, since),
      readHistory: (query) =>
        readHistory(history.read(secondsOf(query), { ...query, keyId: query.key }), nameOf),
      readNetworks: () => readNetworks(config, services, since),
      readLastBlocks: (network) => readLastBlocks(services.edge.networks, network),
      readSubmissions: (network) => readSubmissions(config, services.rollups, network),
      readAudit: (query) => readAudit(services.keys.store.audit, query),
      readUsage: (query) => readUsage(services.usage, query),
    },
    onClose: () => history.close(),
    logDefect: (error) =>
      log.error({ stack: error instanceof Error ? error.stack : String(error) }, 'admin listener'),
  })
  try {
    await listener.listen(admin.isPortChosen ? 1 : portsMax)
    log.info({ admin: listener.url }, 'the admin listener has started')
    return listener
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    if (admin.isPortChosen) {
      throw new OperatorError(`${error.message}; choose another "admin.port", or set "admin" to false`)
    }
    log.warn(
      `${error.message}, so there is none: no dashboard, /metrics, /live and /ready; choose a free "admin.port"`,
    )
    return undefined
  }
}

/** Names of keys by id. They are read again only when keys changed, because there may be thousands. */
function keyNames(store: NodeStore): (keyId: string) => string | undefined {
  let generation = -1
  let names = new Map<string, string>()
  return (keyId) => {
    // Calls of the playground, and all calls if no keys are needed.
    if (keyId === anonymousId) return 'without a key'
    const newest = store.readKeyGeneration()
    if (newest !== generation) names = new Map(listKeys(store).map(({ id, name }) => [id, name]))
    generation = newest
    return names.get(keyId)
  }
}

/** Names edges whose event loop has been stuck for {@link stuckMs}. */
export function stuckEdges(counts: readonly EdgeCounts[]): string[] {
  const nowMs = Date.now()
  // The main thread runs this code, so it is not stuck.
  return counts.flatMap(({ figures }, edge) =>
    edge > 0 && nowMs - figures.atMs > stuckMs ? [`edge ${edge}`] : [],
  )
}

/** Timestamp of the head, in seconds since 1970; undefined without a head. */
function headTimestamp(network: OpenNetwork): number | undefined {
  return network.opening === undefined ? Number(network.current.head.header.timestamp) : undefined
}

/** Ages of the heads in seconds, for the networks that have one. */
function headAges(networks: readonly OpenNetwork[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    networks.flatMap((network) => {
      const ageMs = headAgeMs(network)
      return ageMs === undefined ? [] : [[network.name, Math.max(Math.round(ageMs / 1_000), 0)]]
    }),
  )
}

function headAgeMs(network: OpenNetwork): number | undefined {
  const timestamp = headTimestamp(network)
  return timestamp === undefined ? undefined : Date.now() - timestamp * 1_000
}

function readiness(
  limits: AdminConfig,
  { edge, sources, rollups, transport, isDraining }: AdminServices,
  keyFreshness: KeyFreshness | undefined,
): Readiness {
  const sourceOf = new Map(sources.map((source) => [source.name, source]))
  const ofRollup = (rollup: OpenRollup): ReadinessFigures['rollups'][number] => {
    const { isStoring, sequencerAnswers, oldestWaitingMs } = rollup.health()
    // While the sequencer answers, only submissions of one key wait long, behind earlier ones of that key.
    const queueAgeMs = sequencerAnswers === false ? oldestWaitingMs : undefined
    return { network: rollup.name, isStoring, queueAgeMs }
  }
  const figures: ReadinessFigures = {
    transport,
    isDraining: isDraining(),
    networks: edge.networks.map((network) => ({
      network: network.name,
      opening: network.opening,
      isReadable: network.isReadable,
      cutOff: whyCutOff(network),
      hasCaughtUp: sourceOf.get(network.name)?.hasCaughtUp ?? true,
      headAgeMs: sourceOf.has(network.name) ? headAgeMs(network) : undefined,
    })),
    rollups: rollups.map(ofRollup),
    sharedKeys: keyFreshness && withKeysSince(keyFreshness.figures, edge.since),
  }
  return checkReadiness(figures, limits)
}

function metricSources(
  config: Config,
  services: AdminServices,
  nameOf: (keyId: string) => string | undefined,
): MetricSources {
  const { edge, counts, pool, store, keyFreshness, sources, rollups, transport, usage } = services
  const storeFigures = (store: string, path: string, readers: number) => ({
    store,
    bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0,
    freeBytes: existsSync(dirname(path)) ? freeBytesAt(path) : undefined,
    readers,
  })
  return {
    version: clientVersion,
    transport,
    edges: counts,
    refresh: () => edge.publish(),
    pool,
    sources: () =>
      sources.flatMap(({ name, figures }) => (figures === undefined ? [] : [{ network: name, ...figures }])),
    networks: () =>
      edge.networks.map((network) => ({
        network: network.name,
        head: network.opening === undefined ? network.current.head.number : undefined,
        headTimestamp: headTimestamp(network),
        isSyncing: isBehind(network),
        isReadable: network.isReadable,
        hasSourceFailed: isCutOff(network),
      })),
    rollups: () =>
      rollups.map((rollup) => ({
        network: rollup.name,
        ...rollup.queue.counts(),
        shared: rollup.sharedQueue(),
      })),
    stores: () => [
      storeFigures('node', config.node.store, store.readers),
      ...config.networks.map(({ name, storePath }) => {
        const network = edge.networks.find((candidate) => candidate.name === name)
        return storeFigures(`network ${name}`, storePath, network?.readers ?? 0)
      }),
    ],
    keys: () =>
      usage.readKeyTotals().map(({ keyId, ...amounts }) => ({
        key: keyId ?? 'other',
        name: (keyId !== undefined && nameOf(keyId)) || '',
        ...amounts,
      })),
    sharedKeysAnswer: () => keyFreshness && !keyFreshness.isLost,
    commits: () => store.commits,
    totals: edge.server.totals,
  }
}

/** Calls of the operator pass through the main thread's edge like calls of clients, but need no key. */
function openPlayground(
  config: Config,
  { endpoints }: Edge,
  port: number,
): Pick<ApiServices, 'readPlayground' | 'callMethod'> {
  const key = config.auth ? 'YOUR_API_KEY' : undefined
  const networks = [...endpoints.keys()].map((name) => {
    const rollup = config.rollups.find((candidate) => candidate.name === name)
    const tag = rollup === undefined ? ('chain' as const) : ('rollup' as const)
    const isDemo = config.networks.some((network) => network.name === name && network.isEmbedded)
    const addresses = networkUrls(config, port, name, key)
    return { name, tag, prefix: rollup?.prefix ?? null, ...addresses, example: isDemo ? demoExample() : null }
  })
  return {
    readPlayground: () => ({ networks, openRpc: JSON.parse(renderOpenRpc(clientVersion)) }),
    async callMethod(network, { method, params }) {
      const endpoint = endpoints.get(network)
      if (endpoint === undefined) throw new UsageError(`there is no network "${network}"`)
      const caller = new RequestContext()
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      const startedMs = performance.now()
      const answer = await endpoint.handle(body, caller)
      const seconds = (performance.now() - startedMs) / 1_000
      caller.finish()
      return { answer: Buffer.concat(lastingPieces(answer.body)).toString('utf8'), seconds }
    },
  }
}

/** The actor at this address, as keys and the audit log name it. */
function adminActor(address: string): string {
  return `admin:${address}`
}

/** API keys as the admin API shows and changes them. */
function openAdminKeys(
  book: KeyRepository,
  { pepper }: KeyChecker,
  allowances: Allowances,
): Pick<ApiServices, 'readKeys' | 'createKey' | 'setKey' | 'rotateKey' | 'revokeKey'> {
  const shown = (key: KeyRecord) => {
    const day = allowances.of(key.id, key.limits)?.day
    // Rounded, so that two answers have the same time.
    const resetsAt = day && new Date(Math.round((Date.now() + day.msToEnd) / 1_000) * 1_000).toISOString()
    return {
      ...keyToJson(key),
      day:
        day === undefined || resetsAt === undefined ? null : { units: day.units, spent: day.spent, resetsAt },
    }
  }
  return {
    readKeys: () => listKeys(book.store).map(shown),
    async createKey(settings, address) {
      const { key, text } = await book.change((keys) =>
        createKey(keys, pepper, settings, adminActor(address)),
      )
      return { key: shown(key), text }
    },
    setKey: async (id, settings, address) =>
      shown(await book.change((keys) => setKey(keys, id, settings, adminActor(address)))),
    async rotateKey(id, { overlapSeconds }, address) {
      const { key, text } = await book.change((keys) =>
        rotateKey(keys, pepper, id, overlapSeconds * 1_000, adminActor(address)),
      )
      return { key: shown(key), text }
    },
    async revokeKey(id, address) {
      await book.change((keys) => revokeKey(keys, id, adminActor(address)))
      return shown(findKey(book.store, id))
    },
  }
}
