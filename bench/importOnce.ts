/**
 * Imports a chain twice, each time into a new store, and prints seconds and gas of the second time as JSON.
 *
 *   npm run build && node dist/bench/importOnce.js GENESIS CHAIN
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importFiles } from '../src/ingest/importFiles.js'
import type { IngestMessage, IngestTask } from '../src/ingest/messages.js'

const [genesisPath = '', chainPath = ''] = process.argv.slice(2)

/** Seconds and gas of an import into a new store. */
async function importOnce(): Promise<{ seconds: number; gas: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-import-'))
  try {
    const task: IngestTask = {
      storePath: join(folder, 'chain.mdb'),
      mapBytes: 2 ** 34,
      genesis: { text: readFileSync(genesisPath, 'utf8'), path: genesisPath },
      files: [chainPath],
    }
    let run = { seconds: 0, gas: 0 }
    const take = (message: IngestMessage) => {
      if (message.type !== 'finished') return
      const { elapsedMs, gas } = message.progress
      run = { seconds: elapsedMs / 1000, gas }
    }
    await importFiles(task, take, () => false)
    return run
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await importOnce()
console.log(JSON.stringify(await importOnce()))
