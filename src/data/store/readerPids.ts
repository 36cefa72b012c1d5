/**
 * Whether this process may read a store beside the others. LMDB knows a reader that lives by a lock on the byte of the
 * lock file that its pid numbers. Two containers that share a folder have processes with the same pid, mostly 1: the
 * second cannot lock that byte, tries for ten seconds, and then cannot read. So it is looked for before that.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { OperatorError } from '../../primitives/faults.js'
import { runHelper } from '../../primitives/helperProcess.js'
import { readersStatus } from './helperStatus.js'

/** Before the reader slots (`MDB_txninfo`): two lines of the processor's cache at least. */
const headerBytes = 128
/** A pid stands at a multiple of this in the lock file. */
const alignedBytes = 8
/** LMDB's file for 1,024 readers has 66 KB. */
const lockFileBytesMax = 2 ** 24
/** A process that starts and looks takes a tenth of a second; one whose own pid is taken would wait ten. */
const lookMsMax = 5_000

/**
 * Throws OperatorError where a process that lives, and that this one cannot see, reads the store under the pid of this
 * one. Slots that a dead process left under this pid are freed: LMDB frees all but those, and they keep a store from
 * using pages again. Called before the store is opened; only systems with namespaces of pids have such processes.
 */
export function assertPidIsFree(path: string, mapBytes: number): void {
  const lock = `${path}-lock`
  // A store that is being made has no readers yet.
  const hasRows = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (process.platform !== 'linux' || !hasRows || !existsSync(lock)) return
  if (isOpenHere(lock) || !mayHaveSlot(lock)) return
  const words = [path, String(mapBytes), String(process.pid)]
  const { status, account } = runHelper('clearReaders', words, { timeout: lookMsMax })
  // Another thread of this process may have opened it meanwhile, and the slot be its own.
  if (status === readersStatus.pidIsFree || isOpenHere(lock)) return
  if (status === readersStatus.pidIsTaken) throw pidTaken(path)
  throw new OperatorError(`cannot find out who reads the store ${path} (${account})`)
}

/** For the process whose pid another reader has. */
export function pidTaken(path: string): OperatorError {
  return new OperatorError(
    `the store ${path} is being read by another process whose pid is ${process.pid} too, as in two containers that share a folder; run this in the container of that process (docker exec), let both see one another (--pid=container:NAME), or give this one another pid (--init)`,
  )
}

/** Whether some thread of this process has opened a file. */
function isOpenHere(path: string): boolean {
  const { dev, ino } = statSync(path)
  return readdirSync('/proc/self/fd').some((fd) => {
    const found = statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false })
    return found?.ino === ino && found.dev === dev
  })
}

/**
 * Whether the lock file may have a slot with the pid of this process. Another process reads it: a process that closes a file
 * loses its locks on it, also those of other threads.
 */
function mayHaveSlot(path: string): boolean {
  const { stdout, status } = spawnSync('cat', [path], { maxBuffer: lockFileBytesMax })
  // A system without such programs gets the longer look.
  if (status !== 0) return true
  for (let at = headerBytes; at + alignedBytes <= stdout.length; at += alignedBytes) {
    if (stdout.readUInt32LE(at) === process.pid) return true
  }
  return false
}
