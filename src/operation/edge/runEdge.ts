import type { MessagePort } from 'node:worker_threads'
import { NodeStore } from '../../data/store/node/nodeStore.js'
import { defer } from '../../primitives/deferred.js'
import { OperatorError } from '../../primitives/faults.js'
import { setInterval } from '../../primitives/timers.js'
import { sourceCallsBy } from '../../primitives/upstreamCalls.js'
import { Allowances } from '../../serving/access/allowances.js'
import { KeyChecker } from '../../serving/access/keyChecker.js'
import { KeyFreshness } from '../../serving/access/keyFreshness.js'
import { reportMs, UsageCounter } from '../../serving/access/usageCounter.js'
import { EdgeCounts } from '../../serving/metrics/edgeCounts.js'
import type { JobOwner } from '../../serving/pool/jobs.js'
import type { InvokeTransaction } from '../../serving/rollup/invokeTransaction.js'
import {
  type SubmissionId,
  type SubmissionRow,
  SubmissionService,
} from '../../serving/rollup/submissionService.js'
import type { SubmissionReader } from '../../serving/rollup/submissionStore.js'
import { loadTransport } from '../../serving/transport/chooseTransport.js'
import type { HttpServer } from '../../serving/transport/http.js'
import { sharedTotals } from '../../serving/transport/totals.js'
import { openEdge, servedMethods, servedNetworks } from './edge.js'
import { chainIdOf, type RollupHealth, rollupNetworkOf } from './edgeRollup.js'
import { createLog } from './log.js'
import { MainLink } from './mainLink.js'
import type { EdgeData } from './messages.js'
import { readNetworkLayouts } from './storageLayouts.js'

/** A rollup's queue on an edge that does not own it. Reads through `store`. */
class RemoteSubmissionService extends SubmissionService {
  readonly #link: MainLink
  readonly #rollup: string

  constructor(rollup: string, store: SubmissionReader, link: MainLink) {
    super(store)
    this.#rollup = rollup
    this.#link = link
    link.onStatus(rollup, (row) => this.notifyOf(row))
  }

  override async submit(transaction: InvokeTransaction, submitter: JobOwner): Promise<SubmissionId> {
    return (await this.#link.call('submit', [this.#rollup, transaction], submitter)) as SubmissionId
  }
}

/** Reads submissions through the main thread's database connection. */
function remoteSubmissions(rollup: string, link: MainLink): SubmissionReader {
  const read = <What extends keyof SubmissionReader>(what: What, args: Parameters<SubmissionReader[What]>) =>
    link.call('submission', [rollup, what, args])
  return {
    readRows: (...args) => read('readRows', args) as Promise<SubmissionRow[]>,
    readBody: (...args) => read('readBody', args) as Promise<Uint8Array | undefined>,
  }
}

/**
 * Runs an edge on its own thread until the main thread asks it to close. After an uncaught exception, whose effects are
 * unknown, it closes its server at once, reports the exception to the main thread, and ends.
 */
export async function runEdge(port: MessagePort, data: EdgeData): Promise<void> {
  const link = new MainLink(port, data.sources)
  const closing = defer<void>()
  let server: HttpServer | undefined
  const abandon = () => {
    server?.abandon()
    const silent = new Int32Array(data.silent)
    Atomics.store(silent, data.index, 1)
    Atomics.notify(silent, data.index)
  }
  const fail = (thrown: unknown) => {
    abandon()
    const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
    const isDefect = !(thrown instanceof OperatorError)
    link.send({ type: 'failed', message, isDefect, ...(stack !== undefined && { stack }) })
    link.close()
  }
  process.on('uncaughtException', fail)
  link.onEnd((how) => (how === 'close' ? closing.resolve() : abandon()))
  try {
    const { config, index } = data
    const counts = new EdgeCounts(data.counts, servedMethods(config), index, servedNetworks(config))
    const usage = new UsageCounter((slot) => counts.methodAt(slot))
    const { edge, stores } = await openServices(link, data, counts, usage)
    server = edge.server
    link.obey(edge)
    await edge.listen()
    link.send({ type: 'listening' })
    const report = () => {
      const used = usage.take()
      if (used !== undefined) link.send({ type: 'used', report: used })
    }
    const reporting = setInterval(report, reportMs)
    await closing.promise
    await server.close()
    clearInterval(reporting)
    report()
    await edge.close()
    for (const store of stores) await store.close()
    link.close()
  } catch (error) {
    fail(error)
  }
}

async function openServices(
  link: MainLink,
  { config, clientVersion, index, transport, port, totals, spent, keyFreshness }: EdgeData,
  counts: EdgeCounts,
  usage: UsageCounter,
) {
  const log = createLog(config).child({ edge: index })
  // Read-only: the main thread writes this store, and has upgraded its schema.
  const openStore = (path: string) => NodeStore.open({ path, readOnly: true, mapBytes: config.mapBytes })
  const store = openStore(config.node.store)
  const keys = config.shared === undefined ? store : openStore(config.node.sharedKeys)
  const rollups = config.rollups.map((rollup) => {
    const { name } = rollup
    const reader =
      rollup.queue.shared === undefined
        ? store.openSubmissions(name, chainIdOf(rollup))
        : remoteSubmissions(name, link)
    const queue = new RemoteSubmissionService(name, reader, link)
    return {
      name,
      network: rollupNetworkOf(rollup, queue),
      health: () => link.call('health', [name]) as Promise<RollupHealth>,
    }
  })
  const allowances = Allowances.over(spent, config.keyRates)
  const layouts = new Map(config.networks.map((network) => [network.name, readNetworkLayouts(network)]))
  const edge = await openEdge({
    config,
    clientVersion,
    keyChecker: KeyChecker.open(keys, config.node, {
      allowances,
      keyFreshness: keyFreshness && new KeyFreshness(keyFreshness, config.shared?.graceMs ?? 0),
    }),
    allowances,
    log,
    transport: await loadTransport(transport),
    rollups,
    layouts,
    feedOf: (network) => link.feedOf(network),
    callsOf: (network) => sourceCallsBy((name, args) => link.call('source', [network, name, ...args])),
    jobsOf: (network) => link.jobsOf(network),
    filtersOf: (network) => link.filtersOf(network),
    shared: { port, totals: sharedTotals(totals, config.limits.socketsMax) },
    counts,
    usage,
  })
  return { edge, stores: [store, ...(keys === store ? [] : [keys])] }
}
