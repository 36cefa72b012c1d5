// @shares
/** The process that reads a whole store accepts a sound one, with any history, and refuses a damaged one. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openEnvironment, openTable } from '../../../../src/data/store/lmdb/environment.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { archivedConfig, makeBlocks, writeArchive } from '../../../ingest/eraArchives.js'
import { makeFolder, writeInto } from '../../../library/folder.js'
import { copyDemoStore, runProgram, storePathOf } from '../../../service/program.js'
import { mapBytes, rowKey, tableNames, writeShrunkStore, writeTables } from '../../../store/shrunkStore.js'

const pageBytes = 4096

/** The output of the process, and its exit status; null if a signal ended it. */
function walk(path: string): { readonly err: string; readonly status: number | null } {
  const words = [join(packageRoot(), 'dist/src/data/store/lmdb/walkStore.js'), path, String(mapBytes)]
  const { stderr, status } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  return { err: stderr, status }
}

const sound = { err: '', status: 0 }

async function readRows(path: string, readOnly: boolean): Promise<unknown[]> {
  const environment = openEnvironment({ path, readOnly, mapBytes })
  const rows = tableNames.map((name) => openTable(environment, name)?.get(rowKey(0)))
  await environment.close()
  return rows
}

const expectedRows = tableNames.map(() => Buffer.alloc(3_000, 9))

t.test('a sound store passes, with or without its lock file, open or not', async (t) => {
  const folder = makeFolder(t)
  const empty = join(folder, 'empty.mdb')
  await openEnvironment({ path: empty, readOnly: false, mapBytes }).close()
  const shrunk = join(folder, 'shrunk.mdb')
  await writeShrunkStore(shrunk)
  const config = { config: archivedConfig, difficulty: '0x1', gasLimit: '0x1', alloc: {} }
  const archive = join(folder, 'old-00001-aaaaaaaa.era1')
  writeArchive(archive, makeBlocks(30, 8_192))
  const words = ['--network', 'old', '--genesis', writeInto(folder, 'genesis.json', config)]
  const { status, err } = await runProgram(['import', ...words, '--data', folder, archive])
  t.equal(status, 0, err)
  for (const path of [empty, shrunk, copyDemoStore(folder, 'demo'), storePathOf(folder, 'old')]) {
    t.strictSame(walk(path), sound, path)
    t.strictSame(walk(path), sound, `${path} again`)
    const copy = join(folder, 'copy.mdb')
    copyFileSync(path, copy)
    rmSync(`${copy}-lock`, { force: true })
    t.strictSame(walk(copy), sound, `a copy of ${path}`)
    const environment = openEnvironment({ path, readOnly: true, mapBytes })
    t.strictSame(walk(path), sound, `${path} while it is open`)
    await environment.close()
  }
})

t.test('a store that lacks nothing but free pages at its end is read, written and read again', async (t) => {
  const path = join(makeFolder(t), 'store.mdb')
  await writeShrunkStore(path)
  const pages = statSync(path).size / pageBytes
  t.ok(pages > 1_000, `${pages} pages`)
  truncateSync(path, 100 * pageBytes)
  rmSync(`${path}-lock`)
  t.strictSame(walk(path), sound)
  rmSync(`${path}-lock`)
  t.strictSame(await readRows(path, true), expectedRows)
  const { size, blocks } = statSync(`${path}-lock`)
  t.ok(blocks * 512 >= size, 'the lock file has its room on the disk')
  await writeTables(path, (table) => {
    for (let row = 1; row < 500; row++) table.putSync(rowKey(row), new Uint8Array(3_000).fill(row))
  })
  t.strictSame(await readRows(path, false), expectedRows)
  t.strictSame(walk(path), sound, 'and it has grown again')
})

t.test('a store that lacks a page in use does not pass', async (t) => {
  const path = join(makeFolder(t), 'store.mdb')
  await writeShrunkStore(path)
  truncateSync(path, 10 * pageBytes)
  t.not(walk(path).status, 0)
})
