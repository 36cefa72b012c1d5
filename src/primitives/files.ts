import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from './faults.js'

/** Whether `path` exists. Throws OperatorError if this user cannot find out, for instance without access. */
export function isThere(path: string): boolean {
  return orExplain(path, () => statSync(path, { throwIfNoEntry: false }) !== undefined)
}

/** Names of the entries of a folder. Throws OperatorError if it cannot be read. */
export function namesIn(folder: string): string[] {
  return orExplain(folder, () => readdirSync(folder))
}

function orExplain<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new OperatorError(
      `cannot read ${path} (${why}); run as the user who owns it, or change its permissions`,
    )
  }
}

/**
 * Makes a folder, and its missing parents. `mode` applies only to the last one. Throws OperatorError on failure. It
 * replaces mkdirSync's `recursive`, which tries forever if the system reports an existing parent as missing, as Linux
 * does in /proc.
 */
export function makeFolder(path: string, mode?: number): void {
  // An existing folder is not always recognised by the error of mkdir, for instance on a read-only disk.
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
    const parent = dirname(path)
    if (parent !== path) makeFolder(parent)
    mkdirSync(path, mode)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    const why = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    // Another process may have made it meanwhile.
    if (why === 'EEXIST' && statSync(path).isDirectory()) return
    throw new OperatorError(`cannot make the folder ${path} (${why}); check the path and its permissions`)
  }
}

/** Returns once a file, or the entries of a folder, are on disk. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
