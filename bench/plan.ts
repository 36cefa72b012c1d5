/** The contents of a run: its scenarios, their networks, and the expected times. */
import { fullBlocks, importPlan, type NetworkPlan } from './data/networks.js'
import { importScenarios } from './imports/importRun.js'
import { type GethScenario, gethScenarios } from './load/gethScenarios.js'
import { httpScenarios, isOfAnyEndpoint, type NetworkName, type Scenario, slotsOf } from './load/scenarios.js'
import { neighbours } from './neighbours/neighbours.js'
import { type BenchOptions, compiledWarmUpSeconds, warmUpSecondsOf } from './options.js'
import { isOf, rivalsIn, type Target } from './report/targets.js'
import { cold } from './scenarios/cold.js'
import { readsUnderProofs } from './scenarios/disturbedReads.js'
import { edges } from './scenarios/edges.js'
import { engineBlocks } from './scenarios/engineBlocks.js'
import { fork } from './scenarios/fork.js'
import { gas } from './scenarios/gas.js'
import { gatewayCached } from './scenarios/gatewayRun.js'
import { fewLogs, manyLogs, rivalBlocks } from './scenarios/logRun.js'
import { memory, traceStream } from './scenarios/memoryRun.js'
import { prices } from './scenarios/prices.js'
import { replicas } from './scenarios/replicas.js'
import type { SpecialScenario } from './scenarios/specialScenario.js'
import { stateSize } from './scenarios/stateSize.js'
import { stateStart } from './scenarios/stateStart.js'
import { streams } from './scenarios/streams.js'
import { submissions } from './scenarios/submissions.js'
import { workingSet } from './scenarios/workingSet.js'
import { cores } from './servers/serverProcess.js'

/** All scenarios that are more than requests over HTTP, in the order of the run; `gas` only if its folder is known. */
export const specialScenarios = (gasFolder: string | undefined): readonly SpecialScenario[] => [
  readsUnderProofs,
  ...importScenarios,
  stateSize,
  stateStart,
  engineBlocks,
  gatewayCached,
  memory,
  traceStream,
  neighbours,
  prices,
  fewLogs,
  manyLogs,
  streams,
  submissions,
  workingSet,
  edges,
  replicas,
  cold,
  fork,
  ...(gasFolder === undefined ? [] : [gas(gasFolder)]),
]

export interface Plan {
  readonly http: readonly Scenario[]
  /** Beside go-ethereum. */
  readonly geth: readonly GethScenario[]
  readonly special: readonly SpecialScenario[]
  /** All of them in the order of the run, with the expected seconds of each. */
  readonly steps: readonly Step[]
}

export interface Step {
  readonly name: string
  readonly title: string
  readonly seconds: number
}

/**
 * The scenarios that the options choose; a check runs those with targets. Throws RangeError if there are none, or if a
 * part of a name matches none.
 */
export function planOf(options: BenchOptions, targets: readonly Target[]): Plan {
  const { url, only, isCheck } = options
  const targeted = new Set(targets.filter((target) => isOf(target, cores)).map(({ scenario }) => scenario))
  const offered = (scenario: { readonly name: string }) => !isCheck || targeted.has(scenario.name)
  const all = httpScenarios(options)
    .filter((scenario) => url === undefined || isOfAnyEndpoint(scenario))
    .filter(offered)
  const besideGeth = (options.withGeth ? gethScenarios : []).filter(offered)
  const others = (url === undefined ? specialScenarios(options.gasFolder) : []).filter(offered)
  const known = [...all, ...besideGeth, ...others].map(({ name }) => name)
  const unknown = only.find((part) => !known.some((name) => name.includes(part)))
  if (unknown !== undefined || known.length === 0) {
    throw new RangeError(`--only: no scenario has "${unknown}" in its name; there are: ${known.join(', ')}`)
  }
  const isChosen = ({ name }: { readonly name: string }) =>
    only.length === 0 || only.some((part) => name.includes(part))
  const http = all.filter(isChosen)
  const geth = besideGeth.filter(isChosen)
  const special = others.filter(isChosen)
  const steps = [
    ...http.map((each) => ({ ...each, seconds: secondsOfHttp(each, options, targets) })),
    ...geth.map((each, at) => ({
      ...each,
      seconds: (at === 0 ? gethStartSeconds : 0) + secondsBesideGeth(options),
    })),
    ...special.map((each) => ({ ...each, seconds: each.seconds(options) })),
  ]
  return { http, geth, special, steps }
}

/** The contents of a network of a scenario over HTTP. */
export function networkPlan(name: string, options: BenchOptions): NetworkPlan {
  if (name === 'demo') return { kind: 'demo' }
  if (name === 'blocks') return { kind: 'blocks', count: options.blocks }
  if (name === 'accounts') return { kind: 'state', accounts: options.accounts, slotsPerAccount: 3, slots: 0 }
  if (name === 'mixed') return importPlan('mixed', options.isQuick)
  return { kind: 'state', accounts: 0, slotsPerAccount: 0, slots: slotsOf(name as NetworkName, options) }
}

/** The networks of these scenarios over HTTP, without the demo chain. */
export function networksOf(scenarios: readonly Scenario[]): string[] {
  const names = scenarios.flatMap(({ network, beside }) => [network, ...(beside ? [beside.network] : [])])
  return [...new Set(names)].filter((name) => name !== 'demo')
}

/** All networks of a run. */
export function networkPlans({ http, geth, special }: Plan, options: BenchOptions): NetworkPlan[] {
  if (options.url !== undefined) return []
  const names = new Set(special.map(({ name }) => name))
  const plans = ['demo', ...networksOf(http)].map((name) => networkPlan(name, options))
  for (const chain of ['transfers', 'tokens', 'mixed'] as const) {
    const isMixedNeeded = geth.length > 0 || names.has('cold') || names.has('replicas')
    const isImported = names.has(`import-${chain}`) || (chain === 'mixed' && isMixedNeeded)
    if (isImported) plans.push(importPlan(chain, options.isQuick))
  }
  if (names.has('engine')) plans.push(fullBlocks)
  if (names.has('logs') || names.has('logs-many')) plans.push({ kind: 'logs', count: options.logBlocks })
  if (names.has('logs')) plans.push({ kind: 'logs', count: rivalBlocks })
  return [...new Map(plans.map((plan) => [JSON.stringify(plan), plan])).values()]
}

/** Warm-up of the bare server, which has little code. */
const bareWarmUpSeconds = 2
/** Start of go-ethereum with its import, start of Tidegate, and reads of the chain's facts. */
const gethStartSeconds = 12
/** Start of autocannon's process, and its first requests, which do not count. */
const latencyStartSeconds = 1.6
/** For starting the bare server, and for comparing answers. */
const startSeconds = 1

/** Rounds of anvil in a slow scenario, as many as fit into six seconds, and its first answer. */
const slowAnvilSeconds = 10

function secondsOfHttp(scenario: Scenario, options: BenchOptions, targets: readonly Target[]): number {
  const { name, node, beside, isSlow } = scenario
  const wanted = options.isCheck ? rivalsIn(targets, name) : undefined
  const hasBare = wanted?.all.includes('bare') ?? true
  const hasAnvil = options.withAnvil && node !== 'none' && (wanted?.all.includes('anvil') ?? true)
  const own = warmUpSecondsOf(options)
  const bare = Math.min(own, bareWarmUpSeconds)
  const sides = [own, ...(hasBare ? [bare] : []), ...(hasAnvil ? [compiledWarmUpSeconds] : [])]
  if (beside !== undefined) sides.push(own)
  if (options.base !== undefined) sides.push(own)
  const timed = wanted === undefined ? sides.length : wanted.timed.length === 0 ? 0 : 2
  const latency = isSlow ? 0 : options.latencyRounds * timed * (options.latencySeconds + latencyStartSeconds)
  const warmUp = sides.reduce((sum, seconds) => sum + seconds, 0)
  // A round ends with the last answer: of ours to a slow scenario a fraction of a second, of anvil's up to 3 s.
  const rounds = isSlow
    ? options.rounds * 2 * options.seconds + (hasAnvil ? slowAnvilSeconds : 0)
    : options.rounds * sides.length * options.seconds
  return startSeconds + warmUp + rounds + latency
}

function secondsBesideGeth(options: BenchOptions): number {
  return (
    startSeconds + warmUpSecondsOf(options) + compiledWarmUpSeconds + options.rounds * 2 * options.seconds
  )
}

/** The progress of a run, and its expected end. */
export class Progress {
  readonly #steps: readonly Step[]
  readonly #nowMs: () => number
  readonly #startedAtMs: number

  /** `nowMs` is a clock that never goes back. */
  constructor(steps: readonly Step[], nowMs: () => number = () => performance.now()) {
    this.#steps = steps
    this.#nowMs = nowMs
    this.#startedAtMs = nowMs()
  }

  /** The message at the start of a step: its place, and the time left, estimated from the previous steps. */
  begin(name: string): string {
    const at = this.#steps.findIndex((step) => step.name === name)
    const sum = (steps: readonly Step[]) => steps.reduce((total, { seconds }) => total + seconds, 0)
    const done = sum(this.#steps.slice(0, at))
    const left = sum(this.#steps.slice(at))
    const tookSeconds = (this.#nowMs() - this.#startedAtMs) / 1_000
    // The first steps say little about a machine's speed.
    const pace = (tookSeconds + paceSeconds) / (done + paceSeconds)
    const minutes = Math.max(1, Math.round((left * pace) / 60))
    return `[${at + 1} of ${this.#steps.length}, about ${minutes} min left] ${name}`
  }
}

/** Weight, in seconds, of the expected pace beside the measured one. */
const paceSeconds = 20
