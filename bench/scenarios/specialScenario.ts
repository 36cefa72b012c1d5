/** The context of a scenario that is more than requests over HTTP. */
import type { BenchNetwork } from '../data/networks.js'
import type { BenchOptions } from '../options.js'
import type { Outcome } from '../report/outcome.js'
import { startTidegate, type TidegateOptions, type TidegateProcess } from '../servers/tidegateServer.js'

export interface RunContext {
  /** The run's own folder, removed afterwards. */
  readonly folder: string
  readonly settings: BenchOptions
  /** Options of the command line for servers. */
  readonly server: TidegateOptions
  /** Networks of the scenarios over HTTP, by name. */
  network(name: string): Promise<BenchNetwork>
  /** The program of go-ethereum; undefined if nothing is compared with it. */
  readonly geth: string | undefined
}

/** The result of a scenario, without its name and title, and without rivals if it has none. */
export type Found = Omit<Outcome, 'name' | 'title' | 'rivals' | 'ratios'> &
  Partial<Pick<Outcome, 'rivals' | 'ratios'>>

/** Thrown by a scenario for which the machine lacks something; its targets do not count then. */
export class Skipped extends Error {}

export interface SpecialScenario {
  /** Name as in `--only` and targets.json. */
  readonly name: string
  readonly title: string
  /** Whether go-ethereum is measured beside it, if its program is available. */
  readonly besideGeth?: true
  /** Approximate duration. */
  seconds(options: BenchOptions): number
  run(context: RunContext): Promise<Found>
}

/** Calls `use` with a server of the demo chain, which ends afterwards. */
export async function onDemo(
  { folder, server: options, network }: RunContext,
  use: (server: TidegateProcess) => Promise<Found>,
  more: TidegateOptions = {},
): Promise<Found> {
  const limits = { ...options.limits, ...more.limits }
  const server = await startTidegate(folder, [await network('demo')], { ...options, ...more, limits })
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}
