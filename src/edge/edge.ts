/**
 * What an edge is: a thread that listens, with networks open for reading, caches and subscriptions of its own. Owns
 * how its rooms are put together out of the configuration; every edge is made here, on whatever thread. Does not own
 * what there is once in a process: sources, the pool, the queues of rollups, keys (`commands/serve.ts` does).
 *
 * Edge 0 is the main thread. With `edges` above 1 the others are threads that listen on the same port
 * (`edgeThread.ts`), and the kernel spreads connections over all of them. Budgets of caches are divided, limits are
 * counted together (`transport/totals.ts`), and what there is once is asked for by message (`mainLink.ts`).
 */
import type { Logger } from 'pino'
import { type KeyRing, keyProblemTexts } from '../access/keyRing.js'
import { redactKeys } from '../access/keyText.js'
import type { Meter } from '../access/meter.js'
import type { Config } from '../config/config.js'
import type { NetworkJobs } from '../pool/jobs.js'
import type { AnswerBody } from '../rpc/answer.js'
import { anonymousId } from '../rpc/caller.js'
import { createDispatcher, type DispatchLimits } from '../rpc/dispatch.js'
import type { FilterService } from '../rpc/filterService.js'
import type { Network } from '../rpc/network.js'
import { renderOpenRpc } from '../rpc/openRpc.js'
import { PolledFilters } from '../rpc/polledFilters.js'
import { methods } from '../rpc/registry.js'
import type { RollupNetwork } from '../rpc/rollupNetwork.js'
import { prefixRollupMethods } from '../rpc/rollupRegistry.js'
import { turnMsDefault } from '../rpc/turns.js'
import { type DefectLog, thrownToWireError } from '../rpc/wireErrors.js'
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../transport/http.js'
import type { ServerTotals } from '../transport/totals.js'
import { messageBytesDefault, socketsPerKeyFor } from '../transport/unfinishedMessages.js'
import type { Transport } from '../transport/wire.js'
import type { ChainFeed } from './chainFeed.js'
import type { EdgeRollup, RollupHealth } from './edgeRollup.js'
import { type OpenNetwork, openNetwork } from './openNetwork.js'

/** What answers under way may take, once the server is asked to stop, beyond the time that any request has. */
const lastAnswersMsMax = 1_000

/** How long a WebSocket that is to end waits until what was sent is read: as long as any request may take. */
const endMsMax = 30_000

export interface EdgeOptions {
  readonly config: Config
  /** As `web3_clientVersion` answers. */
  readonly clientVersion: string
  readonly ring: KeyRing
  /** Undefined where nothing is counted. */
  readonly meter: Meter | undefined
  readonly log: Logger
  readonly transport: Transport
  readonly rollups: readonly EdgeRollup[]
  /** By network; see {@link readNetworkLayouts}. */
  readonly layouts: ReadonlyMap<string, Network['layouts']>
  readonly feedOf: (network: string) => ChainFeed | undefined
  readonly jobsOf: (network: string) => NetworkJobs
  /** On an edge that does not keep the filters of networks itself. */
  readonly filtersOf?: (network: string) => FilterService
  /** Where there are several edges: the port that all listen on, and what they count together. */
  readonly shared: { readonly port: number; readonly totals: ServerTotals } | undefined
}

export interface Edge {
  readonly networks: readonly OpenNetwork[]
  readonly server: HttpServer
  /** Closes the networks; to be called when the server is closed. */
  close(): Promise<void>
}

/** Opens the networks; throws OperatorError where one is not usable. The server does not listen yet. */
export async function openEdge(options: EdgeOptions): Promise<Edge> {
  const { config } = options
  const openRpc = Buffer.from(renderOpenRpc(options.clientVersion))
  const networks: OpenNetwork[] = []
  const logDefect = defectLog(options.log)
  const close = async () => {
    await Promise.all(networks.map((network) => network.close()))
  }
  try {
    for (const network of config.networks) {
      networks.push(
        openNetwork(network, {
          mapBytes: config.mapBytes,
          answerCacheBytes: share(config.limits.answerCacheBytes, config.edges * config.networks.length),
          proofCacheBytes: share(config.limits.proofCacheBytes, config.edges * config.networks.length),
          logBounds: { logsMax: config.limits.logsMax, bytesMax: config.limits.logBytesMax },
          filters: (current) =>
            options.filtersOf?.(network.name) ??
            new PolledFilters(current, {
              idleMsMax: config.limits.filterIdleMsMax,
              bytesPerKeyMax: config.limits.keyFilterBytesMax,
              bytesMax: config.limits.filterBytesMax,
            }),
          proofKeysMax: config.limits.proofKeysMax,
          replayBlocksMax: config.limits.replayBlocksMax,
          clientVersion: options.clientVersion,
          openRpc,
          jobs: options.jobsOf(network.name),
          gasCapBlocks: config.limits.executionGasBlocks,
          layouts: options.layouts.get(network.name) ?? new Map(),
          feed: options.feedOf(network.name),
          reportDefect: (error) => void thrownToWireError(error, `head of ${network.name}`, logDefect),
        }),
      )
    }
    return { networks, server: createServer(options, networks, openRpc, logDefect), close }
  } catch (error) {
    await close()
    throw error
  }
}

function defectLog(log: Logger): DefectLog {
  return ({ id, where, keyId, error }) => {
    const stack = redactKeys(error instanceof Error ? (error.stack ?? '') : String(error))
    log.error({ id, where, key: keyId, stack }, 'internal error')
  }
}

/** One of `parts` of a budget. */
function share(bytes: number, parts: number): number {
  return Math.floor(bytes / parts)
}

function createServer(
  options: EdgeOptions,
  networks: readonly OpenNetwork[],
  openRpc: Uint8Array,
  logDefect: DefectLog,
): HttpServer {
  const { config, rollups, ring, meter, log, shared } = options
  const { limits } = config
  let seenGeneration = ring.seenGeneration
  const messageBytesMax = limits.socketMessageBytesMax ?? messageBytesDefault(options.transport)
  const server: HttpServerOptions = {
    transport: options.transport,
    host: config.host,
    port: shared?.port ?? config.port,
    ...(shared && { totals: shared.totals }),
    routes: createRoutes(options, networks, logDefect),
    authorize(presented) {
      const result = ring.authorize(presented)
      return result.ok
        ? result
        : { ok: false, reason: keyProblemTexts[result.why].replace(/^unauthorized: /, '') }
    },
    changedKeys() {
      const { generation, ids } = ring.readChanges(seenGeneration)
      seenGeneration = generation
      return ids
    },
    noAuth: !config.auth,
    anonymousAllowance: meter?.allowanceOf(anonymousId),
    limits: {
      bodyBytesMax: limits.bodyBytesMax,
      bufferedBytesMax: limits.bufferedBodyBytesMax,
      bodyMsMax: limits.bodyMsMax,
      closeMsMax: limits.requestMsMax + lastAnswersMsMax,
    },
    socketLimits: {
      messageBytesMax,
      callsMax: limits.socketCallsMax,
      unsentBytesMax: limits.socketUnsentBytesMax,
      bufferedBytesMax: limits.socketBufferedBytesMax,
      socketsMax: limits.socketsMax,
      socketsPerKeyMax: Math.min(
        limits.socketsPerKeyMax,
        socketsPerKeyFor(options.transport, messageBytesMax),
      ),
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
    },
    cors: config.cors.origins.includes('*') ? '*' : config.cors.origins,
    pages: new Map<string, () => AnswerBody | Promise<AnswerBody>>([
      ['/health', () => readHealth(networks, rollups)],
      ['/openrpc.json', () => [openRpc]],
    ]),
    logDefect,
    logRefused: (refused) => log.debug(refused, 'request refused'),
  }
  return createHttpServer(server)
}

function createRoutes(
  { config, rollups }: EdgeOptions,
  networks: readonly OpenNetwork[],
  logDefect: DefectLog,
): HttpServerOptions['routes'] {
  const { limits } = config
  const dispatchLimits: DispatchLimits = {
    batchCallsMax: limits.batchCallsMax,
    // What one call may be is the same on both transports; a longer message is a batch.
    callBytesMax: limits.bodyBytesMax,
    batchBytesMax: limits.batchAnswerBytesMax,
    turnMsMax: turnMsDefault,
    requestMsMax: limits.requestMsMax,
    memoBytesMax: share(limits.memoBytes, config.edges),
  }
  const archives = createDispatcher<Network>({
    methods: Object.values(methods),
    limits: dispatchLimits,
    log: logDefect,
  })
  const rollupEndpoint = ({ name, network }: EdgeRollup) => {
    const { prefix = '', aliases = [] } = config.rollups.find((rollup) => rollup.name === name) ?? {}
    return createDispatcher<RollupNetwork>({
      methods: prefixRollupMethods([prefix, ...aliases]),
      limits: dispatchLimits,
      log: logDefect,
    }).endpoint({ current: network, pinned: () => undefined })
  }
  const endpoints = [
    ...networks.map((network) => ({ name: network.name, endpoint: archives.endpoint(network) })),
    ...rollups.map((rollup) => ({ name: rollup.name, endpoint: rollupEndpoint(rollup) })),
  ]
  const inOrder = endpoints.sort(
    (a, b) => Number(b.name === config.defaultNetwork) - Number(a.name === config.defaultNetwork),
  )
  const hostsOf = new Map([...config.networks, ...config.rollups].map(({ name, hosts }) => [name, hosts]))
  return inOrder.map(({ name, endpoint }) => ({ name, endpoint, hosts: hostsOf.get(name) ?? [] }))
}

/** The body of `/health`; a promise where a queue is another edge's. */
function readHealth(
  networks: readonly OpenNetwork[],
  rollups: readonly EdgeRollup[],
): string | Promise<string> {
  const ofNetworks = networks.map(({ name, current, isReadable, hasSourceFailed }) => [
    name,
    {
      head: current.head.number,
      syncing: current.syncing !== undefined,
      ...(!isReadable && { isReadable }),
      ...(hasSourceFailed && { source: 'failed' }),
    },
  ])
  const areWell = networks.every(({ isReadable, hasSourceFailed }) => isReadable && !hasSourceFailed)
  const ofRollups = rollups.map((rollup) => rollup.health())
  const render = (found: readonly RollupHealth[]) =>
    JSON.stringify({
      status: areWell && found.every(({ isStoring }) => isStoring) ? 'ok' : 'failing',
      networks: Object.fromEntries([
        ...ofNetworks,
        ...rollups.map(({ name }, index) => [name, found[index]]),
      ]),
    })
  const isElsewhere = ofRollups.some((health) => health instanceof Promise)
  return isElsewhere ? Promise.all(ofRollups).then(render) : render(ofRollups as readonly RollupHealth[])
}
