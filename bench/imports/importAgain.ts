/**
 * Imports a chain into a new store for each line of the input, and prints seconds, seconds of CPU, and gas as a line of
 * JSON.
 *
 *   npm run build && printf '\n\n' | node dist/bench/imports/importAgain.js GENESIS CHAIN
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importFiles } from '../../src/ingest/importFiles.js'
import type { IngestMessage, IngestTask } from '../../src/ingest/messages.js'
import { perform } from '../servers/program.js'

const [genesisPath = '', chainPath = ''] = process.argv.slice(2)

export interface Imported {
  readonly seconds: number
  /** Of CPU, of all threads. */
  readonly cpuSeconds: number
  readonly gas: number
}

async function importOnce(): Promise<Imported> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-import-'))
  try {
    const task: IngestTask = {
      storePath: join(folder, 'chain.mdb'),
      mapBytes: 2 ** 34,
      genesis: { text: readFileSync(genesisPath, 'utf8'), path: genesisPath },
      files: [chainPath],
    }
    const before = process.cpuUsage()
    let run = { seconds: 0, gas: 0 }
    const take = (message: IngestMessage) => {
      if (message.type !== 'finished') return
      const { elapsedMs, gas } = message.progress
      run = { seconds: elapsedMs / 1000, gas }
    }
    await importFiles(task, { report: take, signal: new AbortController().signal })
    const { user, system } = process.cpuUsage(before)
    return { ...run, cpuSeconds: (user + system) / 1e6 }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await perform(importOnce)
