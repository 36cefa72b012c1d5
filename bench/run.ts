/**
 * The process that measures: starts what the scenarios need, measures one after the other, and tells its parent
 * (`main.ts`), which ends it, with all processes that it started, when that is asked for.
 */
import { arch, cpus, platform, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { type BenchNetwork, readThrough } from './data/benchData.js'
import { findNetwork, makeMissing } from './data/networks.js'
import { type Contestant, measureHttp, saturateUrl, startBare } from './load/httpRun.js'
import type { Scenario } from './load/scenarios.js'
import type { BenchOptions } from './options.js'
import { networkPlan, networkPlans, networksOf, planOf } from './plan.js'
import type { Finding, Outcome } from './report/outcome.js'
import { rivalsIn, type Target } from './report/targets.js'
import type { RunContext } from './scenarios/specialScenario.js'
import { startAnvil } from './servers/anvil.js'
import { cores, isPinned, pinLoader, type ServerProcess } from './servers/serverProcess.js'
import { startTidegate, withoutCaches } from './servers/tidegateServer.js'

/** What this process is to do, as JSON on its command line. */
export interface RunTask {
  readonly options: BenchOptions
  readonly targets: readonly Target[]
  /** For all that is not kept; the parent removes it. */
  readonly folder: string
}

/** What it tells. */
export type RunMessage =
  | {
      readonly type: 'begun'
      readonly machine: Readonly<Record<string, string | number>>
      readonly settings: Readonly<Record<string, string | number>>
      readonly loaderCeiling: number
    }
  | { readonly type: 'scenario'; readonly name: string }
  | { readonly type: 'finding'; readonly finding: Finding }

/** The networks of one run, each found when first used. */
class Networks {
  readonly #known = new Map<string, Promise<BenchNetwork>>()
  readonly #options: BenchOptions

  constructor(options: BenchOptions) {
    this.#options = options
  }

  get(name: string): Promise<BenchNetwork> {
    const network = this.#known.get(name) ?? findNetwork(name, networkPlan(name, this.#options))
    this.#known.set(name, network)
    return network
  }
}

async function run({ options, targets, folder }: RunTask): Promise<void> {
  const plan = planOf(options, targets)
  const networks = new Networks(options)
  // Before the loader is pinned, so that all cores take part.
  await makeMissing(networkPlans(plan, options))
  pinLoader()
  const { machine, settings } = facts(options)
  tell({ type: 'begun', machine, settings, loaderCeiling: await measureCeiling(folder, options) })
  const context: RunContext = {
    folder,
    settings: options,
    isQuick: options.isQuick,
    logBlocks: options.logBlocks,
    storeShare: options.storeShare,
    server: { limits: options.limits, nodeFlags: profileFlags(options.profileFolder) },
    network: (name) => networks.get(name),
  }
  await measureAllHttp(plan.http, options, options.isCheck ? targets : undefined, context)
  for (const scenario of plan.special) {
    const { name, title } = scenario
    await attempt(scenario, async () => ({ name, title, ...(await scenario.run(context)) }))
  }
}

function tell(message: RunMessage): void {
  process.send?.(message)
}

/** Flags for one CPU profile per thread, written when the server ends. */
function profileFlags(folder: string | undefined): readonly string[] {
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(folder)}`]
}

async function measureAllHttp(
  scenarios: readonly Scenario[],
  options: BenchOptions,
  targets: readonly Target[] | undefined,
  { folder, settings, server, network }: RunContext,
): Promise<void> {
  if (scenarios.length === 0) return
  const servers: ServerProcess[] = []
  const started = async (server: Promise<ServerProcess>) => {
    servers.push(await server)
    return server
  }
  try {
    const endpoint = options.url
    let ownOf = (_scenario: Scenario): Contestant => ({ name: 'endpoint', url: endpoint as string })
    let anvil: Contestant | undefined
    if (endpoint === undefined) {
      const served = await Promise.all(['demo', ...networksOf(scenarios)].map(network))
      const usual = await started(startTidegate(folder, served, server))
      const uncached = await started(
        startTidegate(folder, served, { ...server, limits: { ...server.limits, ...withoutCaches } }),
      )
      ownOf = ({ network, isUncached }) => {
        const process = isUncached === true ? uncached : usual
        return { name: 'tidegate', url: new URL(`/${network}`, process.said).href, process }
      }
    }
    if (options.withAnvil) {
      const url = ownOf(scenarios[0] as Scenario).url
      const process = await started(startAnvil(folder, await network('demo'), new URL('/demo', url).href))
      anvil = { name: 'anvil', url: `http://127.0.0.1:${process.said}/`, process }
    }
    for (const scenario of scenarios) {
      if (endpoint === undefined)
        for (const name of networksOf([scenario])) await readThrough(await network(name))
      const beside = scenario.beside && { ...ownOf(scenario.beside), name: scenario.beside.name }
      const own = ownOf(scenario)
      const wanted = targets && rivalsIn(targets, scenario.name)
      const isWanted = (rival: string) => wanted?.all.includes(rival) ?? true
      const rivals = {
        isBareLeftOut: !isWanted('bare'),
        anvil: isWanted('anvil') ? anvil : undefined,
        beside,
      }
      const timed = wanted && (wanted.timed.length === 0 ? [] : [own.name, ...wanted.timed])
      await attempt(scenario, () => measureHttp(scenario, own, rivals, { ...settings, timed }, folder))
    }
  } finally {
    for (const server of servers) await server.stop()
  }
}

/** Tells the finding of `measure`; a failure becomes a finding too, so that the other scenarios still run. */
async function attempt(
  { name, title }: { readonly name: string; readonly title: string },
  measure: () => Promise<Outcome>,
): Promise<void> {
  tell({ type: 'scenario', name })
  const failed = (error: Error) => ({ name, title, failed: error.message })
  tell({ type: 'finding', finding: await measure().catch(failed) })
}

/** A rate is known by then, however long rounds of other servers are. */
const ceilingSecondsMax = 5

/** Highest rate of the loader, in answers per second, against a bare server with a slot's bytes. */
async function measureCeiling(folder: string, options: BenchOptions): Promise<number> {
  const bare = await startBare(folder, [
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: `0x${'0'.repeat(64)}` }),
  ])
  try {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
    const seconds = Math.min(options.seconds, ceilingSecondsMax)
    const round = () => saturateUrl(`http://127.0.0.1:${bare.said}/`, options, seconds, () => body)
    await round()
    const run = await round()
    return run.answers / run.seconds
  } finally {
    await bare.stop()
  }
}

function facts(options: BenchOptions) {
  const machine = {
    node: process.versions.node,
    system: `${platform()} ${arch()}`,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores,
    'memory GB': Math.round(totalmem() / 1e9),
  }
  const settings = {
    rounds: options.rounds,
    'seconds a round': options.seconds,
    'latency rounds': options.latencyRounds,
    'seconds a latency round': options.latencySeconds,
    connections: options.connections,
    loader: options.loader,
    pinning: isPinned ? 'server and loader on a core each' : 'none',
  }
  return { machine, settings }
}

// Without its parent nobody waits for what it measures.
const leave = () => process.exit(1)
process.once('disconnect', leave)
await run(JSON.parse(process.argv[2] ?? '') as RunTask)
process.off('disconnect', leave)
process.disconnect()
