/**
 * The process that measures: starts the servers of the scenarios, measures one scenario after the other, and reports to
 * its parent (`main.ts`). At a signal the parent ends it, with all processes that it started.
 */
import { arch, cpus, platform, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { type BenchNetwork, findNetwork, makeMissing, programOf, readThrough } from './data/networks.js'
import { type GethScenario, readChainFacts, toScenario, withoutAnswers } from './load/gethScenarios.js'
import { saturate, targetOf, withConnections } from './load/httpLoader.js'
import { type Contestant, measureHttp, startBare } from './load/httpRun.js'
import type { Scenario } from './load/scenarios.js'
import type { BenchOptions } from './options.js'
import { networkPlan, networkPlans, networksOf, type Plan, planOf } from './plan.js'
import type { Failed, Finding, Outcome } from './report/outcome.js'
import { rivalsIn, type Target } from './report/targets.js'
import { type RunContext, Skipped } from './scenarios/specialScenario.js'
import { startAnvil } from './servers/anvil.js'
import { gethProgram, gethVersion, startGeth } from './servers/geth.js'
import { cores, isPinned, onServerCore, pinLoader, type ServerProcess } from './servers/serverProcess.js'
import { startTidegate, type TidegateOptions, withoutCaches } from './servers/tidegateServer.js'

/** The task of this process, as JSON on its command line. */
export interface RunTask {
  readonly options: BenchOptions
  readonly targets: readonly Target[]
  /** Folder for temporary files; the parent removes it. */
  readonly folder: string
}

/** Messages to the parent. */
export type RunMessage =
  | {
      readonly type: 'begun'
      readonly machine: Readonly<Record<string, string | number>>
      readonly settings: Readonly<Record<string, string | number>>
      readonly loaderCeiling: number
    }
  | { readonly type: 'scenario'; readonly name: string }
  | { readonly type: 'finding'; readonly finding: Finding }

async function run({ options, targets, folder }: RunTask): Promise<void> {
  const plan = planOf(options, targets)
  // Before the loader is pinned, so that all cores take part.
  await makeMissing(networkPlans(plan, options))
  const geth = usesGeth(plan, options) ? await gethProgram() : undefined
  pinLoader()
  tell({ type: 'begun', ...facts(options, geth), loaderCeiling: await measureCeiling(folder, options) })
  const known = new Map<string, Promise<BenchNetwork>>()
  const context: RunContext = {
    folder,
    settings: options,
    server: { limits: options.limits, nodeFlags: profileFlags(options.profileFolder) },
    network(name) {
      const network = known.get(name) ?? findNetwork(name, networkPlan(name, options))
      known.set(name, network)
      return network
    },
    geth,
  }
  await measureAllHttp(plan.http, targets, context)
  if (geth !== undefined && plan.geth.length > 0) await measureBesideGeth(plan.geth, geth, context)
  for (const scenario of plan.special) {
    const alone = { name: scenario.name, title: scenario.title, rivals: {}, ratios: {} }
    await attempt(scenario, async () => ({ ...alone, ...(await scenario.run(context)) }))
  }
}

function usesGeth({ geth, special }: Plan, { withGeth }: BenchOptions): boolean {
  return withGeth && (geth.length > 0 || special.some(({ besideGeth }) => besideGeth === true))
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
  targets: readonly Target[],
  { folder, settings, server, network }: RunContext,
): Promise<void> {
  if (scenarios.length === 0) return
  const { url: endpoint, withAnvil, base } = settings
  const servers: ServerProcess[] = []
  const started = async <S extends ServerProcess>(server: Promise<S>) => {
    servers.push(await server)
    return server
  }
  try {
    const served =
      endpoint === undefined ? await Promise.all(['demo', ...networksOf(scenarios)].map(network)) : []
    /** Starts a build with its caches and without them, and returns the server of a scenario. */
    const serve = async (name: string, options: TidegateOptions) => {
      const usual = await started(startTidegate(folder, served, options))
      const limits = { ...options.limits, ...withoutCaches }
      const uncached = await started(startTidegate(folder, served, { ...options, limits }))
      return ({ network, isUncached }: Scenario): Contestant => {
        const process = isUncached === true ? uncached : usual
        return { name, url: new URL(`/${network}`, process.said).href, process }
      }
    }
    const ownOf =
      endpoint === undefined
        ? await serve('tidegate', server)
        : (): Contestant => ({ name: 'endpoint', url: endpoint })
    const baseOf =
      base === undefined ? undefined : await serve('base', { ...server, program: programOf(base) })
    let anvil: Contestant | undefined
    if (withAnvil) {
      const url = ownOf(scenarios[0] as Scenario).url
      const process = await started(startAnvil(folder, await network('demo'), new URL('/demo', url).href))
      anvil = { name: 'anvil', url: `http://127.0.0.1:${process.said}/`, process }
    }
    for (const scenario of scenarios) {
      if (endpoint === undefined)
        for (const name of networksOf([scenario])) await readThrough(await network(name))
      const aims = rivalsIn(targets, scenario.name)
      const wanted = settings.isCheck ? aims : undefined
      const isWanted = (rival: string) => wanted?.all.includes(rival) ?? true
      const own = ownOf(scenario)
      const rivals = {
        hasBare: isWanted('bare'),
        node: isWanted('anvil') ? anvil : undefined,
        beside: scenario.beside && { ...ownOf(scenario.beside), name: scenario.beside.name },
        base: baseOf?.(scenario),
        timed: wanted && (wanted.timed.length === 0 ? [] : [own.name, ...wanted.timed]),
        hasSpun: aims.timed.includes('spun'),
      }
      await attempt(scenario, () => measureHttp(scenario, own, rivals, settings, folder))
    }
  } finally {
    for (const server of servers) await server.stop()
  }
}

/** Both on one chain, with one start for all scenarios. No latencies are measured. */
async function measureBesideGeth(
  scenarios: readonly GethScenario[],
  gethPath: string,
  { folder, settings, server, network }: RunContext,
): Promise<void> {
  const chain = await network('mixed')
  const files = { genesis: chain.genesisPath, blocks: join(chain.folder, 'chain.rlp') }
  const limits = { ...server.limits, ...withoutAnswers }
  const ours = await startTidegate(folder, [chain], { ...server, limits })
  const program = settings.base && programOf(settings.base)
  const base = program ? await startTidegate(folder, [chain], { ...server, limits, program }) : undefined
  try {
    const urlOf = ({ said }: ServerProcess) => new URL(`/${chain.name}`, said).href
    const url = urlOf(ours)
    const geth = await startGeth(gethPath, files, folder, onServerCore)
    try {
      const facts = await readChainFacts(url)
      const node = { name: 'geth', url: geth.said, process: geth }
      const rivals = {
        hasBare: false,
        node,
        beside: undefined,
        base: base && { name: 'base', url: urlOf(base), process: base },
        timed: [],
        hasSpun: false,
      }
      for (const scenario of scenarios) {
        const own = { name: 'tidegate', url, process: ours }
        const measure = () => measureHttp(toScenario(scenario, facts), own, rivals, settings, folder)
        await attempt(scenario, measure)
      }
    } finally {
      await geth.stop()
    }
  } finally {
    await base?.stop()
    await ours.stop()
  }
}

/** Tells the finding of `measure`; a failure becomes a finding too, so that the other scenarios still run. */
async function attempt(
  { name, title }: { readonly name: string; readonly title: string },
  measure: () => Promise<Outcome>,
): Promise<void> {
  tell({ type: 'scenario', name })
  const failed = (error: Error): Failed => {
    const alone = { name, title, failed: error.message }
    return error instanceof Skipped ? { ...alone, isSkipped: true } : alone
  }
  tell({ type: 'finding', finding: await measure().catch(failed) })
}

/** Enough to measure a rate, however long rounds of other servers are. */
const ceilingSecondsMax = 5

/** Highest rate of the loader, in answers per second, against a bare server with a slot's bytes. */
async function measureCeiling(folder: string, { seconds, connections }: BenchOptions): Promise<number> {
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: `0x${'0'.repeat(64)}` })
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
  const bare = await startBare(folder, [answer])
  try {
    return await withConnections(targetOf(bare.url), connections, async (open) => {
      const round = () => saturate(open, Math.min(seconds, ceilingSecondsMax), () => body)
      await round()
      const run = await round()
      return run.answers / run.seconds
    })
  } finally {
    await bare.process.stop()
  }
}

function facts(options: BenchOptions, geth: string | undefined) {
  const machine = {
    node: process.versions.node,
    system: `${platform()} ${arch()}`,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores,
    'memory GB': Math.round(totalmem() / 1e9),
    ...(geth !== undefined && { 'go-ethereum': gethVersion(geth) }),
    ...(options.isCheck && !options.withGeth && { 'go-ethereum': 'absent' }),
  }
  const settings = {
    rounds: options.rounds,
    'seconds a round': options.seconds,
    'latency rounds': options.latencyRounds,
    'seconds a latency round': options.latencySeconds,
    connections: options.connections,
    pinning: isPinned ? 'server and loader on a core each' : 'none',
  }
  return { machine, settings }
}

// Without its parent, the results have no reader.
const leave = () => process.exit(1)
process.once('disconnect', leave)
await run(JSON.parse(process.argv[2] ?? '') as RunTask)
process.off('disconnect', leave)
process.disconnect()
