/**
 * An edge is a thread that listens, with its own readers of the networks, caches and subscriptions. Owns how an edge is
 * built from the configuration, on any thread. Does not own the parts that exist once per process: sources, the pool,
 * the queues of rollups, keys (`commands/serve.ts` does).
 *
 * Edge 0 is the main thread. With `edges` above 1 the others are threads that listen on the same port
 * (`edgeThreads.ts`), and the operating system spreads connections over all of them. Memory for caches is divided among
 * them, and limits are counted together (`transport/totals.ts`). Edges call the parts that exist once by message
 * (`mainLink.ts`).
 */
import { getHeapStatistics } from 'node:v8'
import type { Logger } from 'pino'
import type { CacheUse } from '../../data/chain/answerCache.js'
import { FaultError } from '../../primitives/faults.js'
import { SinceWhen } from '../../primitives/sinceWhen.js'
import { developerMethods, type SourceCalls } from '../../primitives/upstreamCalls.js'
import type { Allowances } from '../../serving/access/allowances.js'
import { type KeyChecker, type KeyProblem, keyProblemTexts } from '../../serving/access/keyChecker.js'
import type { UsageCounter } from '../../serving/access/usageCounter.js'
import type { EdgeCounts, EdgeFigures } from '../../serving/metrics/edgeCounts.js'
import type { NetworkJobs } from '../../serving/pool/jobs.js'
import { type DefectLog, thrownToWireError } from '../../serving/rpc/answers/wireErrors.js'
import { anonymousId, ownCallerId } from '../../serving/rpc/contexts/requestContext.js'
import { turnMsDefault } from '../../serving/rpc/contexts/requestSlices.js'
import { createDispatcher } from '../../serving/rpc/dispatch/dispatch.js'
import type { DispatchLimits, Endpoint, StoringEndpoint } from '../../serving/rpc/dispatch/endpoint.js'
import type { FilterService } from '../../serving/rpc/logs/filterService.js'
import { PolledFilters } from '../../serving/rpc/logs/polledFilters.js'
import type { Method } from '../../serving/rpc/method.js'
import type { RollupNetwork } from '../../serving/rpc/methods/rollup.js'
import type { Network } from '../../serving/rpc/network.js'
import { renderOpenRpc } from '../../serving/rpc/openRpc.js'
import { methods } from '../../serving/rpc/registry.js'
import { boundRollupMethods, prefixRollupMethods } from '../../serving/rpc/rollup/rollupRegistry.js'
import type { Tracer } from '../../serving/traces/tracer.js'
import { HttpServer, type HttpServerOptions } from '../../serving/transport/http.js'
import type { Page } from '../../serving/transport/httpRoutes.js'
import { rarelyMade } from '../../serving/transport/rarelyMade.js'
import type { RequestTracer } from '../../serving/transport/requestLog.js'
import type { ServerTotals } from '../../serving/transport/totals.js'
import { messageBytesDefault, socketsPerKeyFor, type Transport } from '../../serving/transport/wire.js'
import type { Config, NetworkConfig, RollupConfig } from '../config/config.js'
import type { ChainFeed } from './chainFeed.js'
import type { EdgeRollup } from './edgeRollup.js'
import { fullStores, readHealth } from './health.js'
import { threadCpuSeconds, watchLoop } from './loopWatch.js'
import { readOpenFiles } from './openFiles.js'
import { type OpenNetwork, openNetwork } from './openNetwork.js'
import { type EdgeSettings, settingsOf } from './settings.js'
import { warmUp } from './warmUp.js'

/** Time for unfinished answers when the server stops, beyond the time limit of a request. */
const lastAnswersMsMax = 1_000

/** Time to close jobs, sources and stores after the last answer, within the grace period. */
const closeMs = 2_000

/** Time that a closing WebSocket waits for its client to read: the default time limit of a request. */
const endMsMax = 30_000

export interface EdgeOptions {
  readonly config: Config
  readonly clientVersion: string
  readonly keyChecker: KeyChecker
  readonly allowances: Allowances
  readonly log: Logger
  readonly transport: Transport
  readonly rollups: readonly EdgeRollup[]
  /** Layouts by network; see `readNetworkLayouts` (storageLayouts.ts). */
  readonly layouts: ReadonlyMap<string, Network['layouts']>
  readonly feedOf: (network: string) => ChainFeed | undefined
  /** Calls of networks with a source; only a gateway fetches. */
  readonly callsOf: (network: string) => Required<SourceCalls> | undefined
  readonly jobsOf: (network: string) => NetworkJobs
  /** The polled filters of a network, on an edge that does not own them. */
  readonly filtersOf?: (network: string) => FilterService
  /** With several edges: the port that all listen on, and the counters that they share. */
  readonly shared: { readonly port: number; readonly totals: ServerTotals } | undefined
  readonly counts: EdgeCounts
  readonly usage: UsageCounter
}

export interface Edge {
  readonly networks: readonly OpenNetwork[]
  /** The methods over each network, rollups too, by name; the default network first. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly server: HttpServer
  /** Start of the present state of each part. */
  readonly since: SinceWhen
  /** Warms up, for `limits.warmUpMs`, and listens; resolves to the port. Rejects as {@link HttpServer.listen}. */
  listen(): Promise<number>
  /** Writes the figures of its thread into its counts. */
  publish(): void
  /** Reports in `/health`, and to each connection with its next answer, that the server is about to stop. */
  drain(): void
  apply(settings: EdgeSettings): void
  /** Closes the networks; call it once the server is closed. */
  close(): Promise<void>
}

interface SharedByNetworks {
  readonly answerCacheBytes: number
  readonly openRpc: Buffer
  readonly logDefect: DefectLog
}

function openNetworkOf(
  network: NetworkConfig,
  options: EdgeOptions,
  { answerCacheBytes, openRpc, logDefect }: SharedByNetworks,
): OpenNetwork {
  const { config } = options
  return openNetwork(network, {
    mapBytes: config.mapBytes,
    answerCacheBytes: share(answerCacheBytes, config.edges * config.networks.length),
    proofCacheBytes: share(config.limits.proofCacheBytes, config.edges * config.networks.length),
    limits: config.limits,
    filters: (current) =>
      options.filtersOf?.(network.name) ??
      new PolledFilters(current, {
        idleMsMax: config.limits.filterIdleMsMax,
        bytesPerKeyMax: config.limits.keyFilterBytesMax,
        bytesMax: config.limits.filterBytesMax,
      }),
    clientVersion: options.clientVersion,
    openRpc,
    jobs: jobsOfClients(options.jobsOf(network.name)),
    layouts: options.layouts.get(network.name) ?? new Map(),
    feed: options.feedOf(network.name),
    fetch: mayLack(network) ? options.callsOf(network.name)?.fetch : undefined,
    upstreamCalls: takesCalls(network) ? options.callsOf(network.name) : undefined,
    passThrough: passThroughOf(network),
    reportDefect: (error) => void thrownToWireError(error, `head of ${network.name}`, logDefect),
  })
}

/** Makes the server, which does not listen yet. Throws OperatorError if a network's store cannot be used. */
export async function openEdge(options: EdgeOptions): Promise<Edge> {
  const { config } = options
  const answerCacheBytes = config.limits.answerCacheBytes - copyBytesOf(config)
  const openRpc = Buffer.from(renderOpenRpc(options.clientVersion))
  const networks: OpenNetwork[] = []
  const logDefect = defectLog(options.log)
  const tracer = await openTracer(options)
  let unwatch = () => {}
  const close = async () => {
    unwatch()
    await Promise.all([tracer?.close(), ...networks.map((network) => network.close())])
  }
  try {
    for (const network of config.networks) {
      networks.push(openNetworkOf(network, options, { answerCacheBytes, openRpc, logDefect }))
    }
    let isDraining = false
    const since = new SinceWhen()
    const keyFreshness = config.auth ? options.keyChecker.keyFreshness : undefined
    const health = () =>
      readHealth({
        networks,
        rollups: options.rollups,
        sharedKeys: keyFreshness?.figures,
        isDiskFull: fullStores(config).length > 0,
        isDraining,
        since,
      })
    const routes = createRoutes(options, networks, settingsOf(config).hosts, logDefect)
    const endpoints = new Map(routes.map(({ name, endpoint }) => [name, endpoint]))
    const server = createServer(options, routes, { openRpc, health }, logDefect, tracer)
    const publish = () => {
      options.counts.publish(readEdgeFigures(networks, server))
      // Times since when are as exact as this is frequent. An owner of a queue that ends is no error of this edge.
      void Promise.resolve(health()).catch(() => undefined)
    }
    unwatch = watchLoop(options.counts, publish)
    return {
      networks,
      endpoints,
      server,
      since,
      async listen() {
        await warmUpUncounted(options, { networks, routes, server })
        publish()
        return server.listen()
      },
      publish,
      drain() {
        isDraining = true
        server.drain()
      },
      apply(settings) {
        options.log.level = settings.logLevel
        void server.reconfigure(settings).catch((error: Error) => options.log.error(error.message))
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Warms up the server, and resets the counts of that time. Does not fail: a server that could not warm up answers its
 * first requests more slowly.
 */
async function warmUpUncounted(
  { config, counts, usage, log }: EdgeOptions,
  { networks, routes, server }: Pick<Edge, 'networks' | 'server'> & { readonly routes: StoringRoutes },
): Promise<void> {
  const { limits, edges, tls } = config
  if (limits.warmUpMs === 0) return
  const forgetAnswers = () => {
    for (const network of networks) network.forgetAnswers()
    for (const { name, endpoint } of routes) {
      if (networks.find((network) => network.name === name)?.opening === undefined) endpoint.forgetAnswers()
    }
  }
  usage.pause()
  const parts = { server, isSecure: tls !== undefined, networks, edges, forgetAnswers }
  const startedAtMs = performance.now()
  await warmUp({ ...parts, cpuMsMax: limits.warmUpMs }).then(
    (answers) => log.debug({ answers, ms: Math.round(performance.now() - startedAtMs) }, 'warmed up'),
    (error: Error) => log.warn(`the warm-up ended early, so first requests take longer: ${error.message}`),
  )
  forgetAnswers()
  usage.resume()
  counts.clear()
}

/**
 * The jobs of a network, for clients alone. The warm-up starts no thread of the pool, and counts no job: calls that
 * would need one fail.
 */
function jobsOfClients(jobs: NetworkJobs): NetworkJobs {
  return {
    run: (name, args, owner) =>
      owner.keyId === ownCallerId
        ? Promise.reject(new FaultError({ kind: 'RequestTimedOut' }))
        : jobs.run(name, args, owner),
    ...(jobs.refusal && { refusal: (className, owner) => jobs.refusal?.(className, owner) }),
  }
}

/** Whether the source fetches data that its store lacks. */
function mayLack({ gateway, fork }: NetworkConfig): boolean {
  return gateway !== undefined || fork !== undefined
}

/** Whether the source takes transactions and calls of clients: it passes them to its nodes, or makes blocks itself. */
function takesCalls({ gateway, source }: NetworkConfig): boolean {
  return gateway !== undefined || ['follow', 'develop', 'consensus'].includes(source?.type ?? '')
}

function passThroughOf({ gateway, source }: NetworkConfig): readonly string[] {
  if (source?.type === 'develop') return developerMethods
  return gateway?.passThrough ?? (source?.type === 'follow' ? source.passThrough : [])
}

function defectLog(log: Logger): DefectLog {
  return ({ id, where, keyId, error }) => {
    const stack = error instanceof Error ? error.stack : String(error)
    log.error({ id, where, key: keyId, stack }, 'internal error')
  }
}

/** Loads the tracing modules only if requests are traced. */
async function openTracer({ config, clientVersion, log }: EdgeOptions): Promise<Tracer | undefined> {
  const { traces, edges } = config
  if (traces === undefined) return undefined
  const { Tracer } = await import('../../serving/traces/tracer.js')
  const { endpoint, sample, parentsPerSecond, headersFile } = traces
  return new Tracer({
    endpoint,
    sample,
    parentsPerSecond: Math.ceil(parentsPerSecond / edges),
    headersFile,
    version: clientVersion,
    warn: (text) => log.warn(text),
  })
}

/** Part of the memory for answers that compressed copies take: a block is four times as long as its gzip. */
function copyBytesOf({ compression, limits }: Config): number {
  return compression ? share(limits.answerCacheBytes, 5) : 0
}

function share(bytes: number, parts: number): number {
  return Math.floor(bytes / parts)
}

/** Wait before a retry with a key that could not be checked: a restarting database takes seconds. */
const keyRetryMs: { readonly [why in KeyProblem]?: number } = { unreachable: 5_000, tokenFlood: 1_000 }

function createServer(
  options: EdgeOptions,
  routes: HttpServerOptions['routes'],
  pages: { readonly openRpc: Uint8Array; readonly health: () => Page | Promise<Page> },
  logDefect: DefectLog,
  tracer: RequestTracer | undefined,
): HttpServer {
  const { config, keyChecker, allowances, log, shared } = options
  const settings = settingsOf(config)
  let seenGeneration = keyChecker.seenGeneration
  const files = readOpenFiles()
  const server: HttpServerOptions = {
    transport: options.transport,
    host: config.host,
    port: shared?.port ?? config.port,
    ...(shared && { totals: shared.totals }),
    routes,
    authorize(presented, from) {
      const result = keyChecker.authorize(presented, from)
      if (result.ok) return result
      const reason = keyProblemTexts[result.why].replace(/^unauthorized: /, '')
      const retryAfterMs = keyRetryMs[result.why]
      return { ok: false, reason, keyId: result.keyId, ...(retryAfterMs !== undefined && { retryAfterMs }) }
    },
    changedKeys() {
      const { generation, ids } = keyChecker.readChanges(seenGeneration)
      seenGeneration = generation
      return ids
    },
    noAuth: !config.auth,
    anonymousAllowance: allowances.of(anonymousId),
    limits: httpLimits(config, files?.connectionsMax),
    socketLimits: socketLimits(config, options.transport),
    cors: settings.cors,
    allowedHosts: settings.allowedHosts,
    trustedProxies: settings.trustedProxies,
    tls: settings.tls,
    pages: new Map<string, () => Page | Promise<Page>>([
      ['/health', rarelyMade(pages.health)],
      ['/openrpc.json', () => ({ status: 200, body: [pages.openRpc] })],
    ]),
    logDefect,
    requestLog: {
      methods: new Set(servedMethods(config)),
      settings: settings.requestLog,
      write: (line, isSampled) => (isSampled ? log.info(line, 'request') : log.debug(line, 'request')),
      tracer,
    },
    logFull(ended) {
      log.warn(`connections reached the limit of ${files?.max} open files; ${ended} more were closed at once`)
    },
    logRefused(refused) {
      const { reason, keyId, why } = refused
      options.counts.rejected(reason)
      if (keyId !== undefined) options.usage.refused(keyId, reason, why)
      log.debug(refused, 'request refused')
    },
  }
  return new HttpServer(server)
}

function httpLimits(config: Config, connectionsMax: number | undefined): HttpServerOptions['limits'] {
  const { limits, graceMs, drainDelayMs, edges } = config
  return {
    bodyBytesMax: limits.bodyBytesMax,
    bufferedBytesMax: limits.bufferedBodyBytesMax,
    bodyMsMax: limits.bodyMsMax,
    closeMsMax: Math.min(limits.requestMsMax + lastAnswersMsMax, graceMs - drainDelayMs - closeMs),
    compressedBytesMax: share(copyBytesOf(config), edges),
    ...(connectionsMax !== undefined && {
      connectionsMax: Math.max(Math.floor(connectionsMax / edges), 1),
    }),
  }
}

function socketLimits({ limits }: Config, transport: Transport): HttpServerOptions['socketLimits'] {
  const messageBytesMax = limits.socketMessageBytesMax ?? messageBytesDefault(transport)
  return {
    messageBytesMax,
    callsMax: limits.socketCallsMax,
    unsentBytesMax: limits.socketUnsentBytesMax,
    bufferedBytesMax: limits.socketBufferedBytesMax,
    socketsMax: limits.socketsMax,
    socketsPerKeyMax: Math.min(limits.socketsPerKeyMax, socketsPerKeyFor(transport, messageBytesMax)),
    pingMs: limits.socketPingMs,
    idleMsMax: limits.socketIdleMsMax,
    endMsMax,
    subscriptions: {
      subscriptionsMax: limits.subscriptionsMax,
      bytesMax: limits.socketSubscriptionBytesMax,
      bytesPerKeyMax: limits.keySubscriptionBytesMax,
      bytesInAllMax: limits.subscriptionBytesMax,
      queueBytesDefault: limits.subscriptionQueueBytes,
      queueBytesMax: limits.subscriptionQueueBytesMax,
    },
  }
}

type StoringRoutes = readonly (HttpServerOptions['routes'][number] & { readonly endpoint: StoringEndpoint })[]

function createRoutes(
  { config, rollups, counts, usage }: EdgeOptions,
  networks: readonly OpenNetwork[],
  hostsOf: EdgeSettings['hosts'],
  logDefect: DefectLog,
): StoringRoutes {
  const { limits } = config
  const dispatchLimits: DispatchLimits = {
    batchCallsMax: limits.batchCallsMax,
    // A single call may be as long over WebSocket as over HTTP; a longer message can only be a batch.
    callBytesMax: limits.bodyBytesMax,
    batchBytesMax: limits.batchAnswerBytesMax,
    turnMsMax: turnMsDefault,
    requestMsMax: limits.requestMsMax,
    memoBytesMax: share(limits.memoBytes, config.edges),
  }
  const shared = {
    limits: dispatchLimits,
    log: logDefect,
    counts,
    usageOf: (network: string) => usage.ofNetwork(network),
  }
  const archives = createDispatcher<Network>({ ...shared, methods: Object.values(methods) })
  const prefixesOfRollup = ({ name }: EdgeRollup) =>
    prefixesOf(config.rollups.find((candidate) => candidate.name === name) as RollupConfig)
  const rollupEndpoint = (rollup: EdgeRollup) => {
    const ofRollup = prefixRollupMethods(prefixesOfRollup(rollup))
    const dispatcher = createDispatcher<RollupNetwork>({ ...shared, methods: ofRollup })
    return dispatcher.endpoint({ current: rollup.network, pinned: () => undefined })
  }
  // At the default address a client need not know which network has its methods, if there is only one rollup.
  const [rollup, ...others] = rollups
  const own = Object.values<Method<Network>>(methods)
  const names = new Set(own.map(({ name }) => name))
  const bound =
    rollup === undefined || others.length > 0
      ? []
      : boundRollupMethods(rollup.network, prefixesOfRollup(rollup)).filter(({ name }) => !names.has(name))
  const byDefault =
    bound.length === 0 ? archives : createDispatcher<Network>({ ...shared, methods: [...own, ...bound] })
  const dispatcherOf = ({ name }: OpenNetwork) => (name === config.defaultNetwork ? byDefault : archives)
  const endpoints = [
    ...networks.map((network) => ({
      name: network.name,
      endpoint: dispatcherOf(network).endpoint(network, network.name),
    })),
    ...rollups.map((rollup) => ({ name: rollup.name, endpoint: rollupEndpoint(rollup) })),
  ]
  const inOrder = endpoints.sort(
    (a, b) => Number(b.name === config.defaultNetwork) - Number(a.name === config.defaultNetwork),
  )
  return inOrder.map(({ name, endpoint }) => ({ name, endpoint, hosts: hostsOf.get(name) ?? [] }))
}

function prefixesOf({ prefix, aliases }: RollupConfig): string[] {
  return [prefix, ...aliases]
}

/** Names of all methods of all networks, in the same order on every edge. */
export function servedMethods({ rollups }: Config): string[] {
  const ofRollups = rollups.flatMap((rollup) => prefixRollupMethods(prefixesOf(rollup)))
  return [...new Set([...Object.values(methods), ...ofRollups].map(({ name }) => name))]
}

/** Names of all networks and rollups, in the same order on every edge. */
export function servedNetworks({ networks, rollups }: Config): string[] {
  return [...networks, ...rollups].map(({ name }) => name)
}

function readEdgeFigures(networks: readonly OpenNetwork[], server: HttpServer): EdgeFigures {
  const blocks = sumUses(networks.map(({ blockAnswers }) => blockAnswers))
  const open = networks.filter(({ opening }) => opening === undefined)
  const proofs = sumUses(open.map(({ current }) => current.proofs.use))
  return {
    atMs: Date.now(),
    cpuSeconds: threadCpuSeconds(),
    heapBytes: getHeapStatistics().used_heap_size,
    connections: server.connections,
    subscriptions: server.subscribers.open,
    skippedEvents: server.subscribers.skippedEvents,
    blockHits: blocks.hits,
    blockMisses: blocks.misses,
    blockBytes: blocks.bytes,
    proofHits: proofs.hits,
    proofMisses: proofs.misses,
    proofBytes: proofs.bytes,
    copyBytes: server.copyBytes,
  }
}

function sumUses(uses: readonly CacheUse[]): CacheUse {
  const sum = (name: keyof CacheUse) => uses.reduce((total, use) => total + use[name], 0)
  return { hits: sum('hits'), misses: sum('misses'), bytes: sum('bytes') }
}
