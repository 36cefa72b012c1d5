/** `tidegate verify`: checks a network's store against its own hashes. */
import type { VerifyConfig } from '../config.js'
import type { Io } from './commandLine.js'

/** Verifies; resolves to the exit status. */
export async function verify(_config: VerifyConfig, _io: Io): Promise<number> {
  throw new Error('verify is not wired up')
}
