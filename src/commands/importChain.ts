/** `tidegate import`: executes chain files into a network's store. */
import type { ImportConfig } from '../config.js'
import type { Io } from './commandLine.js'

/** Imports; resolves to the exit status. */
export async function importChain(_config: ImportConfig, _io: Io): Promise<number> {
  throw new Error('import is not wired up')
}
