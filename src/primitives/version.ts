import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './packageRoot.js'

const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
  version: string
}

export { version }

/** The answer of `web3_clientVersion`: `Tidegate/v0.1.0/linux-x64/node20.20.2`. */
export const clientVersion = `Tidegate/v${version}/${process.platform}-${process.arch}/node${process.versions.node}`
