import { mkdirSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { briefCopy } from '../primitives/briefCopy.js'
import { OperatorError } from '../primitives/faults.js'
import { assertLmdbFile, makeLockFile } from './lmdbFile.js'
import type { ReadTable } from './readTable.js'

/** A table: byte keys in ascending byte order → byte values. */
export type Table = Database<Uint8Array, Uint8Array> & Pick<ReadTable, 'getBrief'>

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
 * file is missing, unreadable, cut short or not LMDB's, and where a writer finds the disk full.
 */
export function openEnvironment({
  path,
  readOnly,
  mapBytes = mapBytesDefault,
}: EnvironmentOptions): RootDatabase {
  assertLmdbFile(path)
  try {
    if (!readOnly) {
      mkdirSync(dirname(path), { recursive: true })
      assertRoom(path)
    }
    makeLockFile(path)
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
    if (error instanceof OperatorError) throw error
    throw new OperatorError(
      `cannot open the store ${path}: ${errorText(error)}; check the path, its permissions and the free disk space`,
    )
  }
}

/** Opens a table of an environment. A reader gets undefined for a table that no writer has made yet. */
export function openTable(environment: RootDatabase, name: string): Table | undefined {
  const table: Database<Uint8Array, Uint8Array> | undefined = environment.openDB({
    name,
    encoding: 'binary',
    keyEncoding: 'binary',
    cache: false,
  })
  if (table === undefined) return undefined
  return Object.assign(table, {
    getBrief(key: Uint8Array, bytesMax = Number.POSITIVE_INFINITY) {
      // In memory of lmdb's own, until its next read.
      const value = table.getBinaryFast(key)
      return value && briefCopy(value, Math.min(value.length, bytesMax))
    },
  })
}

/**
 * A commit that failed; nothing of it is stored. Where that `isLasting`, the environment is of no use any more: after
 * a failed write of its meta page LMDB refuses even reads, in every thread of the process, and lmdb neither settles
 * later writes nor closes. It cannot be opened anew either while a thread has it open. So the process ends, and the
 * next one gets on with the store as it was before that commit.
 */
export class StoreError extends OperatorError {
  override readonly name = 'StoreError'
  constructor(
    message: string,
    readonly isLasting: boolean,
  ) {
    super(message)
  }
}

const broken = new WeakSet<RootDatabase>()

/**
 * Runs `write` in one transaction and returns once it is on disk. If it throws, nothing of it remains. Throws
 * StoreError where the transaction could not be written.
 */
export function commitSync<T>(environment: RootDatabase, path: string, write: () => T): T {
  assertRoom(path)
  try {
    return environment.transactionSync(write)
  } catch (error) {
    throw toStoreError(error, environment, path) ?? error
  }
}

/** Closes an environment; one that is broken is left to the end of the process. */
export async function closeEnvironment(environment: RootDatabase): Promise<void> {
  if (!broken.has(environment)) await environment.close()
}

/**
 * Free bytes without which nothing is written: more than one transaction takes. A disk must not be found full in the
 * middle of one, because lmdb 3.5.6 answers a failed write of a page with a message that is longer than the memory
 * that it takes for it (`last_error` in mdb.c), and what then happens in the process is open.
 */
export const freeBytesMin = 64 * 2 ** 20

/** Throws StoreError, which does not last, where the disk is full. Costs 5 µs; call it before a transaction begins. */
export function assertRoom(path: string): void {
  const { bavail, bsize } = statfsSync(dirname(path))
  if (bavail * bsize < freeBytesMin) throw fullDisk(path, false)
}

function fullDisk(path: string, isLasting: boolean): StoreError {
  const message = `the disk that holds ${path} is full; free some space, ${freeBytesMin / 2 ** 20} MiB at least, and start again`
  return new StoreError(message, isLasting)
}

/** What a failed commit comes to; undefined where it is not the store that is at fault. */
export function toStoreError(
  error: unknown,
  environment: RootDatabase,
  path: string,
): StoreError | undefined {
  const text = errorText(error)
  if (/MDB_MAP_FULL/.test(text)) {
    return new StoreError(
      `the store ${path} has reached its map size; raise "store.mapBytes" and start again`,
      false,
    )
  }
  // A write that the end of the disk cut short is an input/output error to LMDB.
  const isWriteError = /EIO|Input\/output error/i.test(text)
  if (/ENOSPC|EDQUOT|No space left|quota exceeded/i.test(text)) {
    broken.add(environment)
    return fullDisk(path, true)
  }
  const isDamaged = /MDB_(CORRUPTED|PAGE_NOTFOUND)/.test(text)
  if (!isWriteError && !isDamaged && !/MDB_PANIC/.test(text)) return undefined
  broken.add(environment)
  return new StoreError(
    isDamaged
      ? `the store ${path} is damaged (${text}); restore a copy, or make it anew`
      : `the disk that holds ${path} failed a write (${text.split(':')[0]}); check that disk`,
    true,
  )
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
