/**
 * Makes one network in a new store and prints what it takes there, as JSON.
 *
 *   node dist/bench/store/storeSpeed.js wide|busy [--slots N] [--accounts N] [--blocks N] [--changes N] [--history N]
 *                                                 [--rows N] [--folder DIR]
 *
 * *wide* has slots that are written once, in the order of their rows, *busy* a state in half-full pages, which then gets
 * blocks of random changes. `--history N` keeps the past of N blocks. Without `--folder` the store goes into a temporary
 * folder, and is removed. Blocks are written together until so many rows wait as an import collects; with `--rows 1` each
 * by itself, as blocks come at the head.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { open } from 'lmdb'
import { toHash32 } from '../../src/primitives/bytes.js'
import { ChainReader } from '../../src/store/chainReader.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { rowsPerCommit } from '../../src/store/commitRows.js'
import { keepsAll } from '../../src/store/keptHistory.js'
import { type AccountChange, DiffBuilder } from '../data/diffBuilder.js'
import {
  contractAddress,
  contractOf,
  keysPerSettling,
  loadBlocks,
  type StateSize,
  settle,
  slotOf,
} from '../data/syntheticState.js'
import { randomChanges, randomFrom } from './randomChanges.js'

/** Pages of LMDB on all systems that the product runs on. */
const pageBytes = 4_096
const reads = 20_000

/** What so many blocks took; CPU time of all threads. */
export interface BlockCosts {
  readonly blocks: number
  readonly changes: number
  /** For one block: tries and block diff. */
  readonly rootsCpuMs: number
  /** For one block: rows and pages, until they are on disk. */
  readonly writeCpuMs: number
  readonly writeWallMs: number
  readonly longestWriteMs: number
  /** For one block, where the system tells. */
  readonly pagesWritten: number | undefined
  /** Pages in use and their bytes: how much they grew. */
  readonly bytes: number
}

export interface TableFigures {
  readonly name: string
  readonly rows: number
  /** Of its pages. */
  readonly bytes: number
}

/** A table, and what its rows have without the space between them. */
export interface TableContent extends TableFigures {
  readonly keyBytes: number
  readonly valueBytes: number
}

/** What a file consists of, in bytes. */
export interface FileFigures {
  readonly file: number
  /** Of these, pages of what is kept of every block whatever the history: headers, and numbers by hash. */
  readonly headers: number
  /** Pages of all else; the rest of the file waits for rows to come. */
  readonly others: number
}

export interface StoreFigures {
  readonly network: string
  readonly size: StateSize
  /** Blocks whose past is kept; null for all. */
  readonly kept: number | null
  readonly load: BlockCosts
  readonly busy: BlockCosts | undefined
  /** The same as {@link settledBytes} after loading. */
  readonly loadedBytes: number
  /** Bytes of state, tries and their past once all blocks are older than any reorganisation. */
  readonly settledBytes: number
  readonly fileBytes: number
  /** After each tenth of the blocks of random changes. */
  readonly fileSeries: readonly FileFigures[]
  /** Of random slots, µs: at the head, and at random blocks that are kept. */
  readonly readMicros: { readonly head: number; readonly past: number }
  readonly tables: readonly TableContent[]
  readonly seconds: number
  readonly peakResidentBytes: number
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    slots: { type: 'string' },
    accounts: { type: 'string' },
    blocks: { type: 'string' },
    changes: { type: 'string', default: '5000' },
    history: { type: 'string' },
    rows: { type: 'string', default: String(rowsPerCommit) },
    folder: { type: 'string' },
  },
})

const network = positionals[0] === 'busy' ? 'busy' : 'wide'
const defaults =
  network === 'busy'
    ? { accounts: 1_000_000, slots: 3_000_000, blocks: 5_000 }
    : { accounts: 0, slots: 10_000_000, blocks: 0 }
const size = {
  accounts: Number(values.accounts ?? defaults.accounts),
  slotsPerAccount: 0,
  slots: Number(values.slots ?? defaults.slots),
}
const blocks = Number(values.blocks ?? defaults.blocks)
const changesPerBlock = Number(values.changes)
const kept = values.history === undefined ? Number.POSITIVE_INFINITY : Number(values.history)
const history =
  values.history === undefined
    ? keepsAll
    : (Object.fromEntries(Object.keys(keepsAll).map((kind) => [kind, kept])) as unknown as typeof keepsAll)

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'tidegate-store-'))
mkdirSync(folder, { recursive: true })
const path = join(folder, 'chain.mdb')

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Pages that this process passed to the system. */
function pagesPassed(): number | undefined {
  if (!existsSync('/proc/self/io')) return undefined
  return Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]) / pageBytes
}

async function run(): Promise<StoreFigures> {
  const begunMs = performance.now()
  const store = ChainWriter.openForWriting({ path, history })
  const builder = new DiffBuilder(store)
  const series: FileFigures[] = []
  let loaded = 0
  try {
    // Full pages would be split by the first changes, which would count as bytes of those.
    const order = network === 'wide' ? 'rows' : 'hashes'
    const load = await measure(loadBlocks(size, undefined, order), keysPerSettling)
    const loadedBytes = await measureSettled()
    loaded = store.head.number
    const busy = blocks > 0 ? await measure(changeBlocks()) : undefined
    const settledBytes = busy === undefined ? loadedBytes : await measureSettled()
    const readMicros = { head: readSlots(undefined), past: readSlots(kept) }
    return {
      ...{ network, size, load, busy, loadedBytes, settledBytes, readMicros },
      kept: Number.isFinite(kept) ? kept : null,
      fileBytes: statSync(path).size,
      fileSeries: series,
      tables: readTables(true) as TableContent[],
      seconds: (performance.now() - begunMs) / 1_000,
      peakResidentBytes: process.resourceUsage().maxRSS * 1_024,
    }
  } finally {
    await store.close()
  }

  function* changeBlocks(): Generator<AccountChange[]> {
    for (let index = 0; index < blocks; index++) {
      yield randomChanges(size, index, changesPerBlock)
      if ((index + 1) % Math.ceil(blocks / 10) === 0) series.push(measureFile())
    }
  }

  /** Bytes once nothing is kept of the newest blocks alone. */
  async function measureSettled(): Promise<number> {
    await settle(store, builder)
    while (kept < Number.POSITIVE_INFINITY && store.cutHistory());
    return bytesOf(readTables())
  }

  /** `keysPerSettling`: of changes between two calls of {@link settle}, whose times do not count. */
  async function measure(
    source: Iterable<readonly AccountChange[]>,
    keysPerSettling = Number.POSITIVE_INFINITY,
  ): Promise<BlockCosts> {
    let settled = 0
    const before = { pages: pagesPassed(), bytes: bytesOf(readTables()) }
    const sum = { blocks: 0, changes: 0, rootsCpu: 0, writeCpu: 0, writeWall: 0, longest: 0 }
    for (const changes of source) {
      const beginCpu = cpuMs()
      const blockDiff = builder.next(changes)
      const middleCpu = cpuMs()
      const beginMs = performance.now()
      store.beginBatch()
      store.apply(store.head.number, [blockDiff])
      if (store.heldRows >= Number(values.rows)) await store.commitBatch()
      const tookMs = performance.now() - beginMs
      sum.rootsCpu += middleCpu - beginCpu
      sum.writeCpu += cpuMs() - middleCpu
      sum.writeWall += tookMs
      sum.longest = Math.max(sum.longest, tookMs)
      for (const { slots } of changes) sum.changes += Math.max(1, slots.length)
      if (sum.changes - settled >= keysPerSettling) {
        await settle(store, builder)
        settled = sum.changes
      }
      if (++sum.blocks % 100 === 0) process.stderr.write(`${network}: ${sum.blocks} blocks\r`)
    }
    const begun = { cpu: cpuMs(), ms: performance.now() }
    await store.commitBatch()
    sum.writeCpu += cpuMs() - begun.cpu
    sum.writeWall += performance.now() - begun.ms
    // As long as a commit that has nothing else to do removes some.
    while (kept < Infinity && store.cutHistory());
    const passed = pagesPassed()
    return {
      blocks: sum.blocks,
      changes: sum.changes,
      rootsCpuMs: sum.rootsCpu / sum.blocks,
      writeCpuMs: sum.writeCpu / sum.blocks,
      writeWallMs: sum.writeWall / sum.blocks,
      longestWriteMs: sum.longest,
      pagesWritten:
        passed === undefined || before.pages === undefined ? undefined : (passed - before.pages) / sum.blocks,
      bytes: bytesOf(readTables()) - before.bytes,
    }
  }

  /** Reads random slots, at the head or at random ones of the last `depth` blocks; returns µs of CPU for each. */
  function readSlots(depth: number | undefined): number {
    const reader = ChainReader.open({ path })
    const random = randomFrom(7)
    const newest = kept === Number.POSITIVE_INFINITY ? loaded + blocks : store.head.number
    const oldest = Math.max(loaded, newest - (depth ?? 0))
    let micros = 0
    for (const isWarm of [false, true]) {
      const begin = cpuMs()
      for (let read = 0; read < reads; read++) {
        const index = random(size.slots)
        const address = contractAddress(contractOf(index))
        const slot = toHash32(slotOf(index))
        const value =
          depth === undefined
            ? reader.readSlot(address, slot)
            : reader.readSlotAt(address, slot, oldest + random(newest - oldest + 1))
        if (value === undefined) throw new Error(`slot ${index} is missing`)
      }
      if (isWarm) micros = ((cpuMs() - begin) * 1_000) / reads
    }
    void reader.close()
    return micros
  }
}

/** `withContent`: as {@link TableContent}, for which all rows are read. */
function readTables(withContent = false): TableFigures[] {
  const binary = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const
  const environment = open<Uint8Array, Uint8Array>({
    path,
    noSubdir: true,
    readOnly: true,
    maxDbs: 32,
    mapSize: 2 ** 40,
    ...binary,
  })
  try {
    const names = [...environment.getKeys()].map((key) => Buffer.from(key).toString().replace(/\0$/, ''))
    return names.flatMap((name) => {
      const table = environment.openDB<Uint8Array, Uint8Array>({ name, ...binary })
      if (table === undefined) return []
      const stats = table.getStats() as Readonly<Record<string, number>>
      const pages = ['treeBranchPageCount', 'treeLeafPageCount', 'overflowPages'].reduce(
        (total, key) => total + (stats[key] ?? 0),
        0,
      )
      const figures = { name, rows: stats.entryCount ?? 0, bytes: pages * pageBytes }
      if (!withContent) return [figures]
      const content = { keyBytes: 0, valueBytes: 0 }
      for (const { key, value } of table.getRange()) {
        content.keyBytes += key.length
        content.valueBytes += value.length
      }
      return [{ ...figures, ...content }]
    })
  } finally {
    void environment.close()
  }
}

function measureFile(): FileFigures {
  const figures = { file: statSync(path).size, headers: 0, others: 0 }
  for (const { name, bytes } of readTables())
    figures[name === 'blocks' || name === 'numbers' ? 'headers' : 'others'] += bytes
  return figures
}

/** Tables whose rows do not depend on how much blocks change. */
const ofBlocks: readonly string[] = ['blocks', 'numbers', 'bodies', 'receipts', 'meta']

const bytesOf = (tables: readonly TableFigures[]) =>
  tables.reduce((sum, { name, bytes }) => sum + (ofBlocks.includes(name) ? 0 : bytes), 0)

try {
  console.log(JSON.stringify(await run()))
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true })
}
