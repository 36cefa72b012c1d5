/** The context of a scenario that is more than requests over HTTP. */
import type { BenchNetwork } from '../data/benchData.js'
import type { RunSettings } from '../load/httpRun.js'
import type { Outcome } from '../report/outcome.js'
import type { TidegateOptions } from '../servers/tidegateServer.js'

export interface RunContext {
  /** The run's own, removed afterwards. */
  readonly folder: string
  readonly settings: RunSettings
  readonly isQuick: boolean
  /** Blocks of the chain that logs are searched in. */
  readonly logBlocks: number
  /** Size of the networks that the store is measured with: 1 for whole ones. */
  readonly storeShare: number
  /** Options of the command line for servers. */
  readonly server: TidegateOptions
  network(name: string): Promise<BenchNetwork>
}

export interface SpecialScenario {
  /** As in `--only` and targets.json. */
  readonly name: string
  readonly title: string
  run(context: RunContext): Promise<Omit<Outcome, 'name' | 'title'>>
}
