import { UsageError } from '../../primitives/faults.js'
import { callSource, type SourceCallName } from '../../primitives/upstreamCalls.js'
import { clientVersion } from '../../primitives/version.js'
import type { UsageLedger } from '../../serving/access/usageLedger.js'
import type { JobOwner, Jobs } from '../../serving/pool/jobs.js'
import type { Pool } from '../../serving/pool/pool.js'
import type { InvokeTransaction } from '../../serving/rollup/invokeTransaction.js'
import type { SubmissionReader } from '../../serving/rollup/submissionStore.js'
import type { RequestContext } from '../../serving/rpc/contexts/requestContext.js'
import { turnMsDefault } from '../../serving/rpc/contexts/requestSlices.js'
import type { FilterService } from '../../serving/rpc/logs/filterService.js'
import { allotTotals } from '../../serving/transport/totals.js'
import type { Transport } from '../../serving/transport/wire.js'
import type { Config } from '../config/config.js'
import { type EdgeThreads, startEdgeThreads } from '../edge/edgeThreads.js'
import type { EdgeData } from '../edge/messages.js'
import type { OpenNetwork } from '../edge/openNetwork.js'
import type { NetworkSource } from './networkSource.js'
import type { OpenRollup } from './openRollup.js'

/** The port and the counters that all edges share; see {@link EdgeData}. */
type Shared = Pick<EdgeData, 'port' | 'totals'>

/** Services that exist once per process, for any number of edges. */
interface ProcessServices {
  readonly pool: Pool<Jobs>
  readonly sources: readonly NetworkSource[]
  readonly rollups: readonly OpenRollup[]
  /** Networks of the main thread's edge, which owns their polled filters. */
  readonly networks: readonly OpenNetwork[]
  readonly usage: UsageLedger
}

/**
 * Port and counters for several edges; undefined if there is one. Throws UsageError if the platform allows only one,
 * OperatorError if the port is taken.
 */
export async function shareBetweenEdges(config: Config, transport: Transport): Promise<Shared | undefined> {
  const { edges } = config
  if (edges === 1) return undefined
  if (process.platform !== 'linux') {
    throw new UsageError(
      `${edges} edges need Linux, whose kernel spreads connections over threads that listen on one port; leave "edges" at 1 here`,
    )
  }
  return {
    port: await transport.findPort(config, true),
    totals: allotTotals(config.limits.socketsMax),
  }
}

/** Starts the edges other than the main thread's, and connects them with the services of the process. */
export function startOtherEdges(
  config: Config,
  shared: Shared & Pick<EdgeData, 'transport' | 'spent' | 'keyFreshness' | 'counts'>,
  { pool, sources, rollups, networks, usage }: ProcessServices,
): EdgeThreads {
  const rollupOf = (name: string): OpenRollup => {
    const rollup = rollups.find((candidate) => candidate.name === name)
    if (rollup === undefined) throw new Error(`there is no rollup ${name}`)
    return rollup
  }
  const filtersOf = (name: string): FilterService => {
    const network = networks.find((candidate) => candidate.name === name)
    if (network === undefined) throw new Error(`there is no network ${name}`)
    return network.current.filters
  }
  const threads = startEdgeThreads(
    config.edges - 1,
    { config, clientVersion, ...shared, sources: new Map(sources.map(({ name, state }) => [name, state])) },
    {
      job: (job, owner) => pool.runEncoded(job, owner),
      submit: ([name, transaction]: [string, InvokeTransaction], owner: JobOwner) =>
        rollupOf(name).queue.submit(transaction, owner),
      submission: ([name, what, args]: [string, keyof SubmissionReader, [never, never]]) =>
        rollupOf(name).submissions[what](...args),
      filter: (
        [network, name, argument]: [string, keyof FilterService, never],
        caller: RequestContext,
      ): Promise<unknown> | unknown => filtersOf(network)[name](argument, caller, turnMsDefault),
      used: (report) => usage.take(report),
      health: ([name]: [string]) => rollupOf(name).health(),
      // Copies, because the bytes are views of the whole message, which would be sent again with them.
      source: async ([network, name, ...args]: [string, SourceCallName, ...unknown[]]) => {
        const own = args.map((each) => (each instanceof Uint8Array ? new Uint8Array(each) : each))
        const source = sources.find((candidate) => candidate.name === network)
        return source && callSource(source.calls, name, own)
      },
    },
  )
  for (const source of sources) {
    source.listen((state) => threads.broadcast({ type: 'moved', network: source.name, state }))
  }
  for (const { name, queue } of rollups) {
    queue.onStatus((row) => threads.broadcast({ type: 'status', rollup: name, row }))
  }
  return threads
}
