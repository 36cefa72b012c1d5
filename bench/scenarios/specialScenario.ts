/** The context of a scenario that is more than requests over HTTP. */
import type { BenchNetwork } from '../data/networks.js'
import type { BenchOptions } from '../options.js'
import type { Outcome } from '../report/outcome.js'
import type { TidegateOptions } from '../servers/tidegateServer.js'

export interface RunContext {
  /** The run's own, removed afterwards. */
  readonly folder: string
  readonly settings: BenchOptions
  /** Options of the command line for servers. */
  readonly server: TidegateOptions
  /** Those of the scenarios over HTTP by their names. */
  network(name: string): Promise<BenchNetwork>
}

export interface SpecialScenario {
  /** As in `--only` and targets.json. */
  readonly name: string
  readonly title: string
  run(context: RunContext): Promise<Omit<Outcome, 'name' | 'title'>>
}
