/**
 * `tidegate serve`: opens the edges, and the parts that exist once per process: keys, pool, sources, rollups. Answers
 * until it is interrupted, then closes everything in order.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { freeBytesMin, StoreError } from '../../data/store/lmdb/environment.js'
import { NodeStore } from '../../data/store/node/nodeStore.js'
import { ValueUse } from '../../data/store/valueUse.js'
import { defer } from '../../primitives/deferred.js'
import { endProcess } from '../../primitives/endProcess.js'
import { OperatorError } from '../../primitives/faults.js'
import { clientVersion } from '../../primitives/version.js'
import { Allowances, allotSpentMemory, type SpentMemory } from '../../serving/access/allowances.js'
import { KeyChecker } from '../../serving/access/keyChecker.js'
import { KeyFreshness, keyFreshnessBytes } from '../../serving/access/keyFreshness.js'
import { embeddedKeyRepository, type KeyRepository } from '../../serving/access/keyRepository.js'
import { UsageCounter } from '../../serving/access/usageCounter.js'
import { UsageLedger } from '../../serving/access/usageLedger.js'
import { allotCounts, EdgeCounts } from '../../serving/metrics/edgeCounts.js'
import { jobsOfNetwork, openJobPool } from '../../serving/pool/jobPool.js'
import type { Jobs } from '../../serving/pool/jobs.js'
import type { Pool } from '../../serving/pool/pool.js'
import type { ThreadLoss } from '../../serving/pool/poolOptions.js'
import { chooseTransport } from '../../serving/transport/chooseTransport.js'
import { sharedTotals } from '../../serving/transport/totals.js'
import type { AdminListener } from '../admin/adminListener.js'
import { type Config, isLoopback } from '../config/config.js'
import { type Edge, type EdgeOptions, openEdge, servedMethods, servedNetworks } from '../edge/edge.js'
import type { EdgeThreads } from '../edge/edgeThreads.js'
import { fullStores } from '../edge/health.js'
import { createLog } from '../edge/log.js'
import { readOpenFiles } from '../edge/openFiles.js'
import { readNetworkLayouts } from '../edge/storageLayouts.js'
import { QuotaLeases } from '../shared/quotaLeases.js'
import { SharedKeys } from '../shared/sharedKeys.js'
import type { EngineListener } from './engine/engineListener.js'
import { openEngines } from './engine/openEngines.js'
import { importView } from './importProgress.js'
import { type NetworkSource, type SourceListeners, startSource } from './networkSource.js'
import { obeySignals } from './obeySignals.js'
import { openAdmin, stuckEdges } from './openAdmin.js'
import { sharedKeysOptions } from './openKeys.js'
import { type OpenRollup, openRollup } from './openRollup.js'
import { shareBetweenEdges, startOtherEdges } from './otherEdges.js'
import { SystemdNotices } from './systemdNotices.js'
import type { Io } from './terminal.js'
import { type DemoAccess, openingLine, welcomeLines } from './welcome.js'

/** Part of the log line at a start on a full disk. */
const readOnlyUntil = `nothing is written until ${freeBytesMin / 2 ** 20} MiB are free; stored data is served`

/** Time for running jobs to end after the edges are closed. No client waits for their results then. */
const poolCloseMsMax = 1_000

/** Serves until stopped; resolves to the exit status. `read` reads the configuration again. */
export async function serve(config: Config, read: () => Config, io: Io): Promise<number> {
  const log = createLog(config)
  // First, so that a mistake in these files is reported before anything starts.
  const layouts = new Map(config.networks.map((network) => [network.name, readNetworkLayouts(network)]))
  const chosen = await chooseTransport(config.transport, isLoopback(config.host))
  // Before anything is made or imported: an occupied port fails here, not after a long import.
  await chosen.transport.findPort(config, false)
  const halted = defer<number>()
  let isBroken = false
  const onStoreFailure = (failure: StoreError) => {
    log.error(failure.isLasting ? `${failure.message}; stopping` : failure.message)
    if (!failure.isLasting) return
    isBroken = true
    halted.resolve(1)
  }
  const access = await openAccess(config, log, onStoreFailure)
  // The first line is for people; the log follows.
  io.out(openingLine(config))
  // Before any thread starts, so that all share it.
  if (config.networks.some(({ gateway }) => gateway !== undefined)) ValueUse.shared()
  const served = new ServedProcess({ config, log, io, layouts, chosen, access, pool: openPool(config, log) })
  // After an uncaught exception the state of the process is unknown, so it ends. The server is abandoned first:
  // uWebSockets.js aborts a process that exits within one of its callbacks.
  const onDefect = (error: unknown) => {
    const stack = error instanceof Error ? error.stack : String(error)
    log.fatal({ stack }, 'an error that no code caught; the server stops, so that it can be restarted')
    served.abandon()
    endProcess(1)
  }
  process.once('uncaughtException', onDefect)
  try {
    await served.openSources(onStoreFailure)
    await served.openEdges()
    return await Promise.race([halted.promise, ...served.run(read)])
  } finally {
    await served.stopListening()
    process.off('uncaughtException', onDefect)
    // A broken store cannot be closed, so it stays open; see {@link StoreError}.
    await served.close(!isBroken)
  }
}

interface Opened {
  readonly config: Config
  readonly log: Logger
  readonly io: Io
  readonly layouts: EdgeOptions['layouts']
  readonly chosen: Awaited<ReturnType<typeof chooseTransport>>
  readonly access: Access
  readonly pool: Pool<Jobs>
}

/** The services of one process. Opens them in order and closes them. */
class ServedProcess {
  readonly #opened: Opened
  readonly #sources: NetworkSource[] = []
  readonly #rollups: OpenRollup[] = []
  readonly #methods: readonly string[]
  readonly #countsMemory: SharedArrayBuffer
  readonly #counts: readonly EdgeCounts[]
  readonly #used: UsageCounter
  readonly #usage: UsageLedger
  #edge: Edge | undefined
  #port = 0
  #others: EdgeThreads | undefined
  #engines: readonly EngineListener[] = []
  #admin: AdminListener | undefined
  #notices: SystemdNotices | undefined
  #isStopping = false

  constructor(opened: Opened) {
    this.#opened = opened
    const { config, access, log } = opened
    this.#methods = servedMethods(config)
    const networks = servedNetworks(config)
    this.#countsMemory = allotCounts(this.#methods, config.edges, networks)
    this.#counts = Array.from(
      { length: config.edges },
      (_, at) => new EdgeCounts(this.#countsMemory, this.#methods, at, networks),
    )
    this.#used = new UsageCounter((slot) => (this.#counts[0] as EdgeCounts).methodAt(slot))
    this.#usage = openUsage(access.store, this.#used, log)
  }

  /** Opens rollups and starts the sources of networks. Rejects if one fails within `limits.startMsMax`. */
  async openSources(onStoreFailure: (failure: StoreError) => void): Promise<void> {
    const { config, log, access, pool } = this.#opened
    for (const rollup of config.rollups) {
      const options = { store: access.store, jobs: jobsOfNetwork(pool, rollup.name) }
      const say = (message: string) => log.warn({ network: rollup.name }, message)
      this.#rollups.push(await openRollup(rollup, { ...options, log: say }))
    }
    await startSources(config, this.#sources, { log, onStoreFailure })
    const full = fullStores(config)
    if (full.length > 0) log.error(`the disk that holds ${full.join(', ')} is full: ${readOnlyUntil}`)
  }

  /** Opens the edges of all threads, then the admin listener. Resolves once all listen. */
  async openEdges(): Promise<void> {
    const { config, log, chosen, access, pool } = this.#opened
    const shared = await shareBetweenEdges(config, chosen.transport)
    const edge = await this.#openEdge(
      shared && { port: shared.port, totals: sharedTotals(shared.totals, config.limits.socketsMax) },
    )
    const transport = chosen.transport.name
    const keyOptions = {
      spent: access.spent,
      keyFreshness: access.keyFreshnessMemory,
      counts: this.#countsMemory,
    }
    const sources = this.#sources
    const rollups = this.#rollups
    const usage = this.#usage
    const parts = { pool, rollups, sources, networks: edge.networks, usage }
    this.#others = shared && startOtherEdges(config, { ...shared, transport, ...keyOptions }, parts)
    // All edges begin to listen at the same time, because each warms up first.
    const [port] = await Promise.all([edge.listen(), this.#others?.listening])
    this.#port = port
    warnOfFewFiles(config, log)
    this.#engines = await openEngines(config, { edge, sources, log })
    this.#admin = await openAdmin(config, {
      edge,
      port: this.#port,
      counts: this.#counts,
      pool,
      store: access.store,
      keys: access.keys,
      keyFreshness: access.keyFreshness,
      keyChecker: access.keyChecker,
      allowances: access.allowances,
      usage,
      sources,
      rollups,
      transport,
      log,
      isDraining: () => this.#isStopping,
    })
  }

  async #openEdge(shared: EdgeOptions['shared']): Promise<Edge> {
    const { config, log, layouts, chosen, access, pool } = this.#opened
    const sourceOf = (network: string) => this.#sources.find(({ name }) => name === network)
    this.#edge = await openEdge({
      config,
      clientVersion,
      keyChecker: access.keyChecker,
      allowances: access.allowances,
      log,
      transport: chosen.transport,
      rollups: this.#rollups,
      layouts,
      feedOf: sourceOf,
      callsOf: (network) => sourceOf(network)?.calls,
      jobsOf: (network) => jobsOfNetwork(pool, network),
      shared,
      counts: this.#counts[0] as EdgeCounts,
      usage: this.#used,
    })
    return this.#edge
  }

  /** Serves until a signal comes or an edge is lost. Each promise resolves to the exit status. */
  run(read: () => Config): Promise<number>[] {
    const { config, log, access } = this.#opened
    const notices = new SystemdNotices({
      env: process.env,
      isWell: () => stuckEdges(this.#counts).length === 0,
      onFailure: (why) => log.warn(`systemd does not get the state of the server: ${why}`),
    })
    this.#notices = notices
    notices.ready()
    const onStopping = () => {
      this.#isStopping = true
    }
    const edge = this.#edge as Edge
    const others = this.#others
    const stopped = obeySignals({ config, read, log, edge, others, notices, keys: access.keys, onStopping })
    void this.#welcome()
    if (others === undefined) return [stopped]
    const lost = others.lost.catch((error: Error) => {
      log.error({ stack: error.stack }, 'an edge failed; the server stops, so that it can be restarted')
      return 1
    })
    return [stopped, lost]
  }

  async #welcome(): Promise<void> {
    const { config, io, chosen, access } = this.#opened
    await embeddedCaughtUp(config, this.#sources)
    // A source also ends when the server stops; then no welcome is printed.
    if (this.#isStopping) return
    const { networks } = this.#edge as Edge
    const rollups = this.#rollups
    const port = this.#port
    const adminUrl = this.#admin?.url
    const note = chosen.notice
    for (const line of welcomeLines(config, { networks, rollups, port, demo: access.demo, adminUrl, note }))
      io.out(line)
  }

  /** Stops taking requests, at once. */
  abandon(): void {
    this.#edge?.server.abandon()
  }

  async stopListening(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#engines.map((engine) => engine.close()))
    await Promise.all([this.#edge?.server.close(), this.#others?.close()])
    await Promise.all([this.#admin?.close(), this.#notices?.close()])
    await this.#usage.close()
  }

  /** Closes all that does not listen; with `withStores`, also the stores of this thread. */
  async close(withStores: boolean): Promise<void> {
    const { access, pool } = this.#opened
    await Promise.all(this.#rollups.map((rollup) => rollup.close()))
    await pool.close(poolCloseMsMax)
    await Promise.all(this.#sources.map((source) => source.close()))
    if (withStores) {
      await this.#edge?.close()
      await access.quotas.close()
      await access.store.close()
    }
    await access.leases?.close()
    await access.keys.close()
  }
}

function warnOfFewFiles({ limits }: Config, log: Logger): void {
  const files = readOpenFiles()
  if (files === undefined || files.max >= limits.socketsMax) return
  log.warn(
    `this process may have ${files.max} open files, which leaves ${files.connectionsMax} for connections, and limits.socketsMax is ${limits.socketsMax}; raise the limit (ulimit -n, LimitNOFILE= of systemd)`,
  )
}

/**
 * Starts the source of every network that has one. Resolves once all stores can be opened, or after
 * `limits.startMsMax`. Rejects if a source fails before that.
 */
async function startSources(
  config: Config,
  sources: NetworkSource[],
  { log, onStoreFailure }: { readonly log: Logger; readonly onStoreFailure: (failure: StoreError) => void },
): Promise<void> {
  let isStarting = true
  for (const network of config.networks) {
    const { name } = network
    const view = importView(name, (fields) => log.info(fields))
    const listeners: SourceListeners = {
      onProgress: (progress) => view.update(progress),
      onSaid: (text, isError) => log[isError ? 'error' : 'warn']({ network: name }, text),
      onEnded(error, againMs) {
        // At the start, a mistake in the configuration ends the program, which reports it itself.
        if (isStarting && error instanceof OperatorError && source?.state.opening !== undefined) return
        const again = againMs === undefined ? '' : `; it is started again in ${againMs / 1_000} s`
        log.error({ network: name }, `the source ended: ${error.message}${again}`)
        if (error instanceof StoreError && error.isLasting) onStoreFailure(error)
      },
    }
    const source = startSource(network, config, listeners, config.ready)
    if (source === undefined) continue
    sources.push(source)
    void source.caughtUp.then(view.clear, view.clear)
  }
  const ending = new AbortController()
  const late = sleep(config.limits.startMsMax, undefined, { signal: ending.signal }).catch(() => undefined)
  try {
    await Promise.race([Promise.all(sources.map(({ opened }) => opened)), late])
  } finally {
    ending.abort()
  }
  isStarting = false
  for (const { name, state } of sources) {
    if (state.opening === undefined) continue
    log.warn({ network: name }, `the server listens before this network has a block: ${state.opening}`)
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
        logs: limits.logsWaitingMax,
        trace: limits.traceWaitingMax,
        script: limits.scriptsWaitingMax,
      },
      scriptsMax: limits.scriptsMax,
      deadlineMsMax: limits.requestMsMax,
      execution: { timeMsMax: limits.executionMsMax, memoryBytesMax: limits.executionMemoryBytesMax },
      trace: {
        timeMsMax: limits.traceMsMax,
        memoryBytesMax: limits.executionMemoryBytesMax,
        answerBytesMax: limits.traceBytesMax,
      },
    },
    onThreadLost({ job, keyId, why, error }: ThreadLoss) {
      const cause = error instanceof Error ? (error.stack ?? error.message) : undefined
      log.error(
        { job, key: keyId, cause },
        why === 'stopped' ? 'a job did not stop; its thread was ended' : 'a pool thread died',
      )
    },
  })
}

interface Access {
  readonly store: NodeStore
  readonly keys: KeyRepository
  readonly keyChecker: KeyChecker
  readonly allowances: Allowances
  readonly spent: SpentMemory
  /** Undefined if keys are not shared. */
  readonly keyFreshness: KeyFreshness | undefined
  readonly keyFreshnessMemory: SharedArrayBuffer | undefined
  /** Writes the units spent today. */
  readonly quotas: { close(): Promise<void> }
  /** Leases of shared units; undefined if keys are not shared. */
  readonly leases: QuotaLeases | undefined
  readonly demo: DemoAccess
}

async function openAccess(
  config: Config,
  log: Logger,
  onFailure: (failure: StoreError) => void,
): Promise<Access> {
  const { node, mapBytes, keyRates, auth } = config
  const store = NodeStore.open({ path: node.store, mapBytes, onFailure })
  const spent = allotSpentMemory(config.shared !== undefined)
  const allowances = Allowances.over(spent, keyRates)
  const quotas = allowances.quotas.keep(store)
  const { keys, keyFreshness, keyFreshnessMemory, leases } = await openServedKeys(
    config,
    store,
    allowances,
    log,
  )
  const keyChecker = KeyChecker.open(keys.store, node, { allowances, keyFreshness })
  const access = {
    store,
    keys,
    keyChecker,
    allowances,
    spent,
    keyFreshness,
    keyFreshnessMemory,
    quotas,
    leases,
  }
  if (!auth) return { ...access, demo: { kind: 'open' } }
  // The operator makes shared keys once for all processes.
  if (keyFreshness !== undefined) return { ...access, demo: { kind: 'unknown' } }
  const key = keyChecker.ensureDemoKey({
    keepText: [...config.networks, ...config.rollups].every((network) => network.isEmbedded),
  })
  return { ...access, demo: key === undefined ? { kind: 'unknown' } : { kind: 'key', ...key } }
}

/** Opens the keys of the node store, or the shared keys, which it follows from then on. */
async function openServedKeys(config: Config, store: NodeStore, allowances: Allowances, log: Logger) {
  const options = sharedKeysOptions(config)
  if (options === undefined || config.shared === undefined) return { keys: embeddedKeyRepository(store) }
  const keys = await SharedKeys.open(options, { mustAnswer: false })
  const keyFreshnessMemory = new SharedArrayBuffer(keyFreshnessBytes)
  const keyFreshness = new KeyFreshness(keyFreshnessMemory, config.shared.graceMs)
  keys.follow(keyFreshness, (text) => log.warn(text))
  const quotaOf = (keyId: string) =>
    allowances.quotaOf(keys.store.readKeyByPrefix(Buffer.from(keyId, 'hex'))?.details?.limits)
  const leases = allowances.leases && new QuotaLeases(keys, allowances.leases, quotaOf, config.shared.leaseMs)
  return { keys, keyFreshness, keyFreshnessMemory, leases }
}

function openUsage(store: NodeStore, counter: UsageCounter, log: Logger): UsageLedger {
  const tables = store.openUsage()
  if (tables === undefined) throw new Error('a store that is written has all tables')
  return new UsageLedger(tables, counter, {
    // A store that accepts no writes at all reports that itself.
    onFailure: (error) => {
      if (store.isStoring) log.warn(`usage is not stored yet: ${error.message}`)
    },
    onNoted: ({ keyId: key, network, method, block, ms, error }, what) =>
      log.debug({ key, network, method, block, milliseconds: Math.round(ms), error }, what),
  })
}

/** Resolves once the embedded network has caught up with its source. */
async function embeddedCaughtUp(config: Config, sources: readonly NetworkSource[]): Promise<void> {
  // A source that failed has been logged already; the blocks in its store are served.
  await Promise.all(
    sources
      .filter(({ name }) => config.networks.find((network) => network.name === name)?.isEmbedded)
      .map(({ caughtUp }) => caughtUp.catch(() => undefined)),
  )
}
