/** `tidegate serve`: builds the rooms out of the settings, answers until it is interrupted, and closes them in order. */
import pino, { type Logger } from 'pino'
import { KeyRing, refusalTexts } from '../access/keyRing.js'
import { redactKeys } from '../access/keyText.js'
import { anonymousId, Meter } from '../access/meter.js'
import type { Config } from '../config.js'
import { keyRates } from '../configFile.js'
import { jobsOfNetwork, openJobPool } from '../pool/jobPool.js'
import type { Jobs } from '../pool/jobs.js'
import type { Pool } from '../pool/pool.js'
import type { ThreadLoss } from '../pool/poolOptions.js'
import { createDispatcher, type DispatchLimits } from '../rpc/dispatch.js'
import type { Network } from '../rpc/network.js'
import { methods } from '../rpc/registry.js'
import type { RollupNetwork } from '../rpc/rollupNetwork.js'
import { prefixRollupMethods } from '../rpc/rollupRegistry.js'
import type { Defect } from '../rpc/wireErrors.js'
import { NodeStore } from '../store/nodeStore.js'
import { createHttpServer, type HttpServer } from '../transport/http.js'
import type { Io } from './commandLine.js'
import { createProgressView } from './importProgress.js'
import { onInterrupt } from './interrupt.js'
import { type OpenNetwork, openNetwork } from './openNetwork.js'
import { type OpenRollup, openRollup } from './openRollup.js'
import { clientVersion } from './version.js'
import { type DemoAccess, welcomeLines } from './welcome.js'

/** How long a WebSocket that is to end waits until what was sent is read: as long as any request may take. */
const endMsMax = 30_000

/** How long answers under way may take once the server is asked to stop: as long as any request may. */
const closeMsMax = 30_000

/** How long jobs may go on after that; whoever waited for them is gone by then. */
const poolCloseMsMax = 1_000

/** Serves; resolves to the exit status once stopped. */
export async function serve(config: Config, io: Io): Promise<number> {
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }))
  const access = openAccess(config)
  const pool = openPool(config, log)
  const networks: OpenNetwork[] = []
  const rollups: OpenRollup[] = []
  try {
    for (const rollup of config.rollups) {
      const options = { store: access.store, jobs: jobsOfNetwork(pool, rollup.name) }
      const say = (message: string) => log.warn({ network: rollup.name }, message)
      rollups.push(openRollup(rollup, { ...options, log: say }))
    }
    for (const network of config.networks) {
      const view = createProgressView(network.name, process.stderr, io.out)
      const opened = await openNetwork(network, {
        mapBytes: config.mapBytes,
        answerCacheBytes: Math.floor(config.limits.answerCacheBytes / config.networks.length),
        proofCacheBytes: Math.floor(config.limits.proofCacheBytes / config.networks.length),
        proofKeysMax: config.limits.proofKeysMax,
        replayBlocksMax: config.limits.replayBlocksMax,
        clientVersion,
        jobs: jobsOfNetwork(pool, network.name),
        gasCapBlocks: config.limits.executionGasBlocks,
        onProgress: (progress) => view.update(progress),
      })
      networks.push(opened)
      void opened.caughtUp.then(view.clear, view.clear)
      opened.ingested.catch((error: Error) => {
        log.error({ network: network.name }, `the source ended: ${error.message}`)
      })
    }
    const server = createServer(config, networks, rollups, access, log)
    const port = await server.listen()
    let isStopping = false
    const stopped = new Promise<void>((resolve) =>
      onInterrupt(() => {
        isStopping = true
        resolve()
      }),
    )
    void embeddedCaughtUp(config, networks).then(() => {
      // A source ends when the server stops, too; what it would say then is no longer true.
      if (isStopping) return
      for (const line of welcomeLines(config, { networks, rollups }, port, access.demo)) io.out(line)
    })
    await stopped
    log.info('stopping')
    await server.close()
    return 0
  } finally {
    await Promise.all(rollups.map((rollup) => rollup.close()))
    await pool.close(poolCloseMsMax)
    await Promise.all(networks.map((network) => network.close()))
    await access.store.close()
  }
}

function openPool({ networks, limits, mapBytes }: Config, log: Logger): Pool<Jobs> {
  return openJobPool({
    stores: networks.map(({ name, storePath }) => ({ network: name, path: storePath, mapBytes })),
    limits: {
      threads: limits.poolThreads,
      niceness: limits.poolNiceness,
      waitingMax: {
        proof: limits.proofWaitingMax,
        execute: limits.executeWaitingMax,
        slots: limits.slotsWaitingMax,
        hash: limits.hashWaitingMax,
      },
      deadlineMsMax: limits.requestMsMax,
      execution: { timeMsMax: limits.executionMsMax, memoryBytesMax: limits.executionMemoryBytesMax },
    },
    onThreadLost({ job, why, error }: ThreadLoss) {
      const cause = error instanceof Error ? redactKeys(error.stack ?? error.message) : undefined
      log.error(
        { job, cause },
        why === 'stopped' ? 'a job did not stop; its thread was ended' : 'a pool thread died',
      )
    },
  })
}

interface Access {
  readonly store: NodeStore
  readonly ring: KeyRing
  /** Undefined where nothing is counted. */
  readonly meter: Meter | undefined
  readonly demo: DemoAccess
}

function openAccess(config: Config): Access {
  const store = NodeStore.open({ path: config.node.store, mapBytes: config.mapBytes })
  const rates = keyRates(config.limits)
  const meter = rates && new Meter(rates)
  const ring = KeyRing.open(store, config.node, { meter })
  if (!config.auth) return { store, ring, meter, demo: { kind: 'open' } }
  const key = ring.ensureDemoKey({
    keepText: [...config.networks, ...config.rollups].every((network) => network.isEmbedded),
  })
  return { store, ring, meter, demo: key === undefined ? { kind: 'unknown' } : { kind: 'key', ...key } }
}

function createServer(
  config: Config,
  networks: readonly OpenNetwork[],
  rollups: readonly OpenRollup[],
  { ring, meter }: Access,
  log: Logger,
): HttpServer {
  const { limits } = config
  const logDefect = ({ id, where, error }: Defect) =>
    log.error(
      { id, where, stack: redactKeys(error instanceof Error ? (error.stack ?? '') : String(error)) },
      'internal error',
    )
  const dispatchLimits: DispatchLimits = {
    batchCallsMax: limits.batchCallsMax,
    batchBytesMax: limits.batchAnswerBytesMax,
    requestMsMax: limits.requestMsMax,
    memoBytesMax: limits.memoBytes,
  }
  const archives = createDispatcher<Network>({
    methods: Object.values(methods),
    limits: dispatchLimits,
    log: logDefect,
  })
  const rollupEndpoint = ({ name, network }: OpenRollup) => {
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
  return createHttpServer({
    host: config.host,
    port: config.port,
    routes: inOrder.map(({ name, endpoint }) => ({ name, endpoint, hosts: hostsOf.get(name) ?? [] })),
    authorize(presented) {
      const result = ring.authorize(presented)
      return result.ok
        ? result
        : { ok: false, reason: refusalTexts[result.why].replace(/^unauthorized: /, '') }
    },
    noAuth: !config.auth,
    anonymousAllowance: meter?.allowanceOf(anonymousId),
    limits: {
      bodyBytesMax: limits.bodyBytesMax,
      bufferedBytesMax: limits.bufferedBodyBytesMax,
      bodyMsMax: limits.bodyMsMax,
      closeMsMax,
    },
    socketLimits: {
      messageBytesMax: limits.socketMessageBytesMax,
      callsMax: limits.socketCallsMax,
      unsentBytesMax: limits.socketUnsentBytesMax,
      bufferedBytesMax: limits.socketBufferedBytesMax,
      socketsMax: limits.socketsMax,
      socketsPerKeyMax: limits.socketsPerKeyMax,
      pingMs: limits.socketPingMs,
      idleMsMax: limits.socketIdleMsMax,
      endMsMax,
      subscriptions: {
        subscriptionsMax: limits.subscriptionsMax,
        queueBytesDefault: limits.subscriptionQueueBytes,
        queueBytesMax: limits.subscriptionQueueBytesMax,
      },
    },
    cors: config.cors.origins.includes('*') ? '*' : config.cors.origins,
    refuseRepeatedLength: true,
    health: () => ({
      status: 'ok',
      networks: Object.fromEntries([
        ...networks.map(({ name, current }) => [
          name,
          { head: current.head.number, syncing: current.syncing !== undefined },
        ]),
        ...rollups.map((rollup) => [rollup.name, rollup.health()]),
      ]),
    }),
    logDefect,
    logRejection: (rejection) => log.debug(rejection, 'request refused'),
  })
}

/** Resolves once the embedded network has something to answer. */
async function embeddedCaughtUp(config: Config, networks: readonly OpenNetwork[]): Promise<void> {
  // A source that failed has been logged; what is stored is served.
  await Promise.all(
    networks
      .filter(({ name }) => config.networks.find((network) => network.name === name)?.isEmbedded)
      .map(({ caughtUp }) => caughtUp.catch(() => undefined)),
  )
}
