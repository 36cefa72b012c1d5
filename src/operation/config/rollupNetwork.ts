/** The settings of a rollup network for `serve`, and those of the rollup network that is served without a file. */
import { join } from 'node:path'
import { demoRollupName } from './embeddedNames.js'
import type { RollupEntry } from './file.js'
import { parseRollupEntry, verdictMsMaxOf } from './rollup.js'

const demoRollupChainId = 'TIDEGATE_DEMO'

/** The network's entry in the file, and the path of its lock. */
export interface RollupConfig extends RollupEntry {
  /** Whether this is the rollup network that is served without a file. */
  readonly isEmbedded: boolean
  /** Locked while served, so that no second process serves it from the same data folder. */
  readonly lockPath: string
  /** Time that a request waits for the sequencer's verdict; undefined if it does not wait. */
  readonly verdictMsMax: number | undefined
}

export function entryToRollup(entry: RollupEntry, dataDir: string, requestMsMax: number): RollupConfig {
  return {
    ...entry,
    isEmbedded: false,
    lockPath: lockPath(entry.name, dataDir),
    verdictMsMax: verdictMsMaxOf(entry.upstream, requestMsMax),
  }
}

export function demoRollup(dataDir: string): RollupConfig {
  const entry = parseRollupEntry({
    name: demoRollupName,
    kind: 'rollup',
    chainId: demoRollupChainId,
    // The prefix that existing clients of rollups use.
    aliases: ['starknet'],
    // Lets users send the printed example twice.
    idempotent: true,
  })
  return { ...entry, isEmbedded: true, lockPath: lockPath(entry.name, dataDir), verdictMsMax: undefined }
}

function lockPath(name: string, dataDir: string): string {
  return join(dataDir, 'node', `rollup-${name}`)
}
