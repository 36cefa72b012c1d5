/**
 * What states take in the store, through its own writer and with the tries that block diffs have: *wide*, slots that are
 * written once, in the order of their rows, and *busy*, a state in half-full pages that then gets blocks of random
 * changes; with all history and with as little as there can be. Rows are written as an import does, many blocks in one
 * transaction. All in this process, on one core where it is pinned.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import type { Change } from '../../src/store/blockDiff.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { rowsPerCommit } from '../../src/store/commitRows.js'
import { keepsAll } from '../../src/store/keptHistory.js'
import { type AccountChange, DiffBuilder } from '../data/diffBuilder.js'
import { randomFrom } from '../data/scatter.js'
import {
  accountAddress,
  amountOf,
  contractAddress,
  contractOf,
  keysPerSettling,
  loadBlocks,
  type StateSize,
  settle,
  slotOf,
} from '../data/syntheticState.js'
import type { BenchOptions } from '../options.js'
import type { SpecialScenario } from './specialScenario.js'

/** Pages of LMDB on all systems that the product runs on. */
const pageBytes = 4_096
/** Blocks of *busy*, and the random changes of each; fewer find fewer neighbours. */
const busyBlocks = 40
const [changesWhole, changesQuick] = [5_000, 500]

interface Run {
  readonly name: string
  readonly size: StateSize
  readonly blocks: number
  /** Of each of these blocks. */
  readonly changes: number
  /** Blocks whose past is kept; undefined for all. */
  readonly kept: number | undefined
}

function runsOf({ accounts, largeSlots, isQuick }: BenchOptions): Run[] {
  const wide = { accounts: 0, slotsPerAccount: 0, slots: largeSlots }
  const busyAccounts = Math.ceil(accounts / 10)
  const busy = { accounts: busyAccounts, slotsPerAccount: 0, slots: 3 * busyAccounts }
  const changes = isQuick ? changesQuick : changesWhole
  return [undefined, 1].flatMap((kept) => [
    { name: 'wide', size: wide, blocks: 0, changes, kept },
    { name: 'busy', size: busy, blocks: busyBlocks, changes, kept },
  ])
}

/** On a quiet core. */
export function secondsToMeasureState(options: BenchOptions): number {
  return 60 + runsOf(options).reduce((sum, { size }) => sum + size.accounts + size.slots, 0) / 20_000
}

export const stateSize: SpecialScenario = {
  name: 'store',
  title: 'what states take in the store',
  async run({ folder, settings }) {
    const lines: string[][] = []
    let rate = 0
    for (const run of runsOf(settings)) {
      const place = join(folder, 'store')
      mkdirSync(place)
      const { cells, blocksPerSecond } = await measure(join(place, 'chain.mdb'), run)
      lines.push(cells)
      if (run.blocks > 0 && run.kept === undefined) rate = blocksPerSecond
      rmSync(place, { recursive: true })
    }
    const table = [columns, columns.map(() => '---'), ...lines]
    return {
      unit: 'blocks of random changes',
      own: { rate, rateSpread: 0 },
      rivals: {},
      ratios: {},
      details: table.map((cells) => `| ${cells.join(' | ')} |`),
    }
  },
}

const columns = [
  ...['network', 'past kept', 'bytes a key', 'bytes a change', 'tries, CPU ms a block', 'writing, CPU ms'],
  ...['writing, wall ms', 'file MB'],
]

async function measure(path: string, { name, size, blocks, changes, kept }: Run) {
  const history = Object.fromEntries(
    Object.entries(keepsAll).map(([kind, all]) => [kind, kept ?? all]),
  ) as unknown as typeof keepsAll
  const store = ChainWriter.openForWriting({ path, history })
  const builder = new DiffBuilder(store)
  /** Once all blocks are older than any reorganisation. */
  const settledBytes = async () => {
    await settle(store, builder)
    while (kept !== undefined && store.cutHistory());
    return stateBytes(path)
  }
  try {
    // Full pages would be split by the first changes, which would count as bytes of those.
    const loading = loadBlocks(size, undefined, blocks === 0 ? 'rows' : 'hashes')
    let costs = await write(store, builder, loading, keysPerSettling)
    const loadedBytes = await settledBytes()
    let bytes = loadedBytes
    if (blocks > 0) {
      costs = await write(store, builder, changeBlocks(size, blocks, changes), Number.POSITIVE_INFINITY)
      bytes = await settledBytes()
    }
    const keys = size.accounts + size.slots
    const cells = [
      `${name}, ${count(keys)} keys${blocks === 0 ? '' : `, ${blocks} blocks of ${count(changes)}`}`,
      kept === undefined ? 'all' : `${kept} block`,
      (loadedBytes / keys).toFixed(0),
      blocks === 0 ? '' : ((bytes - loadedBytes) / costs.changes).toFixed(0),
      ...[costs.rootsCpu, costs.writeCpu, costs.writeWall].map((ms) => (ms / costs.blocks).toFixed(0)),
      count(statSync(path).size / 1e6),
    ]
    return { cells, blocksPerSecond: (1_000 * costs.blocks) / costs.writeWall }
  } finally {
    await store.close()
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Applies blocks, and settles after so many changes, which does not count. Sums, in ms; CPU time of all threads. */
async function write(
  store: ChainWriter,
  builder: DiffBuilder,
  source: Iterable<readonly AccountChange[]>,
  changesPerSettling: number,
) {
  const sum = { blocks: 0, changes: 0, rootsCpu: 0, writeCpu: 0, writeWall: 0 }
  const timed = async (work: () => Promise<void>) => {
    const [cpu, ms] = [cpuMs(), performance.now()]
    await work()
    sum.writeCpu += cpuMs() - cpu
    sum.writeWall += performance.now() - ms
  }
  let settled = 0
  for (const changes of source) {
    const cpu = cpuMs()
    const blockDiff = builder.next(changes)
    sum.rootsCpu += cpuMs() - cpu
    await timed(async () => {
      store.beginBatch()
      store.apply(store.head.number, [blockDiff])
      if (store.heldRows >= rowsPerCommit) await store.commitBatch()
    })
    sum.blocks++
    for (const { slots } of changes) sum.changes += Math.max(1, slots.length)
    if (sum.changes - settled < changesPerSettling) continue
    await settle(store, builder)
    settled = sum.changes
  }
  await timed(() => store.commitBatch())
  return sum
}

/** Blocks of `count` changes: random keys of a state, each once, in the proportion of its accounts and slots. */
function* changeBlocks(size: StateSize, blocks: number, count: number): Generator<AccountChange[]> {
  for (let serial = 0; serial < blocks; serial++) {
    const random = randomFrom(serial + 1)
    const keys = new Set<number>()
    while (keys.size < count) keys.add(random(size.accounts + size.slots))
    const accounts: AccountChange[] = []
    const slots = new Map<number, Change[]>()
    let value = serial * count
    for (const key of keys) {
      value++
      if (key < size.accounts) {
        const balance = 10n ** 18n + BigInt(value) * 10n ** 9n
        accounts.push({ address: accountAddress(key), balance, slots: [] })
        continue
      }
      const slot = key - size.accounts
      const own = slots.get(contractOf(slot)) ?? []
      slots.set(contractOf(slot), own)
      own.push([slotOf(slot), amountOf(value)])
    }
    yield [...accounts, ...Array.from(slots, ([at, own]) => ({ address: contractAddress(at), slots: own }))]
  }
}

/** Tables whose rows do not depend on how much blocks change. */
const ofBlocks: readonly string[] = ['blocks', 'numbers', 'bodies', 'receipts', 'meta']

/** Bytes of the pages of all other tables: of the state, the tries, and their past. */
export function stateBytes(path: string): number {
  const binary = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const
  const options = { path, noSubdir: true, readOnly: true, maxDbs: 32, mapSize: 2 ** 40, ...binary }
  const environment = open<Uint8Array, Uint8Array>(options)
  try {
    let pages = 0
    // All first: no table can be opened while they are listed.
    for (const key of [...environment.getKeys()]) {
      const name = Buffer.from(key).toString().replace(/\0$/, '')
      if (ofBlocks.includes(name)) continue
      const stats = environment.openDB<Uint8Array, Uint8Array>({ name, ...binary })?.getStats() ?? {}
      for (const kind of ['treeBranchPageCount', 'treeLeafPageCount', 'overflowPages'])
        pages += Number((stats as Readonly<Record<string, number>>)[kind] ?? 0)
    }
    return pages * pageBytes
  } finally {
    void environment.close()
  }
}

const count = (value: number): string => Math.round(value).toLocaleString('en')
