import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { noBytes } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { isThere, makeFolder } from '../../../primitives/files.js'
import { briefSlab } from '../../../primitives/slab.js'
import type { ReadTable } from '../readTable.js'
import { assertAddressSpace } from './addressSpace.js'
import { assertLmdbFile, makeLockFile } from './lmdbFile.js'
import { assertPidIsFree, pidTaken } from './readerPids.js'

/** A table: byte keys in ascending byte order → byte values. */
export type Table = Database<Uint8Array, Uint8Array> & Pick<ReadTable, 'getBrief' | 'viewUntilNextRead'>

/**
 * Address space reserved for one store, 1 TiB. It takes no memory until used, and a map that never grows is never
 * remapped while it is read.
 */
export const mapBytesDefault = 2 ** 40

/**
 * Reader slots of one store. Each reading thread of each process takes one: edges, pool threads, `verify`. A large pool
 * could exceed LMDB's default of 126; 1,024 slots take 64 KiB.
 */
const readersMax = 1024

/** Named tables of one environment; LMDB fixes the number when it opens. */
const tablesMax = 32

export interface EnvironmentOptions {
  /** The database file; its lock file is in the same folder. */
  readonly path: string
  readonly readOnly: boolean
  /** Bytes of address space; default {@link mapBytesDefault}. */
  readonly mapBytes?: number
  /** Whether commits become visible before they are on disk: for copies of data that is stored elsewhere. */
  readonly isCopy?: boolean
  /**
   * Whether the folder is removed at the end of the process. Then commits do not wait for the disk: they outlive the
   * process, but not the system.
   */
  readonly isTemporary?: boolean
}

/**
 * Time between two checks of a writer for dead readers. Each of them blocks the reuse of all pages of its snapshot, so
 * that the store grows by every commit. A check takes some microseconds.
 */
const readerCheckMs = 2_000

/** Time of a writer's last check. */
const checkedMs = new WeakMap<RootDatabase, number>()

/** Frees the slots of dead readers, unless that was done lately. Called between two transactions. */
function freeDeadReaders(environment: RootDatabase): void {
  const nowMs = performance.now()
  if (nowMs - (checkedMs.get(environment) ?? Number.NEGATIVE_INFINITY) < readerCheckMs) return
  checkedMs.set(environment, nowMs)
  environment.readerCheck()
}

/** Number of snapshots that the reads of an environment have begun in this thread. */
interface Snapshots {
  begun: number
}

const snapshots = new WeakMap<RootDatabase, Snapshots>()

/** The snapshots of a reader. A writer has none, because pending writes are in no snapshot. */
export function snapshotsOf(environment: RootDatabase): Readonly<Snapshots> | undefined {
  return writablePaths.has(environment) ? undefined : snapshots.get(environment)
}

/** Paths of the environments that are open for writing. */
const writablePaths = new WeakMap<RootDatabase, string>()

/**
 * Opens an LMDB environment, creating its folder when writing. `overlappingSync` is only on for a copy, because with it
 * a commit whose flush failed stays visible to readers. `eventTurnBatching` is off, because with it a failed commit
 * rejects a promise that no code can handle, which ends the process. An existing store opens for writing also on a full
 * disk: it can be read, and written once there is room. Throws OperatorError if the file is missing, unreadable,
 * truncated or not LMDB's, or if the address space is too small. It also throws if a process of another container reads
 * the file under the same pid. Throws StoreError if the file has to be created and the disk is full.
 */
export function openEnvironment({
  path,
  readOnly,
  mapBytes = mapBytesDefault,
  isCopy = false,
  isTemporary = false,
}: EnvironmentOptions): RootDatabase {
  try {
    assertAddressSpace(path, mapBytes)
    assertLmdbFile(path, mapBytes)
    if (!readOnly) {
      makeFolder(dirname(path))
      if (!isThere(path)) assertRoom(path)
    }
    makeLockFile(path)
    assertPidIsFree(path, mapBytes)
    const environment = open({
      path,
      noSubdir: true,
      readOnly,
      mapSize: mapBytes,
      maxReaders: readersMax,
      maxDbs: tablesMax,
      overlappingSync: isCopy,
      noSync: isTemporary,
      eventTurnBatching: false,
      encoding: 'binary',
      keyEncoding: 'binary',
      cache: false,
    })
    if (!readOnly) writablePaths.set(environment, path)
    return environment
  } catch (error) {
    if (error instanceof OperatorError) throw error
    if (isFullDisk(error)) throw fullDisk(path, false)
    // The other process began to read after the check.
    if (/No transaction to renew/.test(errorText(error))) throw pidTaken(path)
    throw new OperatorError(
      `cannot open the store ${path}: ${errorText(error)}; check the path, its permissions and the free disk space`,
    )
  }
}

/**
 * Opens a table; a writer creates a missing one. Undefined for a reader if no writer has created it yet. Throws
 * StoreError if it has to be created and the disk is full.
 */
export function openTable(environment: RootDatabase, name: string): Table | undefined {
  const open = (create: boolean): Database<Uint8Array, Uint8Array> | undefined => {
    const options = { name, encoding: 'binary', keyEncoding: 'binary', cache: false, create } as const
    return environment.openDB(options)
  }
  let table = open(false)
  const path = writablePaths.get(environment)
  if (table === undefined && path !== undefined) {
    assertRoom(path)
    table = open(true)
  }
  if (table === undefined) return undefined
  const begun = snapshots.get(environment) ?? { begun: 0 }
  snapshots.set(environment, begun)
  // Emitted before the first read of a snapshot; lmdb emits no event at its end.
  emitterOf(table).addListener('begin-transaction', () => begun.begun++)
  /** lmdb's own memory, the same for all reads until a longer row comes; asking a view for its memory is a V8 call. */
  let lent: Uint8Array | undefined
  let memory: ArrayBufferLike = noBytes.buffer
  let offset = 0
  return Object.assign(table, {
    getBrief(key: Uint8Array, bytesMax = Number.POSITIVE_INFINITY) {
      // `value` is in lmdb's own memory, valid until its next read.
      const value = table.getBinaryFast(key)
      return value && briefSlab.copy(value, Math.min(value.length, bytesMax))
    },
    viewUntilNextRead(key: Uint8Array) {
      const value = table.getBinaryFast(key)
      if (value === undefined) return undefined
      if (value !== lent) {
        lent = value
        memory = value.buffer
        offset = value.byteOffset
      }
      // lmdb sets `length` on one Buffer that it reuses; a view of ours has a fixed length.
      return new Uint8Array(memory, offset, value.length)
    },
  })
}

/** The package's types lack this event, and its `on` accepts only typed events. */
function emitterOf(table: object): { addListener(event: 'begin-transaction', listener: () => void): void } {
  return table as never
}

/**
 * A commit failed, and nothing of it is stored. If `isLasting`, the environment cannot be used any more. After a failed
 * write of its meta page, LMDB refuses even reads, in every thread of the process. The package lmdb then neither
 * settles later writes nor closes. It cannot be reopened while a thread has it open. So the process must end; the next
 * one finds the store as it was before that commit.
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
 * StoreError if the transaction could not be written.
 */
export function commitSync<T>(environment: RootDatabase, path: string, write: () => T): T {
  assertRoom(path)
  freeDeadReaders(environment)
  try {
    return environment.transactionSync(write)
  } catch (error) {
    throw toStoreError(error, environment, path) ?? error
  }
}

/**
 * Runs `write`, whose puts and removals another thread executes in one transaction. Settles once that is on disk. If it
 * rejects, with StoreError, nothing of it is stored. Values that are put must not change until then.
 */
export async function commitBatch(environment: RootDatabase, path: string, write: () => void): Promise<void> {
  await settled(environment, path, () => environment.batch(write))
}

/**
 * Like {@link commitBatch}, but `write` runs in this thread, in a later turn of the event loop, within a transaction of
 * its own.
 */
export async function commitLater(environment: RootDatabase, path: string, write: () => void): Promise<void> {
  await settled(environment, path, () => environment.childTransaction(write))
}

async function settled(
  environment: RootDatabase,
  path: string,
  begin: () => Promise<unknown>,
): Promise<void> {
  assertRoom(path)
  freeDeadReaders(environment)
  try {
    await begin()
  } catch (error) {
    const cause = await causeOf(error)
    throw toStoreError(cause, environment, path) ?? failedCommit(path, cause)
  }
  environment.resetReadTxn()
}

/** The fault of a commit that failed for an unknown reason. */
export function failedCommit(path: string, cause: unknown): StoreError {
  return new StoreError(`the store ${path} failed a commit: ${errorText(cause)}`, true)
}

/** lmdb-js rejects with an error that contains a promise, which is rejected with the cause. */
export async function causeOf(error: unknown): Promise<unknown> {
  try {
    return (await (error as { commitError?: Promise<never> }).commitError) ?? error
  } catch (cause) {
    return cause
  }
}

/** Closes an environment, unless it is broken: that one is left open until the process ends. */
export async function closeEnvironment(environment: RootDatabase): Promise<void> {
  if (!broken.has(environment)) await environment.close()
}

/**
 * Free disk space below which nothing is written: more than a transaction of some blocks takes. A genesis, or many
 * blocks at once, may take more. The disk should not become full within a transaction. After a failed page write, lmdb
 * 3.5.6 writes an error message beyond the end of its buffer (`last_error` in mdb.c).
 */
export const freeBytesMin = 64 * 2 ** 20

/** Throws StoreError (not `isLasting`) if the disk is full. Call it before a transaction begins. */
export function assertRoom(path: string): void {
  if (!hasRoom(path)) throw fullDisk(path, false)
}

/** Whether the disk of a store has room for a transaction. */
export function hasRoom(path: string): boolean {
  return freeBytesAt(path) >= freeBytesMin
}

/** Free bytes on the disk of a store, whose folder exists. */
export function freeBytesAt(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize
}

/** Whether the disk is full after a failed write; false if a failing disk cannot report it. */
function isFilled(path: string): boolean {
  try {
    return !hasRoom(path)
  } catch {
    return false
  }
}

export function fullDisk(path: string, isLasting: boolean): StoreError {
  const message = `the disk that holds ${path} is full; free some space, ${freeBytesMin / 2 ** 20} MiB at least`
  return new StoreError(message, isLasting)
}

/** Whether a call of the file system or of LMDB failed for lack of space. */
export function isFullDisk(error: unknown): boolean {
  return /ENOSPC|EDQUOT|No space left|quota exceeded/i.test(errorText(error))
}

/** The StoreError of a failed commit; undefined if the store is not the cause. */
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
  const isWriteError = /EIO|Input\/output error/i.test(text)
  // LMDB reports a write that was cut short by a full disk as an input/output error.
  if (isFullDisk(error) || (isWriteError && isFilled(path))) {
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

/** Number of threads, of any process, with a reader slot of the store; each open store of a thread takes one. */
export function countReaders(environment: RootDatabase): number {
  return environment.readerList().match(/^\s*\d+ /gm)?.length ?? 0
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
