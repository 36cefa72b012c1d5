/**
 * Who writes a store. A lock is a file that names its holder, and a socket beside it on which the holder listens as
 * long as it lives: the kernel closes it with the process, whatever ends that. So a lock is held if and only if its
 * socket can be connected to, also from other containers, where neither process ids nor host names tell anything, and
 * by a holder that is stopped or busy. It says nothing about other machines, as LMDB itself does not.
 *
 * What else the kernel would release was rejected: Node.js has no flock; the mutex that a write transaction of LMDB
 * holds can be waited for and not tried; abstract sockets and ports end at a container's network.
 */
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OperatorError } from '../primitives/faults.js'

/** Held while a process writes a store. LMDB alone would let a second writer wait and then interleave its blocks. */
export interface WriterLock {
  release(): void
}

/**
 * Takes the lock file beside `storePath`: `<pid> <host> <id>`. A lock whose process is gone is taken over. Throws
 * OperatorError, naming the holder, where it lives. Where there is a lock, this takes as long as a process to start.
 */
export function lockForWriting(storePath: string): WriterLock {
  const path = `${storePath}.writer`
  mkdirSync(dirname(path), { recursive: true })
  const taken = take(path)
  if (typeof taken !== 'string') return taken
  const [pid, host] = taken.trim().split(' ')
  const where = host === hostname() ? '' : ` on ${host}`
  throw new OperatorError(
    `the store ${storePath} is being written by process ${pid}${where}; stop that process or use another data folder`,
  )
}

/** The lock, or what its living holder wrote into it. */
function take(path: string): WriterLock | string {
  const id = randomBytes(8).toString('hex')
  const mine = `${process.pid} ${hostname()} ${id}\n`
  const stopListening = listen(socketOf(path, id))
  // Written under a name of its own and then linked, so that nobody ever reads half a lock.
  const draft = `${path}.${id}`
  writeFileSync(draft, mine, { flag: 'wx' })
  let isTaken = false
  try {
    for (;;) {
      try {
        linkSync(draft, path)
        isTaken = true
        return {
          release() {
            if (readIfThere(path) === mine) unlinkIfThere(path)
            stopListening()
          },
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = readIfThere(path)
      if (holder === undefined) continue
      if (isAlive(path, holder)) return holder
      const rival = removeStale(path, holder)
      if (rival !== undefined) return rival
    }
  } finally {
    unlinkIfThere(draft)
    if (!isTaken) stopListening()
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
    if (readIfThere(path) === stale) {
      unlinkIfThere(socketOf(path, idOf(stale)))
      unlinkIfThere(path)
    }
    return undefined
  } finally {
    turn.release()
  }
}

function idOf(holder: string): string {
  return /[0-9a-f]{16}$/.exec(holder.trim())?.[0] ?? ''
}

const isWindows = process.platform === 'win32'

function socketOf(path: string, id: string): string {
  return isWindows ? `\\\\.\\pipe\\tidegate-${id}` : `${path}.${id}.alive`
}

/** Bytes of a socket's path that every system takes; Linux takes 107. */
const socketPathBytesMax = 103

/** Listens on a socket, which is no reason for the thread to live on; returns what ends that and removes it. */
function listen(path: string): () => void {
  const folder = folderOf(path)
  const server = createServer((connection) => connection.destroy())
  server.on('error', () => undefined)
  // Binding a path is done when this returns; only the event comes later.
  server.listen(shortened(path, folder))
  server.unref()
  const stop = () => {
    server.close()
    if (folder !== undefined) closeSync(folder)
  }
  if (server.listening) return stop
  stop()
  throw new OperatorError(
    `cannot make the socket ${path}; check the folder's permissions and its file system, or choose a shorter data folder`,
  )
}

/** The folder, opened, of a path that is too long for a socket, on Linux, which has other names for what is open. */
function folderOf(path: string): number | undefined {
  const isLong = !isWindows && Buffer.byteLength(path) > socketPathBytesMax
  return isLong && process.platform === 'linux' ? openSync(dirname(path), 'r') : undefined
}

function shortened(path: string, folder: number | undefined): string {
  return folder === undefined ? path : `/proc/self/fd/${folder}/${basename(path)}`
}

const connectPath = fileURLToPath(new URL('./connectToHolder.js', import.meta.url))

/** Whether the holder listens. Asked by another process, because connecting takes turns of the event loop. */
function isAlive(path: string, holder: string): boolean {
  const socket = socketOf(path, idOf(holder))
  const folder = folderOf(socket)
  try {
    const stdio = ['ignore', 'ignore', 'ignore', folder ?? 'ignore'] as const
    const name = folder === undefined ? socket : shortened(socket, 3)
    const { status } = spawnSync(process.execPath, [connectPath, name], { stdio: [...stdio] })
    // Whatever else went wrong, the holder may be there.
    return status !== nobodyListens
  } finally {
    if (folder !== undefined) closeSync(folder)
  }
}

/** Status with which `connectToHolder.ts` ends where nobody listens. */
export const nobodyListens = 3

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
