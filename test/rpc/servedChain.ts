import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { importFiles } from '../../src/sources/ingest/blocks/importFiles.js'
import { writeInto } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import { storePathOf } from '../service/program.js'
import { startService } from '../service/service.js'
import { genesisPath } from './demoChain.js'

const mapBytes = 2 ** 30

/**
 * Imports blocks on the demo network's genesis into the data folder `data`, in this process rather than by the program.
 */
export async function importHere(folder: string, chain: Uint8Array, network = 'tides'): Promise<void> {
  const storePath = storePathOf(join(folder, 'data'), network)
  mkdirSync(dirname(storePath), { recursive: true })
  const files = [writeInto(folder, `chain${process.hrtime.bigint()}.rlp`, chain)]
  const genesis = { text: readFileSync(genesisPath, 'utf8'), path: genesisPath }
  await importFiles(
    { storePath, mapBytes, genesis, files },
    { report: () => undefined, signal: new AbortController().signal },
  )
}

/**
 * Serves a network of these blocks on the demo network's genesis, in a data folder of its own. `add` imports more, in a
 * process other than the server's.
 */
export async function serveChain(folder: string, chain: Uint8Array) {
  const flags = ['--network', 'tides', '--data', `${folder}/data`]
  const add = (more: Uint8Array) => importHere(folder, more)
  await add(chain)
  const service = await startService([...flags, '--no-auth'])
  const headIs = (hash: string) =>
    waitFor(`the head ${hash}`, async () => {
      const { result } = await service.call('eth_getBlockByNumber', ['latest', false])
      return result.hash === hash
    })
  return { service, add, headIs, flags }
}
