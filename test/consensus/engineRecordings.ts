import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'

/** Recorded exchanges of a consensus client with go-ethereum, the program that replays them, and their genesis files. */
export const engineRecordings = join(packageRoot(), '../shared/engine')
/** Reason to skip tests that need them; false if they are available. */
export const withoutEngineRecordings =
  !existsSync(join(engineRecordings, 'run.mjs')) && `there are no recordings at ${engineRecordings}`
