/** `tidegate serve`: builds the rooms out of the settings and runs until it is interrupted. */
import type { Config } from '../config.js'
import type { Io } from './commandLine.js'

/** Serves; resolves to the exit status once stopped. */
export async function serve(_config: Config, _io: Io): Promise<number> {
  throw new Error('serve is not wired up')
}
