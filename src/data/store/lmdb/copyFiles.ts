/** Copies of files: complete, on disk and measured before they are used. */
import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { OperatorError } from '../../../primitives/faults.js'
import { isThere, makeFolder, namesIn, syncPath } from '../../../primitives/files.js'
import { setInterval } from '../../../primitives/timers.js'
import type { CopyMessage, CopyTask } from './copyProcess.js'
import { errorText, freeBytesMin } from './environment.js'
import { runReadingProcess } from './readingProcess.js'

/** Called with the finished share of a file, from 0 to 1. */
export type OnCopied = (done: number) => void

/** Length and SHA-256 of a file's content. */
export interface FileDigest {
  readonly bytes: number
  /** Hex without prefix. */
  readonly sha256: string
}

/** Reads and hashes have this size; they take most of the time of a copy. */
const chunkBytes = 2 ** 20

/** Time between two checks of the length of a copy that LMDB makes. */
const lookMs = 200

/**
 * Copies a snapshot of a store, without its free pages, to the new file `to`. Other processes may read and write the
 * store meanwhile. The copy is on disk when this resolves. Until then the store cannot reuse pages that become free, so
 * every write makes it larger. Rejects with OperatorError if the store cannot be read or the copy cannot be written.
 * Rejects with the reason of `stop` once that is aborted, and then stops reading the store.
 */
export async function copyStore(
  store: { readonly path: string; readonly mapBytes: number },
  to: string,
  onCopied: OnCopied,
  stop: AbortSignal,
): Promise<void> {
  const bytes = statSync(store.path).size
  const looks = setInterval(() => {
    const made = statSync(to, { throwIfNoEntry: false })?.size ?? 0
    onCopied(Math.min(1, made / bytes))
  }, lookMs)
  const task: CopyTask = { ...store, to }
  let last: CopyMessage | undefined
  const onMessage = (message: CopyMessage) => {
    last = message
  }
  try {
    const { account } = await runReadingProcess('copyProcess', task, { onMessage, stop })
    last ??= { type: 'failed', why: `the copying process ended without a result (${account})` }
  } finally {
    clearInterval(looks)
  }
  if (last.type === 'refused') throw new OperatorError(last.message)
  if (last.type === 'failed') throw notCopied(store.path, to, last.why)
}

/**
 * Copies a file to the new file `to`, which only its owner can read. Resolves to the digest of the content once it is
 * on disk. Rejects with the reason of `stop` once that is aborted.
 */
export async function copyFile(
  from: string,
  to: string,
  onCopied: OnCopied,
  stop: AbortSignal,
): Promise<FileDigest> {
  try {
    const digest = await digestInto(from, createWriteStream(to, { flags: 'wx', mode: 0o600 }), onCopied, stop)
    syncPath(to)
    return digest
  } catch (error) {
    stop.throwIfAborted()
    throw notCopied(from, to, errorText(error))
  }
}

/** Rejects with the reason of `stop` once that is aborted. */
export function digestFile(path: string, onRead: OnCopied, stop: AbortSignal): Promise<FileDigest> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  return digestInto(path, nowhere, onRead, stop)
}

async function digestInto(
  from: string,
  to: Writable,
  onRead: OnCopied,
  stop: AbortSignal,
): Promise<FileDigest> {
  const total = statSync(from).size
  const hash = createHash('sha256')
  let bytes = 0
  const measure = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
      onRead(Math.min(1, bytes / total))
      yield chunk
    }
  }
  await pipeline(createReadStream(from, { highWaterMark: chunkBytes }), measure, to, { signal: stop })
  return { bytes, sha256: hash.digest('hex') }
}

/** Throws OperatorError unless the disk of `folder` has room for this many bytes and a reserve. */
export function assertRoomFor(bytes: number, folder: string): void {
  const { bavail, bsize } = statfsSync(folder)
  const needed = bytes + freeBytesMin
  if (bavail * bsize >= needed) return
  const [want, have] = [needed, bavail * bsize].map((each) => Math.round(each / 2 ** 20))
  throw new OperatorError(
    `the copy may take ${want} MiB, and ${folder} has room for ${have}; free some space, or choose another disk`,
  )
}

/** A folder that gets its final name once it is complete; see {@link draftFolder}. */
export interface FolderDraft {
  /** Path of the file until then. */
  readonly path: string
  /** Renames the file at once, after its content is on disk. */
  finish(): void
  abandon(): void
}

/**
 * Begins a folder that only its owner can read, as `NAME.unfinished`, so that no folder with the final name is ever
 * incomplete. Throws OperatorError if there is an unfinished one already, or `name` is taken by anything but an empty
 * folder.
 */
export function draftFolder(name: string): FolderDraft {
  makeFolder(dirname(name))
  assertVacant(name)
  const path = `${name}.unfinished`
  try {
    mkdirSync(path, 0o700)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new OperatorError(
      code === 'EEXIST'
        ? `${path} belongs to a copy that is running or was killed; if none is running, remove it`
        : `cannot make the folder ${path} (${code}); check the path and its permissions`,
    )
  }
  return {
    path,
    finish() {
      for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
        if (entry.isDirectory()) syncPath(join(entry.parentPath, entry.name))
      }
      syncPath(path)
      renameSync(path, name)
      syncPath(dirname(name))
    },
    abandon: () => rmSync(path, { recursive: true, force: true }),
  }
}

function assertVacant(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new OperatorError(
      `${folder} is a symbolic link, to which a folder cannot be renamed; name the folder that it leads to`,
    )
  }
  if (!isThere(folder)) return
  const { dev } = statSync(folder)
  if (!statSync(folder).isDirectory() || namesIn(folder).length > 0) {
    throw new OperatorError(
      `${folder} is not empty, and nothing is overwritten; name another folder, or move this one away`,
    )
  }
  if (dev !== statSync(dirname(folder)).dev) {
    throw new OperatorError(
      `${folder} is a disk of its own, to which a folder cannot be renamed; name a folder in it`,
    )
  }
}

function notCopied(from: string, to: string, why: string): OperatorError {
  return new OperatorError(`cannot copy ${from} to ${to}: ${why}; check both disks and their permissions`)
}
