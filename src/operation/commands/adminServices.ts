import type { Logger } from 'pino'
import type { NodeStore } from '../../data/store/nodeStore.js'
import type { KeyChecker } from '../../serving/access/keyChecker.js'
import type { KeyFreshness } from '../../serving/access/keyFreshness.js'
import type { KeyRepository } from '../../serving/access/keyRepository.js'
import type { UsageLedger } from '../../serving/access/usageLedger.js'
import type { EdgeCounts } from '../../serving/metrics/edgeCounts.js'
import type { Jobs } from '../../serving/pool/jobs.js'
import type { Pool } from '../../serving/pool/pool.js'
import type { Edge } from '../edge/edge.js'
import type { NetworkSource } from './networkSource.js'
import type { OpenRollup } from './openRollup.js'

/** What `serve` runs, as far as the admin listener shows it. */
export interface AdminServices {
  /** Of the main thread. */
  readonly edge: Edge
  /** That it listens on. */
  readonly port: number
  /** By number of the edge. */
  readonly counts: readonly EdgeCounts[]
  readonly pool: Pool<Jobs>
  readonly store: NodeStore
  readonly keys: KeyRepository
  /** Undefined where keys are not shared. */
  readonly reach: KeyFreshness | undefined
  readonly ring: KeyChecker
  readonly usage: UsageLedger
  readonly sources: readonly NetworkSource[]
  readonly rollups: readonly OpenRollup[]
  readonly transport: string
  readonly log: Logger
  isDraining(): boolean
}
