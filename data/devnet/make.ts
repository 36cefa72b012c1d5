/**
 * Writes the demo network into `data/devnet`, once another engine has imported the chain. With `--check` it only
 * compares, and exits with 1 if a file differs. Run by `npm run devnet`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { equalBytes } from '../../src/primitives/bytes.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { loadKzg } from './blobs.js'
import { buildDevnet } from './buildDevnet.js'
import { selfCheck } from './selfCheck.js'

const folder = join(packageRoot(), 'data/devnet')

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

const startedAt = performance.now()
const { genesis, chain, files, examples } = await buildDevnet(join(folder, 'contracts'))
await selfCheck(genesis, loadKzg(), chain)
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`${examples.head.number} blocks, head ${examples.head.hash}, built and checked in ${seconds} s`)
for (const [name, bytes] of files) {
  const path = join(folder, name)
  const before = readIfThere(path)
  const same = before !== undefined && equalBytes(before, bytes)
  if (!same && process.argv.includes('--check')) process.exitCode = 1
  else if (!same) writeFileSync(path, bytes)
  console.log(`${name}: ${bytes.length} bytes, ${same ? 'as before' : 'different'}`)
}
