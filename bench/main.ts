/**
 * `npm run bench` and `npm run bench:check`: chooses the scenarios, starts what they need, measures one after the
 * other and writes the reports. Exits with 1 where a scenario failed or, in a check, a target is missed.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { arch, cpus, platform, tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { packageRoot } from '../src/primitives/packageRoot.js'
import { startAnvil } from './anvil.js'
import {
  type BenchNetwork,
  demoNetwork,
  readThrough,
  syntheticBlocks,
  syntheticNetwork,
} from './benchData.js'
import { type Contestant, measureHttp, type RunSettings, saturateUrl, startBare } from './httpRun.js'
import { type BenchOptions, helpText, parseOptions } from './options.js'
import { type Finding, isFailed, type Outcome, type Report } from './outcome.js'
import { readReport, writeReport } from './reportFile.js'
import {
  httpScenarios,
  isOfAnyEndpoint,
  type NetworkName,
  randomBlocks,
  type Scenario,
  slotsOf,
} from './scenarios.js'
import { cores, isPinned, pinLoader, type ServerProcess } from './serverProcess.js'
import type { RunContext } from './specialScenario.js'
import { specialScenarios } from './specialScenarios.js'
import { publish } from './speedPage.js'
import { parseTargets, rivalsIn, type Target, verdictOf } from './targets.js'
import { detailLines, findingLine, footLines, headLine } from './terminalReport.js'
import { startTidegate, withoutCaches } from './tidegateServer.js'

/**
 * Longest warm-up. A store of 10,000,000 slots is mapped, and code compiled, in 40 s; a busy machine may never become
 * steady.
 */
const warmUpSecondsMax = 60
/** The same in a check, whose networks are a tenth as large. */
const checkWarmUpSecondsMax = 15

/** The networks of one run, each made or found when first used. */
class Networks {
  readonly #known = new Map<string, Promise<BenchNetwork>>()
  readonly #options: BenchOptions

  constructor(options: BenchOptions) {
    this.#options = options
  }

  get(name: string): Promise<BenchNetwork> {
    let network = this.#known.get(name)
    if (network === undefined) {
      network = this.#make(name as NetworkName)
      this.#known.set(name, network)
    }
    return network
  }

  #make(name: NetworkName): Promise<BenchNetwork> {
    if (name === 'demo') return demoNetwork()
    if (name === 'blocks') return syntheticBlocks(name, randomBlocks)
    const accounts = name === 'accounts' ? this.#options.accounts : 1_000
    return syntheticNetwork(name, { accounts, slots: slotsOf(name, this.#options) })
  }
}

async function main(options: BenchOptions): Promise<number> {
  const targets = parseTargets(readFileSync(join(packageRoot(), 'bench/targets.json'), 'utf8'))
  const isChosen = chosenNames(options, targets)
  const verdict = (report: Report): number => {
    const asked = targets.filter(({ scenario }) => isChosen(scenario))
    const { text, isReached } = verdictOf(report, asked)
    console.log(`\n${text}`)
    return isReached ? 0 : 1
  }
  if (options.report !== undefined) return verdict(readReport('--report', options.report))
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const report = await run(options, isChosen, options.isCheck ? targets : undefined, folder)
  const stem = writeReport(report, options.out ?? join(packageRoot(), 'bench/results'))
  console.log(`\nWritten: ${stem}.json and .html`)
  if (options.isCheck) return verdict(report)
  return report.findings.some(isFailed) ? 1 : 0
}

/** Whether a scenario is chosen, by name. A check runs those with targets. */
function chosenNames(options: BenchOptions, targets: readonly Target[]): (name: string) => boolean {
  const targeted = new Set(targets.map(({ scenario }) => scenario))
  return (name) =>
    (options.only.length === 0 || options.only.some((part) => name.includes(part))) &&
    (!options.isCheck || targeted.has(name))
}

async function run(
  options: BenchOptions,
  isChosen: (name: string) => boolean,
  targets: readonly Target[] | undefined,
  folder: string,
): Promise<Report> {
  const settings: RunSettings = {
    ...options,
    warmUpSecondsMax: warmUpSecondsOf(options),
  }
  const networks = new Networks(options)
  const startedAt = new Date().toISOString()
  const http = httpScenarios(options).filter(
    (scenario) => isChosen(scenario.name) && (options.url === undefined || isOfAnyEndpoint(scenario)),
  )
  const special = options.url === undefined ? specialScenarios.filter(({ name }) => isChosen(name)) : []
  if (http.length + special.length === 0) {
    throw new RangeError(`--only: no scenario ${options.url === undefined ? '' : 'of --url '}has such a name`)
  }
  // Made before the loader is pinned, so that all cores take part.
  for (const name of networksOf(http)) if (options.url === undefined) await networks.get(name)
  if (special.length > 0) await networks.get('demo')
  pinLoader()
  const loaderCeiling = await measureCeiling(folder, settings)
  const findings: Finding[] = []
  const tell = (finding: Finding) => {
    findings.push(finding)
    console.log([findingLine(finding), ...detailLines(finding)].join('\n'))
  }
  const { machine, about } = facts(options)
  console.log(
    `${Object.entries({ ...machine, ...about })
      .map((pair) => pair.join(' '))
      .join(', ')}\n`,
  )
  console.log(headLine())
  const context: RunContext = {
    folder,
    settings,
    isQuick: options.isQuick,
    logBlocks: options.logBlocks,
    server: { limits: options.limits, nodeFlags: profileFlags(options.profileFolder) },
    network: (name) => networks.get(name),
  }
  await measureAllHttp(http, options, targets, context, tell)
  for (const scenario of special) {
    const { name, title } = scenario
    tell(await attempt(scenario, async () => ({ name, title, ...(await scenario.run(context)) })))
  }
  const report = { startedAt, machine, settings: about, loaderCeiling, findings }
  console.log(footLines(report).join('\n'))
  return report
}

function warmUpSecondsOf({ isCheck, isQuick, seconds }: BenchOptions): number {
  if (isCheck) return checkWarmUpSecondsMax
  return isQuick ? seconds : warmUpSecondsMax
}

/** The networks of the scenarios, without the demo chain. */
function networksOf(scenarios: readonly Scenario[]): string[] {
  const names = scenarios.flatMap(({ network, beside }) => [network, ...(beside ? [beside.network] : [])])
  return [...new Set(names)].filter((name) => name !== 'demo')
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
  tell: (finding: Finding) => void,
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
      const measure = () => measureHttp(scenario, own, rivals, { ...settings, timed }, folder)
      tell(await attempt(scenario, measure))
    }
  } finally {
    for (const server of servers) await server.stop()
  }
}

/** The finding of `measure`; a failure becomes a finding too, so that the other scenarios still run. */
async function attempt(
  { name, title }: { readonly name: string; readonly title: string },
  measure: () => Promise<Outcome>,
): Promise<Finding> {
  try {
    return await measure()
  } catch (error) {
    return { name, title, failed: (error as Error).message }
  }
}

/** Highest rate of the loader, in answers per second, against a bare server with a slot's bytes. */
async function measureCeiling(folder: string, settings: RunSettings): Promise<number> {
  const bare = await startBare(folder, [
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: `0x${'0'.repeat(64)}` }),
  ])
  try {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
    const round = () => saturateUrl(`http://127.0.0.1:${bare.said}/`, settings, settings.seconds, () => body)
    await round()
    const { answers, seconds } = await round()
    return answers / seconds
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
  const about = {
    rounds: options.rounds,
    'seconds a round': options.seconds,
    'latency rounds': options.latencyRounds,
    'seconds a latency round': options.latencySeconds,
    connections: options.connections,
    loader: options.loader,
    pinning: isPinned ? 'server and loader on a core each' : 'none',
  }
  return { machine, about }
}

try {
  const options = parseOptions(process.argv.slice(2))
  if (options.isHelp) console.log(helpText)
  else if (options.publish !== undefined) publish(options.publish)
  else process.exitCode = await main(options)
} catch (error) {
  const isUsage = error instanceof RangeError
  console.error(isUsage ? `${error.message}\n\nnpm run bench -- --help lists the flags.` : error)
  process.exitCode = isUsage ? 2 : 1
}
