/**
 * Measures one scenario over HTTP: the server and its rivals in turns, in several rounds. The suite's own loader first
 * saturates the server; then autocannon sends at a fixed rate. The result is the median of the rounds; for ratios the
 * median of the rounds' ratios.
 */
import { fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchOptions, compiledWarmUpSeconds } from '../options.js'
import { compareSides, type Outcome, type Round, type Side } from '../report/outcome.js'
import { latenciesOf, latenciesOfRounds, median, spread } from '../report/statistics.js'
import { findDifference } from '../servers/anvil.js'
import {
  endWithThisProcess,
  messageOf,
  type ServerProcess,
  startServer,
  withCpu,
} from '../servers/serverProcess.js'
import { type NextBody, saturate, type Target, targetOf, warmUp, withConnections } from './httpLoader.js'
import type { LatencyJob } from './latencyLoader.js'
import { askBody, resultsOf } from './rpc.js'
import type { Scenario } from './scenarios.js'

/** A server under measurement. Without a process its CPU time is unknown. */
export interface Contestant {
  readonly name: string
  readonly url: string
  readonly process?: ServerProcess | undefined
}

/**
 * Latencies are measured at this share of the slower server's highest rate, where there are no queues. The rate is also
 * limited to one that autocannon sends easily.
 */
const latencyLoad = 0.25
const latencyRateMax = 500
/** Connections of a slow scenario: two for each of two cores. */
const slowConnections = 4
/**
 * A round ends with the last answer on each connection, so the number of connections is at most that of a round's
 * answers. If a server takes a second per answer, its rounds are limited to this many seconds, but to at least
 * `roundsMin`.
 */
const roundsSecondsMax = 6
const roundsMin = 3
/** Answers needed for a p99, five of which are above it. Scenarios too slow for that have no p99. */
const answersForP99 = 500
const latencySecondsMax = 5
/** Servers that are compiled in advance. */
const compiledNames: ReadonlySet<string> = new Set(['anvil', 'geth'])
/** Number of different answers that the bare server sends if requests vary. */
const sampledAnswers = 64

/** Other servers measured in the same scenario. */
export interface Rivals {
  readonly hasBare: boolean
  /** A node of another program with the chain: anvil or go-ethereum. */
  readonly node: Contestant | undefined
  /** The measured server under the scenario `beside`. */
  readonly beside: Contestant | undefined
  /** The build of another checkout, under the same requests. */
  readonly base: Contestant | undefined
  /** Names of the servers measured at a fixed rate as well; if undefined, all of the above. */
  readonly timed: readonly string[] | undefined
  /** Whether to measure `spun` at that rate, too: a bare server that works as long per answer as the measured one. */
  readonly hasSpun: boolean
}

/**
 * Measures a scenario. Rejects if an answer is an error or null, if the other node's answer differs, or if a connection
 * fails.
 */
export async function measureHttp(
  scenario: Scenario,
  contestant: Contestant,
  { hasBare, node, beside, base, timed, hasSpun }: Rivals,
  options: BenchOptions,
  folder: string,
): Promise<Outcome> {
  const { name, title, question, variety, acceptEncoding, isSlow } = scenario
  const slow = { connections: slowConnections, latencyRounds: 0 }
  const settings = isSlow === true ? { ...options, ...slow } : options
  const answers = await sampleAnswers(scenario, contestant)
  if (node !== undefined && scenario.node === 'same') await compareAnswers(scenario, answers, node)
  const bare = await startBare(folder, answers)
  try {
    const asked = hasBare ? [contestant, bare] : [contestant]
    const tracks = asked.map((each) => new Track({ question, variety, acceptEncoding }, each, settings))
    if (node !== undefined && scenario.node !== 'none') {
      const theirs = scenario.node === 'same' ? question : scenario.node
      tracks.push(new Track({ question: theirs, variety }, node, settings))
    }
    if (beside !== undefined && scenario.beside !== undefined) {
      tracks.push(new Track(scenario.beside, beside, settings))
    }
    if (base !== undefined) tracks.push(new Track({ question, variety, acceptEncoding }, base, settings))
    for (const track of tracks) await track.warmUp()
    if (acceptEncoding !== undefined) await requireCompressed(contestant.url, question(0), acceptEncoding)
    await inTurns(tracks, settings.rounds, (track) => track.saturate())
    const common = Math.min(...tracks.slice(0, asked.length).map(({ rate }) => rate))
    const ownSide = () => (tracks[0] as Track).side()
    const timedTracks = tracks.filter(({ contestant }) => timed?.includes(contestant.name) ?? true)
    const { cpuMicros } = ownSide()
    const spun =
      hasSpun && cpuMicros !== undefined
        ? new Track({ question, variety }, { name: 'spun', url: `${bare.url}after/${cpuMicros}` }, settings)
        : undefined
    await inTurns([...timedTracks, ...(spun ? [spun] : [])], settings.latencyRounds, (track) =>
      track.askAtRate(track.contestant === node ? track.rate : common),
    )
    const own = ownSide()
    const others = tracks.slice(1).map((track) => [track.contestant.name, track.side()] as const)
    return {
      name,
      title,
      unit: 'requests',
      own,
      rivals: { ...Object.fromEntries(others), ...(spun && { spun: spun.side() }) },
      ratios: Object.fromEntries(
        others.map(([rival, side]) => [
          rival,
          compareSides(own, side, scenario.isByCpu || rival === base?.name),
        ]),
      ),
      note:
        typeof scenario.node === 'function' && node !== undefined ? 'anvil holds the demo chain' : undefined,
    }
  } finally {
    await bare.process.stop()
  }
}

/** Runs each in turn; each round starts with another one. */
async function inTurns(
  tracks: readonly Track[],
  rounds: number,
  run: (track: Track) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < tracks.length; at++) await run(tracks[(at + round) % tracks.length] as Track)
  }
}

/** Requests to a server. */
type Requests = Pick<Scenario, 'question' | 'variety'> & { readonly acceptEncoding?: string | undefined }

/** The rounds of one server in a scenario. */
class Track {
  readonly #target: Target
  readonly #next: NextBody
  #connections = 1
  /** Total of all rounds. */
  #seconds = 0
  readonly #rounds: Round[] = []
  readonly #busy: (number | undefined)[] = []
  readonly #faults: (number | undefined)[] = []
  readonly #latencies: (readonly number[])[] = []

  constructor(
    readonly requests: Requests,
    readonly contestant: Contestant,
    readonly settings: BenchOptions,
  ) {
    this.#target = targetOf(contestant.url, requests.acceptEncoding)
    let n = 0
    this.#next = () => requests.question(n++)
  }

  /** Median answers a second under saturation. */
  get rate(): number {
    return median(this.#rounds.map(({ rate }) => rate)) ?? 0
  }

  async warmUp(): Promise<void> {
    const { connections, seconds, warmUpSecondsMax } = this.settings
    const secondsMax = compiledNames.has(this.contestant.name) ? compiledWarmUpSeconds : warmUpSecondsMax
    const one = await withConnections(this.#target, 1, (open) => saturate(open, seconds, this.#next))
    this.#connections = Math.min(connections, one.answers)
    await withConnections(this.#target, this.#connections, (open) =>
      warmUp(open, secondsMax, this.#next, () => this.contestant.process?.pageFaults()),
    )
  }

  async saturate(): Promise<void> {
    if (this.#seconds > roundsSecondsMax && this.#rounds.length >= roundsMin) return
    const { process } = this.contestant
    const { seconds: secondsWanted } = this.settings
    const faultsBefore = process?.pageFaults()
    const [{ answers, seconds }, cpuSeconds] = await withCpu(process, () =>
      withConnections(this.#target, this.#connections, (open) => saturate(open, secondsWanted, this.#next)),
    )
    this.#seconds += seconds
    const faults = process?.pageFaults()
    const isKnown = faults !== undefined && faultsBefore !== undefined
    this.#faults.push(isKnown ? (faults - faultsBefore) / answers : undefined)
    this.#rounds.push({ rate: answers / seconds, cpuMicros: cpuSeconds && (cpuSeconds * 1e6) / answers })
    this.#busy.push(cpuSeconds && cpuSeconds / seconds)
  }

  /** `highest` is a rate in answers per second that all compared servers reach. */
  async askAtRate(highest: number): Promise<void> {
    const rate = Math.max(1, Math.min(latencyRateMax, Math.floor(latencyLoad * highest)))
    const { latencyRounds, latencySeconds } = this.settings
    const { acceptEncoding } = this.requests
    // At low rates, long enough for all rounds together to give a p99.
    const secondsNeeded = Math.ceil(answersForP99 / (rate * latencyRounds))
    const seconds = Math.max(latencySeconds, Math.min(secondsNeeded, latencySecondsMax))
    // One second more for the first request of each connection, which does not count.
    const count = this.requests.variety === 'one' ? 1 : rate * (seconds + 1)
    const bodies = Array.from({ length: count }, this.#next)
    this.#latencies.push(
      await askByAutocannon({ url: this.contestant.url, bodies, rate, seconds, acceptEncoding }),
    )
  }

  side(): Side {
    return {
      rounds: this.#rounds,
      rate: this.rate,
      rateSpread: spread(this.#rounds.map(({ rate }) => rate)),
      cpuMicros: median(this.#rounds.map(({ cpuMicros }) => cpuMicros)),
      busy: median(this.#busy),
      pageFaults: median(this.#faults),
      ...this.contestant.process?.memory(),
      latencies: latenciesOfRounds(this.#latencies),
      latencyRounds: this.#latencies.map(latenciesOf),
    }
  }
}

/** Throws if the answer is not compressed. */
async function requireCompressed(url: string, body: string, acceptEncoding: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'accept-encoding': acceptEncoding }
  const { headers: answered } = await fetch(url, { method: 'POST', headers, body })
  if (!answered.has('content-encoding')) throw new Error(`${url} does not compress its answer`)
}

async function sampleAnswers(scenario: Scenario, own: Contestant): Promise<string[]> {
  const answers: string[] = []
  for (let n = 0; n < (scenario.variety === 'one' ? 1 : sampledAnswers); n++) {
    const answer = await askBody(own.url, scenario.question(n))
    resultsOf(answer)
    answers.push(answer)
  }
  return answers
}

async function compareAnswers(
  scenario: Scenario,
  answers: readonly string[],
  node: Contestant,
): Promise<void> {
  for (const [n, answer] of answers.entries()) {
    const theirs = await askBody(node.url, scenario.question(n))
    const difference = findDifference(JSON.parse(answer), JSON.parse(theirs))
    if (difference !== undefined) throw new Error(`${node.name} answers otherwise: ${difference}`)
  }
}

/** Starts the bare server with these answers. */
export async function startBare(folder: string, answers: readonly string[]) {
  const answersPath = join(folder, 'answers.json')
  writeFileSync(answersPath, JSON.stringify(answers))
  const program = fileURLToPath(new URL('../servers/bareServer.js', import.meta.url))
  const process = await startServer([globalThis.process.execPath, program, answersPath], /^(\d+)$/)
  return { name: 'bare', url: `http://127.0.0.1:${process.said}/`, process }
}

/** Time besides the job itself: for starting, on a busy machine. */
const spareMs = 60_000

/**
 * Latencies in ms of `rate` × `seconds` requests, from autocannon in a process of its own on the loader's core. Rejects
 * if a connection or an answer fails.
 */
export async function askByAutocannon(job: LatencyJob): Promise<readonly number[]> {
  const program = fileURLToPath(new URL('./latencyLoader.js', import.meta.url))
  const loader = endWithThisProcess(fork(program))
  try {
    const answer = messageOf(loader, 'autocannon', job.seconds * 1000 + spareMs)
    loader.send(job)
    const said = await answer
    if (!Array.isArray(said)) throw new Error(String(said))
    return said as number[]
  } finally {
    loader.kill('SIGKILL')
  }
}
