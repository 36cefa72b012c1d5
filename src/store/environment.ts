import { mkdirSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { OperatorError } from '../primitives/faults.js'
import { assertLmdbFile } from './lmdbFile.js'

/** A table: byte keys in ascending byte order → byte values. */
export type Table = Database<Uint8Array, Uint8Array>

/**
 * Address space reserved for one store, 1 TiB. It costs nothing until used, and a map that never has to grow is
 * never remapped under a reader.
 */
export const mapBytesDefault = 2 ** 40

/**
 * Reader slots of one store. Each thread of each process that reads takes one: edges, pool workers, `verify`
 * beside a server. LMDB's own default of 126 is within reach of a large pool; 1,024 slots cost 64 KiB.
 */
const readersMax = 1024

/** Named tables of one environment; LMDB fixes the number when it opens. */
const tablesMax = 32

export interface EnvironmentOptions {
  /** The database file; its lock file stands beside it. */
  readonly path: string
  readonly readOnly: boolean
  /** Bytes of address space; {@link mapBytesDefault} unless a test wants a full store. */
  readonly mapBytes?: number
}

/**
 * Opens an LMDB environment, creating its folder when writing. `overlappingSync` is off: with it a commit whose
 * flush failed stays visible to readers, without it the write is rejected and invisible. `eventTurnBatching` is off:
 * it rejects a promise that nobody holds when a commit fails, which ends the process. Throws OperatorError where the
 * file is missing, unreadable or not LMDB's.
 */
export function openEnvironment({
  path,
  readOnly,
  mapBytes = mapBytesDefault,
}: EnvironmentOptions): RootDatabase {
  assertLmdbFile(path)
  try {
    if (!readOnly) mkdirSync(dirname(path), { recursive: true })
    return open({
      path,
      noSubdir: true,
      readOnly,
      mapSize: mapBytes,
      maxReaders: readersMax,
      maxDbs: tablesMax,
      overlappingSync: false,
      eventTurnBatching: false,
      encoding: 'binary',
      keyEncoding: 'binary',
      cache: false,
    })
  } catch (error) {
    throw new OperatorError(
      `cannot open the store ${path}: ${errorText(error)}; check the path, its permissions and the free disk space`,
    )
  }
}

/** Opens a table of an environment. A reader gets undefined for a table that no writer has made yet. */
export function openTable(environment: RootDatabase, name: string): Table | undefined {
  return environment.openDB<Uint8Array, Uint8Array>({
    name,
    encoding: 'binary',
    keyEncoding: 'binary',
    cache: false,
  })
}

/**
 * Runs `write` in one transaction and returns once it is on disk. If it throws, nothing of it remains. A full
 * disk or map becomes an OperatorError that says so.
 */
export function commitSync<T>(environment: RootDatabase, path: string, write: () => T): T {
  try {
    return environment.transactionSync(write)
  } catch (error) {
    throw toStoreError(error, path)
  }
}

/** Free bytes below which a disk counts as full: the write that found it so took what there was. */
const fullBelowBytes = 2 ** 20

/** What a failed commit comes to: an OperatorError where the disk or the map is at fault, else the error itself. */
export function toStoreError(error: unknown, path: string): Error {
  const text = errorText(error)
  if (/MDB_MAP_FULL/.test(text)) {
    return new OperatorError(
      `the store ${path} has reached its map size; raise "store.mapBytes" and start again`,
    )
  }
  // A write that the end of the disk cut short is an input/output error to LMDB.
  const isWriteError = /EIO|Input\/output error/i.test(text)
  if (/ENOSPC|No space left/i.test(text) || (isWriteError && freeBytes(path) < fullBelowBytes)) {
    return new OperatorError(`the disk that holds ${path} is full; free some space and start again`)
  }
  if (isWriteError) {
    return new OperatorError(`the disk that holds ${path} failed a write (${text}); check that disk`)
  }
  return error instanceof Error ? error : new Error(text)
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
