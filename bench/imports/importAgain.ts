/** Imports the chain of a folder into a new store at each message, and sends seconds and gas. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importFiles } from '../../src/sources/ingest/blocks/importFiles.js'
import type { IngestMessage, IngestTask } from '../../src/sources/ingest/thread/messages.js'

const [folder = ''] = process.argv.slice(2)
const genesisPath = join(folder, 'genesis.json')

export interface Imported {
  readonly seconds: number
  readonly gas: number
}

async function importOnce(): Promise<Imported> {
  const home = mkdtempSync(join(tmpdir(), 'tidegate-import-'))
  try {
    const task: IngestTask = {
      storePath: join(home, 'chain.mdb'),
      mapBytes: 2 ** 34,
      genesis: { text: readFileSync(genesisPath, 'utf8'), path: genesisPath },
      files: [join(folder, 'chain.rlp')],
    }
    let run = { seconds: 0, gas: 0 }
    const take = (message: IngestMessage) => {
      if (message.type !== 'finished') return
      const { elapsedMs, gas } = message.progress
      run = { seconds: elapsedMs / 1000, gas }
    }
    await importFiles(task, { report: take, signal: new AbortController().signal })
    return run
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

process.on('message', async () => process.send?.(await importOnce()))
