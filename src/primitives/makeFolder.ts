import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from './faults.js'

/**
 * Makes a folder, and those above it that are missing. `mode` is that of the last one. Throws OperatorError where
 * that fails. In place of mkdirSync's `recursive`, which tries forever where the system answers that a parent is
 * missing although it is there, as Linux does in /proc.
 */
export function makeFolder(path: string, mode?: number): void {
  // One that is there cannot always be told from the error of mkdir, for instance on a read-only disk.
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
