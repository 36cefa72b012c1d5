/**
 * The lock for writing a store: a file that names its holder, and a socket next to it. The holder listens on the socket
 * as long as it lives. The operating system closes the socket when the process ends, for any reason. So a lock is taken
 * if and only if its socket accepts connections, even while the holder is stopped or busy. This works across
 * containers, where process ids and host names mean nothing. Like LMDB itself, it does not work across machines.
 *
 * Rejected alternatives: Node.js has no flock. LMDB's write mutex can only be waited for, not tried. Abstract sockets
 * and ports do not cross the network of a container.
 */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, linkSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { basename, dirname } from 'node:path'
import { OperatorError } from '../../../primitives/faults.js'
import { makeFolder } from '../../../primitives/files.js'
import { fullDisk, isFullDisk } from './environment.js'
import { holderStatus, runHelper } from './helperProcess.js'

/** Held while a process writes a store. With LMDB alone a second writer would wait and then interleave its blocks. */
export interface WriterLock {
  release(): void
}

/**
 * Takes the lock file next to `storePath`: `<pid> <host> <time> <id>`, where `<time>` is the start of the process (ISO
 * 8601), because pids are reused. A lock whose process has ended is taken over. Throws OperatorError that names the
 * holder if it is alive, or the reason why that is unknown; StoreError if the disk is full. If there is a lock, this
 * takes as long as starting a process.
 */
export function lockForWriting(storePath: string): WriterLock {
  const path = `${storePath}.writer`
  makeFolder(dirname(path))
  let taken: WriterLock | string
  try {
    taken = take(path)
  } catch (error) {
    throw isFullDisk(error) ? fullDisk(storePath, false) : error
  }
  if (typeof taken !== 'string') return taken
  const [pid, host, ...others] = taken.trim().split(' ')
  const where = host === hostname() ? '' : ` on ${host}`
  // Earlier releases wrote no time.
  const since = others.length > 1 ? `, which was started at ${others[0]}` : ''
  throw new OperatorError(
    `the store ${storePath} is being written by process ${pid}${where}${since}; stop that process or use another data folder`,
  )
}

/** The lock, or the content of the living holder's lock. */
function take(path: string): WriterLock | string {
  const id = randomBytes(8).toString('hex')
  const started = new Date(performance.timeOrigin).toISOString()
  const mine = `${process.pid} ${hostname()} ${started} ${id}\n`
  const stopListening = listen(socketOf(path, id))
  // Written under another name and then linked, so that no process reads half a lock.
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
 * Removes a lock whose holder has ended. Two processes may find it at the same time, and the slower must not remove the
 * new lock of the faster. So only the holder of a lock named after the stale content may remove that content. Returns
 * the rival that holds that lock now, if any.
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

/** Longest path of a socket that every system accepts; Linux accepts 107 bytes. */
const socketPathBytesMax = 103

/** Listens on a socket, without keeping the process alive; returns a function that closes and removes it. */
function listen(path: string): () => void {
  const folder = folderOf(path)
  const server = createServer((connection) => connection.destroy())
  server.on('error', () => undefined)
  // The path is bound when this returns; only the event comes later.
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

/**
 * A descriptor of the folder of a path that is too long for a socket, on Linux, where /proc/self/fd gives it a short
 * name.
 */
function folderOf(path: string): number | undefined {
  const isLong = !isWindows && Buffer.byteLength(path) > socketPathBytesMax
  return isLong && process.platform === 'linux' ? openSync(dirname(path), 'r') : undefined
}

function shortened(path: string, folder: number | undefined): string {
  return folder === undefined ? path : `/proc/self/fd/${folder}/${basename(path)}`
}

/**
 * Whether the holder listens. Another process tries to connect, because connecting is asynchronous. Throws
 * OperatorError if that process gives no answer.
 */
function isAlive(path: string, holder: string): boolean {
  const socket = socketOf(path, idOf(holder))
  const folder = folderOf(socket)
  try {
    const name = folder === undefined ? socket : shortened(socket, 3)
    const { status, account } = runHelper(
      'connectToHolder',
      [name],
      folder === undefined ? {} : { descriptor: folder },
    )
    if (status === holderStatus.listens) return true
    if (status === holderStatus.nobodyListens) return false
    throw new OperatorError(
      `cannot find out whether the process that locked ${path} still runs (${account}); if no process of Tidegate uses that folder, remove ${path}* and start again`,
    )
  } finally {
    if (folder !== undefined) closeSync(folder)
  }
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
