/** A rollup network as `serve` works with it, and the one that is served when nothing else is configured. */
import { join } from 'node:path'
import type { RollupEntry } from './file.js'
import { parseRollupEntry } from './rollup.js'

/** Name and chain id of the rollup network that stands beside the demo chain, without a sequencer. */
export const demoRollupName = 'rollup'
const demoRollupChainId = 'TIDEGATE_DEMO'

/** Everything that the network's entry says, and where its lock lies. */
export interface RollupConfig extends RollupEntry {
  /** Comes with the program. */
  readonly isEmbedded: boolean
  /** Keeps a second process from serving it from the same data folder. */
  readonly lockPath: string
}

export function entryToRollup(entry: RollupEntry, dataDir: string): RollupConfig {
  return { ...entry, isEmbedded: false, lockPath: lockPath(entry.name, dataDir) }
}

export function demoRollup(dataDir: string): RollupConfig {
  const entry = parseRollupEntry({
    name: demoRollupName,
    kind: 'rollup',
    chainId: demoRollupChainId,
    // So that a printed request may be pasted twice.
    idempotent: true,
  })
  return { ...entry, isEmbedded: true, lockPath: lockPath(entry.name, dataDir) }
}

function lockPath(name: string, dataDir: string): string {
  return join(dataDir, 'node', `rollup-${name}`)
}
