/** Stores of version 5 with whatever past, copied in parts. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { ChainReader } from '../../../src/store/chainReader.js'
import type { ChainIdentity } from '../../../src/store/chainRows.js'
import { ChainWriter } from '../../../src/store/chainWriter.js'
import { copyRows, isCopyBegun } from '../../../src/store/copyRows.js'
import { closeEnvironment, openEnvironment, openTable, type Table } from '../../../src/store/environment.js'
import { keepsAll } from '../../../src/store/keptHistory.js'
import { propertyRuns } from '../../library/property.js'
import { content, makeBlockDiff, zeroHash } from '../../store/blockDiffMaker.js'
import { takeBackToAddressKeys } from '../../store/formerLayout.js'
import { dumpStore } from '../../store/storeDump.js'

const mapBytes = 2 ** 28
const identity: ChainIdentity = { chainId: '1', networkId: '1', genesisHash: '0x01', config: '{}' }
const limits = [keepsAll, { state: 2, trie: 2, receipts: 2, bodies: 2 }, { ...keepsAll, trie: 1 }] as const

const input = fc.record({
  blocks: fc.array(content, { minLength: 2, maxLength: 6 }),
  history: fc.constantFrom(...limits),
  bytesPerCommit: fc.integer({ min: 1, max: 2_000 }),
  stops: fc.array(fc.nat(40), { maxLength: 3 }),
  isChangedAt: fc.nat(3),
})

class Stopped extends Error {}

t.test('a copy that is stopped anywhere, and goes on, is the store with all its past', async (t) => {
  const folder = t.testdir()
  let run = 0
  const copies = fc.assert(
    fc.asyncProperty(input, async ({ blocks, history, bytesPerCommit, stops, isChangedAt }) => {
      const path = join(folder, `${run++}.mdb`)
      const newPath = `${path}.new`
      const copy = { path, newPath, mapBytes }
      const writer = ChainWriter.openForWriting({ path, mapBytes, history })
      const genesis = makeBlockDiff(0, zeroHash, blocks[0] as (typeof blocks)[0])
      writer.initialize(identity, genesis)
      for (const [index, each] of blocks.slice(1).entries())
        writer.apply(index, [makeBlockDiff(index + 1, writer.head.hash, each)])
      // Some contracts have numbers and no row that is left.
      if (history === keepsAll) writer.apply(blocks.length - 2, [])
      const whole = dumpStore(writer)
      await writer.close()
      await takeBackToAddressKeys(path)
      for (const [index, stop] of stops.entries()) {
        let left = stop
        const stopped = copyRows(copy, () => left-- === 0 && fail(), bytesPerCommit)
        await stopped.catch((error: unknown) => {
          if (!(error instanceof Stopped)) throw error
        })
        if (left >= 0) rmSync(newPath)
        else if (!(await isCopyBegun(copy))) throw new Error('it is begun')
        if (index === isChangedAt) {
          await touch(path)
          if (await isCopyBegun(copy)) throw new Error('the store has changed since')
          rmSync(newPath, { force: true })
        }
      }
      await copyRows(copy, () => undefined, bytesPerCommit)
      if (await isCopyBegun(copy)) throw new Error('it is whole')
      const reader = ChainReader.open({ path: newPath, mapBytes })
      const faults = [...reader.contractFaults()]
      const got = dumpStore(reader)
      await reader.close()
      if (faults.length > 0) throw new Error(faults.join())
      for (const name of Object.keys(whole) as (keyof typeof whole)[])
        if (JSON.stringify(sorted(got[name])) !== JSON.stringify(sorted(whole[name])))
          throw new Error(`${name} differs`)
    }),
    propertyRuns(40),
  )
  await t.resolves(copies)
})

const sorted = (rows: Readonly<Record<string, string>>) =>
  Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1))

function fail(): never {
  throw new Stopped()
}

/** Commits a transaction that changes nothing. */
async function touch(path: string): Promise<void> {
  const environment = openEnvironment({ path, mapBytes, readOnly: false })
  const meta = openTable(environment, 'meta') as Table
  const head = Buffer.from('head')
  environment.transactionSync(() => meta.putSync(head, meta.getBinary(head) as Uint8Array))
  await closeEnvironment(environment)
}
