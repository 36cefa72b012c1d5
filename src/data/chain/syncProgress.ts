import { toQuantity } from '../../primitives/bytes.js'

export interface SyncProgress {
  readonly startingBlock: number
  readonly currentBlock: number
  /** The highest block that the source has delivered so far. */
  readonly highestBlock: number
}

/** The object of `eth_syncing`, as JSON text. */
export function syncProgressJson({ startingBlock, currentBlock, highestBlock }: SyncProgress): string {
  return (
    `{"startingBlock":"${toQuantity(startingBlock)}","currentBlock":"${toQuantity(currentBlock)}"` +
    `,"highestBlock":"${toQuantity(highestBlock)}"}`
  )
}
