/**
 * Checks whether this process may read a store beside the others. LMDB recognises a living reader by a lock on the byte
 * of the lock file whose offset is the pid. Two containers that share a folder have processes with the same pid, mostly
 * 1. The second cannot lock that byte, tries for ten seconds, and then cannot read. So this check comes first.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { OperatorError } from '../../../primitives/faults.js'
import { readersStatus, runHelper } from './helperProcess.js'

/** Bytes before the reader slots (`MDB_txninfo`): two cache lines at least. */
const headerBytes = 128
/** A pid is at a multiple of this offset in the lock file. */
const alignedBytes = 8
/** LMDB's file for 1,024 readers has 66 KB. */
const lockFileBytesMax = 2 ** 24
/** A process that starts and checks takes a tenth of a second; one whose own pid is taken would wait ten. */
const lookMsMax = 5_000

/**
 * Throws OperatorError if another living process, in another pid namespace, reads the store under the pid of this one.
 * Frees slots that a dead process left under this pid: LMDB frees all but those, and they keep pages from being reused.
 * Call it before the store is opened. Only systems with pid namespaces have such processes.
 */
export function assertPidIsFree(path: string, mapBytes: number): void {
  const lock = `${path}-lock`
  // A store that is being made has no readers yet.
  const hasRows = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (process.platform !== 'linux' || !hasRows || !existsSync(lock)) return
  if (isOpenHere(lock) || !mayHaveSlot(lock)) return
  const words = [path, String(mapBytes), String(process.pid)]
  const { status, account } = runHelper('clearReaders', words, { timeout: lookMsMax })
  // Another thread of this process may have opened the store meanwhile; then the slot is its own.
  if (status === readersStatus.pidIsFree || isOpenHere(lock)) return
  if (status === readersStatus.pidIsTaken) throw pidTaken(path)
  throw new OperatorError(`cannot find out who reads the store ${path} (${account})`)
}

/** The error of a process whose pid another reader has. */
export function pidTaken(path: string): OperatorError {
  return new OperatorError(
    `the store ${path} is being read by another process whose pid is ${process.pid} too, as in two containers that share a folder; run this in the container of that process (docker exec), let both see one another (--pid=container:NAME), or give this one another pid (--init)`,
  )
}

/** Whether any thread of this process has opened a file. */
function isOpenHere(path: string): boolean {
  const { dev, ino } = statSync(path)
  return readdirSync('/proc/self/fd').some((fd) => {
    const found = statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false })
    return found?.ino === ino && found.dev === dev
  })
}

/**
 * Whether the lock file may have a slot with the pid of this process. Another process reads it, because a process that
 * closes a file loses its locks on it, also those of other threads.
 */
function mayHaveSlot(path: string): boolean {
  const { stdout, status } = spawnSync('cat', [path], { maxBuffer: lockFileBytesMax })
  // A system without `cat` gets the slower check.
  if (status !== 0) return true
  for (let at = headerBytes; at + alignedBytes <= stdout.length; at += alignedBytes) {
    if (stdout.readUInt32LE(at) === process.pid) return true
  }
  return false
}
