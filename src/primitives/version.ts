/** The version of this program. Its file is read at the first use of the version, not at each start of a process. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './packageRoot.js'

const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
  version: string
}

export { version }

/** The answer of `web3_clientVersion`: `Tidegate/v0.1.0/linux-x64/node20.20.2`. */
export const clientVersion = `Tidegate/v${version}/${process.platform}-${process.arch}/node${process.versions.node}`

/** The release of anvil whose form the answers of a developer chain have. */
export const anvilVersion = '1.7.1'

/**
 * The answer of `web3_clientVersion` on a developer chain. Hardhat's helpers, Ignition and others refuse a name that
 * does not begin with that of a test chain. Of these, anvil's has the most methods here.
 */
export const developerClientVersion = `anvil/v${anvilVersion} ${clientVersion}`
