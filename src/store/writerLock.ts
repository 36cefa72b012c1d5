import { createHash, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { OperatorError } from '../primitives/faults.js'

/** Held while a process writes a store. LMDB alone would let a second writer wait and then interleave its blocks. */
export interface WriterLock {
  release(): void
}

/**
 * Takes the lock file beside `storePath`: `<pid> <start time> <host> <random>`. A lock whose process is gone (killed,
 * machine restarted) is taken over. Throws OperatorError, naming the holder, where it lives.
 */
export function lockForWriting(storePath: string): WriterLock {
  const path = `${storePath}.writer`
  mkdirSync(dirname(path), { recursive: true })
  const taken = take(path)
  if (typeof taken !== 'string') return taken
  const [pid, , host] = taken.trim().split(' ')
  throw new OperatorError(
    host === hostname()
      ? `the store ${storePath} is being written by process ${pid}; stop that process or use another data folder`
      : `the store ${storePath} is being written by process ${pid} on ${host}; stop that process, or delete ${path} if it is gone`,
  )
}

/** The lock, or what its living holder wrote into it. */
function take(path: string): WriterLock | string {
  const id = randomBytes(8).toString('hex')
  const mine = `${process.pid} ${startTime(process.pid) ?? 0} ${hostname()} ${id}\n`
  // Written under a name of its own and then linked, so that nobody ever reads half a lock.
  const draft = `${path}.${id}`
  writeFileSync(draft, mine, { flag: 'wx' })
  try {
    for (;;) {
      try {
        linkSync(draft, path)
        return { release: () => releaseIfMine(path, mine) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = readIfThere(path)
      if (holder === undefined) continue
      if (isAlive(holder)) return holder
      const rival = removeStale(path, holder)
      if (rival !== undefined) return rival
    }
  } finally {
    unlinkIfThere(draft)
  }
}

/**
 * Removes a lock whose holder is gone. Two processes may find it at once, and the slower must not remove what the
 * faster has put in its place: only who holds a lock named after the stale content may remove that content. Returns
 * the rival who does so at this moment.
 */
function removeStale(path: string, stale: string): string | undefined {
  const digest = createHash('sha256').update(stale).digest('hex').slice(0, 16)
  const turn = take(`${path}.${digest}`)
  if (typeof turn === 'string') return turn
  try {
    if (readIfThere(path) === stale) unlinkIfThere(path)
    return undefined
  } finally {
    turn.release()
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
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
