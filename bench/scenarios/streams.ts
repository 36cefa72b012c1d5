/**
 * Heads to 2,000 subscribers and logs to 500, a block a second, while other subscribers read nothing. The same is
 * measured without those, and on go-ethereum. Each server makes its blocks itself, from a transaction each; its CPU time
 * and the times of its messages include that.
 */
import { fork } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { madeNetwork, writeMadeGenesis } from '../data/madeChain.js'
import type { FannedOut, SubscriberTask } from '../load/subscriberLoader.js'
import { compareSides, type Round, roundOf, type Side, sideOfRounds } from '../report/outcome.js'
import { latenciesOf, latenciesOfRounds, median } from '../report/statistics.js'
import { startGethDeveloper } from '../servers/geth.js'
import {
  endWithThisProcess,
  messageOf,
  onServerCore,
  type ServerProcess,
  withCpu,
} from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { Found, RunContext, SpecialScenario } from './specialScenario.js'

const subscribers = { heads: 2_000, logs: 500, logsPerBlock: 4 } as const
/**
 * Number of slow readers. More of them would not change the service of others: each fills its own queue and is closed.
 */
const slowReaders = 10
const blockMs = 1_000
/** Blocks before the measured ones, in which code is compiled. */
const warmUpBlocks = 3
const openMsMax = 300_000
const answerMsMax = 120_000

/** One server with its subscribers. */
class Lane {
  readonly #rounds: Round[] = []
  readonly #arrivals: (readonly number[])[] = []
  missed = 0
  #nextAtMs = 0

  private constructor(
    readonly server: ServerProcess,
    readonly openSeconds: number,
    readonly loader: ReturnType<typeof fork>,
  ) {}

  static async open(server: ServerProcess, urls: Pick<SubscriberTask, 'url' | 'socketUrl'>, slow: number) {
    const program = fileURLToPath(new URL('../load/subscriberLoader.js', import.meta.url))
    const task: SubscriberTask = { ...urls, ...subscribers, slow }
    const loader = endWithThisProcess(fork(program, [JSON.stringify(task)]))
    const opened = await messageOf(loader, 'the subscribers', openMsMax)
    if (typeof opened === 'string') throw new Error(opened)
    return new Lane(server, opened as number, loader)
  }

  /** A second after the lane's block before. */
  async makeBlock(isMeasured: boolean): Promise<void> {
    await setTimeout(Math.max(0, this.#nextAtMs - performance.now()))
    this.#nextAtMs = performance.now() + blockMs
    const [block, cpuSeconds] = await withCpu(this.server, () => {
      const answer = messageOf(this.loader, 'the subscribers', answerMsMax)
      this.loader.send({})
      return answer
    })
    if (typeof block === 'string') throw new Error(block)
    const { arrivals, missed } = block as FannedOut
    this.missed += missed
    if (!isMeasured) return
    this.#arrivals.push(arrivals)
    this.#rounds.push(roundOf(arrivals.length, Math.max(...arrivals) / 1_000, cpuSeconds))
  }

  /** Milliseconds from the request for a block to its last message. */
  get lastMs(): number {
    return median(this.#arrivals.map((each) => Math.max(...each))) ?? Number.NaN
  }

  side(): Side {
    return {
      ...sideOfRounds(this.#rounds),
      ...this.server.memory(),
      latencies: latenciesOfRounds(this.#arrivals),
      latencyRounds: this.#arrivals.map(latenciesOf),
    }
  }

  async close(): Promise<void> {
    this.loader.kill('SIGKILL')
    await this.server.stop()
  }
}

async function openTidegate({ folder, server }: RunContext, slow: number): Promise<Lane> {
  const home = mkdtempSync(join(folder, 'made-'))
  const started = await startTidegate(home, [], { ...server, moreNetworks: [madeNetwork(home)] })
  const url = new URL('/made', started.said).href
  return await Lane.open(started, { url, socketUrl: `${url.replace('http', 'ws')}/ws` }, slow)
}

async function openGeth(program: string, { folder }: RunContext): Promise<Lane> {
  const home = mkdtempSync(join(folder, 'geth-'))
  const server = await startGethDeveloper(program, writeMadeGenesis(home), home, onServerCore)
  const [url = '', socketUrl = ''] = server.said.split(' ')
  return await Lane.open(server, { url, socketUrl }, 0)
}

export const streams: SpecialScenario = {
  name: 'streams',
  title: 'heads to 2,000 subscribers and logs to 500, beside slow readers',
  besideGeth: true,
  // A block of each server within about a second.
  seconds: ({ rounds, withGeth }) => 6 + (withGeth ? 7 : 0) + 1.2 * (warmUpBlocks + rounds),
  async run(context): Promise<Found> {
    const lanes: Lane[] = []
    try {
      lanes.push(await openTidegate(context, slowReaders), await openTidegate(context, 0))
      if (context.geth !== undefined) lanes.push(await openGeth(context.geth, context))
      for (let round = -warmUpBlocks; round < context.settings.rounds; round++) {
        for (const lane of lanes) await lane.makeBlock(round >= 0)
      }
      const [own, quiet, geth] = lanes.map((lane) => lane.side()) as [Side, Side, Side?]
      const ms = lanes.map(({ lastMs }) => lastMs.toFixed(0)).join(', ')
      const opened = lanes.map(({ openSeconds }) => openSeconds.toFixed(1)).join(', ')
      return {
        unit: 'messages',
        own,
        rivals: { quiet, ...(geth && { geth }) },
        ratios: {
          quiet: compareSides(own, quiet, true),
          ...(geth && { geth: compareSides(own, geth, true) }),
        },
        failures: lanes[0]?.missed ?? 0,
        note: `of own, quiet, geth: ms from the request for a block to its last message ${ms}; s to subscribe all ${opened}`,
      }
    } finally {
      for (const lane of lanes) await lane.close()
    }
  },
}
