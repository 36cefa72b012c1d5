import { readFileSync } from 'node:fs'
import { OperatorError } from '../../primitives/faults.js'
import { genesisWithForks } from '../../sources/ingest/blocks/genesis.js'
import type { NetworkConfig } from '../config/config.js'

/**
 * The genesis that a network names, with the fork times of its configuration; undefined if it names none. Throws
 * OperatorError if they give different times for a fork.
 */
export function genesisOf({
  genesisPath: path,
  forks,
}: Pick<NetworkConfig, 'genesisPath' | 'forks'>):
  | { readonly text: string; readonly path: string }
  | undefined {
  if (path === undefined) return undefined
  try {
    return { text: genesisWithForks(readFileSync(path, 'utf8'), forks), path }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OperatorError(`the genesis ${path} is not usable: ${error.message}; leave one of them out`)
  }
}
