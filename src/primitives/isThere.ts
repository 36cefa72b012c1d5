import { readdirSync, statSync } from 'node:fs'
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
