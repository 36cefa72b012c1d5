/**
 * Executes a chain into one store, and feeds its bundles to another, each in one thread beside the one that writes;
 * prints the seconds of both as JSON, the bytes of the bundles, and what compressing them gains and costs. The first of
 * each round is a warm-up.
 *
 *   npm run build && node dist/bench/imports/blockDiffSpeed.js GENESIS CHAIN [ROUNDS]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { ForkSchedule } from '../../src/chain/forks.js'
import { decodeBlockDiff, encodeBlockDiff, readBlockDiffParts } from '../../src/feed/blockDiffCodec.js'
import { previousState } from '../../src/feed/previousState.js'
import { BlockDiffVerifier } from '../../src/feed/verifyBlockDiff.js'
import { parseBlock } from '../../src/ingest/block.js'
import { readChainFile } from '../../src/ingest/chainFile.js'
import { parseGenesis } from '../../src/ingest/genesis.js'
import { ChainImporter } from '../../src/ingest/importer.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { median } from '../report/statistics.js'

const [genesisPath = '', chainPath = '', rounds = '3'] = process.argv.slice(2)
const { identity, blockDiff: genesis, schedule } = parseGenesis(readFileSync(genesisPath, 'utf8'))
/** Blocks in one transaction of the store, in both cases. */
const blocksPerCommit = 64
/** As in the default configuration of a replica. */
const sendersChecked = 2

/** Calls `fill` with a new store, and returns its seconds. */
async function timed(fill: (store: ChainWriter) => Promise<void>, after?: (store: ChainWriter) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bundles-'))
  const store = ChainWriter.openForWriting({ path: join(folder, 'chain.mdb'), mapBytes: 2 ** 34 })
  try {
    store.initialize(identity, genesis)
    const begin = performance.now()
    await fill(store)
    await store.commitBatch()
    const seconds = (performance.now() - begin) / 1000
    after?.(store)
    return seconds
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

const blocks: Uint8Array[] = []
for await (const { rlp } of readChainFile(chainPath)) blocks.push(rlp.slice())

async function execute(store: ChainWriter): Promise<void> {
  const importer = new ChainImporter(store, schedule)
  let landed = Promise.resolve()
  for (const [index, rlp] of blocks.entries()) {
    store.beginBatch()
    await importer.importBlock(parseBlock(rlp))
    if (index % blocksPerCommit < blocksPerCommit - 1) continue
    await landed
    landed = store.commitBatch()
  }
}

async function feed(
  store: ChainWriter,
  blockDiffs: readonly Uint8Array[],
  schedule: ForkSchedule,
): Promise<void> {
  const verifier = new BlockDiffVerifier(schedule, { sendersChecked })
  let landed = Promise.resolve()
  for (const [index, bytes] of blockDiffs.entries()) {
    store.beginBatch()
    const previous = previousState(store)
    store.apply(previous.number, [verifier.verifyBlockDiff(previous, decodeBlockDiff(bytes))])
    if (index % blocksPerCommit < blocksPerCommit - 1) continue
    await landed
    landed = store.commitBatch()
  }
}

let blockDiffs: Uint8Array[] = []
const executing: number[] = []
const feeding: number[] = []
for (let round = 0; round <= Number(rounds); round++) {
  const executed = await timed(execute, (store) => {
    blockDiffs = blocks.map((_, index) => {
      const parts = readBlockDiffParts(store, index + 1)
      if (parts === undefined) throw new Error(`block ${index + 1} is not in the store`)
      return encodeBlockDiff(parts)
    })
  })
  const fed = await timed((store) => feed(store, blockDiffs, schedule))
  if (round === 0) continue
  executing.push(executed)
  feeding.push(fed)
}

function compressed(
  name: string,
  compress: (bytes: Uint8Array) => Uint8Array,
  restore?: (bytes: Uint8Array) => void,
) {
  const begin = performance.now()
  const done = blockDiffs.map(compress)
  const middle = performance.now()
  for (const bytes of done) restore?.(bytes)
  const ms = (since: number, until: number) => (until - since) / blockDiffs.length
  const bytes = done.reduce((sum, { length }) => sum + length, 0) / blockDiffs.length
  return { name, bytes, compressMs: ms(begin, middle), restoreMs: ms(middle, performance.now()) }
}

const quality = (level: number) => ({ params: { [constants.BROTLI_PARAM_QUALITY]: level } })
const [execution = 0, fedSeconds = 0] = [median(executing), median(feeding)]
console.log(
  JSON.stringify(
    {
      blocks: blocks.length,
      executeSeconds: execution,
      feedSeconds: fedSeconds,
      ratio: execution / fedSeconds,
      blockDiffBytes: blockDiffs.reduce((sum, { length }) => sum + length, 0) / blockDiffs.length,
      compressed: [
        compressed('deflate 1', (bytes) => deflateRawSync(bytes, { level: 1 }), inflateRawSync),
        compressed('deflate 6', (bytes) => deflateRawSync(bytes, { level: 6 }), inflateRawSync),
        compressed('brotli 1', (bytes) => brotliCompressSync(bytes, quality(1))),
        compressed('brotli 4', (bytes) => brotliCompressSync(bytes, quality(4))),
      ],
    },
    undefined,
    1,
  ),
)
