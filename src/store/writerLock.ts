import { closeSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { OperatorError } from '../primitives/faults.js'

/** Held while a process writes a store. LMDB alone would let a second writer wait and then interleave its blocks. */
export interface WriterLock {
  release(): void
}

/**
 * Takes the lock file beside `storePath`: `<pid> <start time> <host>`. A lock whose process is gone (killed,
 * machine restarted) is taken over. Throws OperatorError, naming the holder, where it lives.
 */
export function lockForWriting(storePath: string): WriterLock {
  const path = `${storePath}.writer`
  mkdirSync(dirname(path), { recursive: true })
  const mine = `${process.pid} ${startTime(process.pid) ?? 0} ${hostname()}\n`
  // Written under a name of its own and then linked, so that nobody ever reads half a lock.
  const draft = `${path}.${process.pid}.${Date.now()}`
  const file = openSync(draft, 'wx')
  writeSync(file, mine)
  closeSync(file)
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        linkSync(draft, path)
        return { release: () => releaseIfMine(path, mine) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = readIfThere(path)
      if (holder !== undefined && isAlive(holder)) {
        throw new OperatorError(
          `the store ${storePath} is being written by process ${holder.split(' ')[0]}; stop that process or use another data folder`,
        )
      }
      unlinkIfThere(path)
    }
    throw new OperatorError(
      `the store ${storePath} is being opened by several processes; start one at a time`,
    )
  } finally {
    unlinkIfThere(draft)
  }
}

function isAlive(holder: string): boolean {
  const [pid, started, host] = holder.trim().split(' ')
  if (host !== hostname()) return true
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  // The process id may have been given to another process since.
  const now = startTime(Number(pid))
  return now === undefined || started === '0' || String(now) === started
}

/** Start of a process in clock ticks since boot, where the system tells (Linux). */
function startTime(pid: number): number | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`)
  const field = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  return field === undefined ? undefined : Number(field)
}

function releaseIfMine(path: string, mine: string): void {
  if (readIfThere(path) === mine) unlinkIfThere(path)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
