/**
 * How fast an archive of history is taken in, by one thread on whatever cores this process has, and how long proofs of
 * its headers take. Prints one line of JSON.
 *
 *   npm run build && node dist/bench/imports/eraSpeed.js [ROUNDS] [ARCHIVE]
 *
 * Without an archive it takes the one of Sepolia that lies beside the package, or else makes one of 8,192 small blocks.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { HeaderProver } from '../../src/chain/headerProof.js'
import { knownIdentity } from '../../src/chain/knownNetworks.js'
import { importArchives } from '../../src/ingest/era/importArchives.js'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { ChainReader } from '../../src/store/chainReader.js'
import type { ChainIdentity } from '../../src/store/chainRows.js'
import { archivedConfig, makeBlocks, sepoliaArchive, writeArchive } from '../../test/ingest/eraArchives.js'

/** What the program prints. */
export interface EraFigures {
  /** As a reader would name it. */
  readonly archive: string
  readonly blocks: number
  /** Blocks a second, by round. */
  readonly rates: readonly number[]
  readonly peakResidentBytes: number
  /** The first proof of the epoch, with its tree, by round; and the mean of all after it. */
  readonly firstProofMs: readonly number[]
  readonly nextProofMicros: number
}

const mapBytes = 2 ** 34

const [rounds = '3', given] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'tidegate-era-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const { name, path, identity } = chooseArchive()
const rates: number[] = []
let storePath = ''
let blocks = 0
for (let round = 0; round < Number(rounds); round++) {
  storePath = join(folder, String(round), 'chain.mdb')
  const task = { storePath, mapBytes, identity, archives: [path], bytesTotal: 1, accumulators: undefined }
  const startedMs = performance.now()
  await importArchives(task, {
    report(message) {
      if (message.type === 'finished') blocks = message.progress.executed
    },
    signal: new AbortController().signal,
  })
  rates.push(blocks / ((performance.now() - startedMs) / 1000))
}
const peakResidentBytes = process.resourceUsage().maxRSS * 1024

const store = ChainReader.open({ path: storePath, mapBytes })
const first = store.readIdentity()?.history?.first ?? 0
const firstProofMs: number[] = []
let nextProofMicros = 0
for (let round = 0; round < Number(rounds); round++) {
  const prover = new HeaderProver(store)
  const times: number[] = []
  for (let number = first; number < first + blocks; number++) {
    const hash = store.readCanonicalHash(number)
    if (hash === undefined) throw new Error(`block ${number} is missing`)
    const startedMs = performance.now()
    prover.prove({ number, hash })
    times.push(performance.now() - startedMs)
  }
  const [one = 0, ...others] = times
  firstProofMs.push(one)
  nextProofMicros = (others.reduce((sum, ms) => sum + ms, 0) / others.length) * 1000
}
await store.close()
const figures: EraFigures = { archive: name, blocks, rates, peakResidentBytes, firstProofMs, nextProofMicros }
console.log(JSON.stringify(figures))

function chooseArchive(): { name: string; path: string; identity: ChainIdentity } {
  const sepolia = knownIdentity('sepolia', undefined)
  const known = given ?? (existsSync(sepoliaArchive) ? sepoliaArchive : undefined)
  if (known !== undefined && sepolia !== undefined) return { name: 'Sepolia', path: known, identity: sepolia }
  const path = join(folder, 'made.era1')
  const made = makeBlocks(8_192)
  writeArchive(path, made)
  const genesisHash = bytesToHex(made[0]?.hash ?? new Uint8Array(0))
  const config = JSON.stringify(archivedConfig)
  return { name: 'small blocks', path, identity: { chainId: '1', networkId: '1', genesisHash, config } }
}
