/**
 * Entry of a process that reads every row of a store; its exit status is the result (lmdbFile.ts). Opens the file
 * without the checks of lmdbFile.ts, which started this process.
 */
import { open } from 'lmdb'
import { walkStatus } from './helperProcess.js'

/** LMDB's own errors have numbers from here down (`MDB_KEYEXIST`, lmdb.h); those of the system are positive. */
const lmdbErrorMax = -30_700

const [path, mapBytes] = process.argv.slice(2)
if (path === undefined || mapBytes === undefined) {
  throw new Error('this takes the path of a store and the bytes of its map')
}
const binary = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const
const mapSize = Number(mapBytes)

function walk(path: string): void {
  const environment = open({ path, noSubdir: true, readOnly: true, maxDbs: 32, mapSize, ...binary })
  // Opening a table ends the read transaction of this thread, and an open walk would continue in freed memory. So all
  // names are read before the first table is opened, and all tables are opened before the first walk.
  const names = [...environment.getKeys()].map((key) => Buffer.from(key as Uint8Array).toString('utf8'))
  const tables = names.map((name) =>
    environment.openDB<Uint8Array, Uint8Array>({ name: name.replace(/\0$/, ''), ...binary }),
  )
  let bytes = 0
  for (const table of tables) for (const { value } of table.getRange()) bytes += value.length
  if (!Number.isFinite(bytes)) throw new RangeError('values without a length')
}

try {
  walk(path)
} catch (error) {
  const { code } = error as { code?: unknown }
  if (typeof code !== 'number' || code > lmdbErrorMax) throw error
  process.exitCode = walkStatus.damaged
}
