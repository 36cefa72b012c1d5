/**
 * Small secret files: written whole or not at all, on disk once written, and refused if other users of the machine can
 * read them.
 */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../../primitives/faults.js'
import { syncPath } from '../../primitives/files.js'

const ownerOnly = 0o600
const otherUsers = 0o077

/** Contents of a private file; undefined if there is none. Throws OperatorError if other users can read it. */
export function readPrivateFile(path: string): Buffer | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new OperatorError(
      `cannot read ${path} (${codeOf(error)}); run as the user who owns it, or change its owner`,
    )
  }
  try {
    // Checks the open file, not the path, so that the file cannot be replaced in between.
    const mode = fstatSync(file).mode & 0o777
    if ((mode & otherUsers) !== 0) {
      throw new OperatorError(
        `other users can read the secret in ${path} (mode ${mode.toString(8).padStart(4, '0')}); run: chmod 600 ${path}`,
      )
    }
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Writes a private file that does not exist yet; false if another process was first. The file and its folder entry are
 * on disk when this returns.
 */
export function createPrivateFile(path: string, bytes: Uint8Array): boolean {
  return placePrivateFile(path, bytes, (temporary) => {
    try {
      // A link, unlike a rename, never replaces an existing file.
      linkSync(temporary, path)
      return true
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    }
  })
}

/** Writes a private file, replacing an existing one. On disk when this returns. */
export function replacePrivateFile(path: string, bytes: Uint8Array): void {
  placePrivateFile(path, bytes, (temporary) => renameSync(temporary, path))
}

function placePrivateFile<T>(path: string, bytes: Uint8Array, place: (temporary: string) => T): T {
  const temporary = `${path}.${randomBytes(8).toString('hex')}`
  try {
    const file = openSync(temporary, 'wx', ownerOnly)
    try {
      writeSync(file, bytes)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    const placed = place(temporary)
    syncPath(dirname(path))
    return placed
  } catch (error) {
    throw new OperatorError(
      `cannot write ${path} (${codeOf(error)}); check the folder's permissions and the free disk space`,
    )
  } finally {
    rmSync(temporary, { force: true })
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}
