/**
 * The size of a state in the store, loaded through the store's own writer, with the tries of block diffs. Slots are
 * written once, in the order of their rows, many blocks in one transaction, as in an import. All in this process, on
 * one core if it is pinned.
 */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { rowsPerCommit } from '../../src/data/store/lmdb/commitRows.js'
import { DiffBuilder } from '../data/diffBuilder.js'
import { keysPerSettling, loadBlocks, settle } from '../data/syntheticState.js'
import type { SpecialScenario } from './specialScenario.js'

/** Page size of LMDB on all supported systems. */
const pageBytes = 4_096

/** Slots a second on a quiet core, including the time for settling. */
const slotsPerSecond = 20_000

export const stateSize: SpecialScenario = {
  name: 'store',
  title: 'a state of slots in the store',
  seconds: ({ largeSlots }) => 20 + largeSlots / slotsPerSecond,
  async run({ folder, settings: { largeSlots } }) {
    mkdirSync(join(folder, 'store'))
    const path = join(folder, 'store/chain.mdb')
    const store = ChainWriter.openForWriting({ path })
    const builder = new DiffBuilder(store)
    let rootsMs = 0
    let writeMs = 0
    let loaded = 0
    let settled = 0
    const cpuOf = async (work: () => void | Promise<void>) => {
      const before = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    try {
      for (const changes of loadBlocks({ accounts: 0, slotsPerAccount: 0, slots: largeSlots })) {
        let blockDiff: ReturnType<typeof builder.next>
        rootsMs += await cpuOf(() => {
          blockDiff = builder.next(changes)
        })
        writeMs += await cpuOf(async () => {
          store.beginBatch()
          store.apply(store.head.number, [blockDiff])
          if (store.uncommittedRows >= rowsPerCommit) await store.commitBatch()
        })
        for (const { slots } of changes) loaded += slots.length
        if (loaded - settled < keysPerSettling) continue
        await settle(store, builder)
        settled = loaded
      }
      writeMs += await cpuOf(() => store.commitBatch())
      await settle(store, builder)
      const bytes = stateBytes(path)
      const fileBytes = statSync(path).size
      const micros = [rootsMs, writeMs].map((ms) => ((ms * 1_000) / largeSlots).toFixed(1))
      return {
        unit: 'slots a second of CPU',
        own: { rate: (largeSlots * 1_000) / (rootsMs + writeMs), rateSpread: 0 },
        note:
          `${(bytes / largeSlots).toFixed(1)} bytes a slot, with its share of the tries; CPU µs a slot: ` +
          `tries ${micros[0]}, writing ${micros[1]}; file of ${(fileBytes / 1e6).toFixed(0)} MB`,
      }
    } finally {
      await store.close()
    }
  },
}

/** Tables whose rows do not depend on the number of changes in blocks. */
const ofBlocks: readonly string[] = ['blocks', 'numbers', 'bodies', 'receipts', 'meta']

/** Bytes of the pages of all other tables: the state, the tries, and their history. */
export function stateBytes(path: string): number {
  const binary = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const
  const options = { path, noSubdir: true, readOnly: true, maxDbs: 32, mapSize: 2 ** 40, ...binary }
  const environment = open<Uint8Array, Uint8Array>(options)
  try {
    let pages = 0
    // All names first: no table can be opened while they are listed.
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
