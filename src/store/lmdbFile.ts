/**
 * Whether a file can be handed to LMDB. Its opener reads the first page without checking it and ends the whole
 * process with a segmentation fault on a file of something else, so the check comes first.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { OperatorError } from '../primitives/faults.js'

/** Two meta pages of the smallest page size; every LMDB file that is not empty has them. */
const fileBytesMin = 8192

/** In lmdb-js's page layout the first meta page carries LMDB's magic number here, in the machine's byte order. */
const magicOffset = 24
const magic = 0xbeefc0de

/** Throws OperatorError unless `path` is absent, empty (LMDB then makes a store) or begins as an LMDB file does. */
export function assertLmdbFile(path: string): void {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new OperatorError(`cannot open the store ${path}; check that it is a file and that you may read it`)
  }
  try {
    const start = Buffer.alloc(fileBytesMin)
    const bytes = readSync(file, start, 0, fileBytesMin, 0)
    if (bytes === 0) return
    const found = [start.readUInt32LE(magicOffset), start.readUInt32BE(magicOffset)]
    if (bytes === fileBytesMin && found.includes(magic)) return
    throw new OperatorError(
      `${path} is not a store of Tidegate, or is damaged; check --data, or move that file away`,
    )
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`cannot read the store ${path}; check that it is a file and that you may read it`)
  } finally {
    closeSync(file)
  }
}
