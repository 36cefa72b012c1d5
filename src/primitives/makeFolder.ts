import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from './faults.js'

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
