/**
 * Writes the waiting rows of the only writer in one transaction. Many rows are written in parts, each in a nested
 * transaction. The reason: LMDB keeps the pages that a transaction changed in a sorted array, and takes free pages from
 * the last one on. So each new page moves all others of its own transaction. With 12,000 pages that takes as long as
 * all other work of LMDB on them.
 *
 * lmdb's own thread, which writes while the next blocks are executed, has no nested transactions. So this thread writes
 * the parts, and the other one only passes the pages to the system. That pays off only for large blocks. Small blocks
 * share a transaction, and this thread executes the next ones meanwhile.
 */
import type { RootDatabase } from 'lmdb'
import { commitBatch, commitLater, commitSync } from './environment.js'
import type { WriteBuffer } from './writeBuffer.js'

export interface PartSizes {
  /** Most rows per block, on average, that are written as one part. */
  readonly rowsAtOnce: number
  /** Rows per part otherwise; a part costs some 0.05 ms besides its rows. */
  readonly rowsPerPart: number
}

/**
 * Number of rows up to which successive blocks share a transaction. With more rows, fewer pages are written per block.
 * With 5,000 random changes, one block alone writes 12,000 pages, and one of four blocks 4,200. Until the commit, rows
 * wait in memory: at most those of two transactions, some 50 MB. During the commit, changed pages take up to 350 MB,
 * and LMDB can track only 131,000 of them.
 */
export const rowsPerCommit = 65_536

const partSizes: PartSizes = { rowsAtOnce: 4_096, rowsPerPart: 1_024 }

type Buffers = readonly WriteBuffer[]

export function waitingRows(buffers: Buffers): number {
  return buffers.reduce((sum, { waiting }) => sum + waiting, 0)
}

/**
 * Writes the rows of `blocks` blocks; settles when all is on disk, rejects as {@link commitBatch}. Later changes belong
 * to another transaction.
 */
export async function commitRows(
  environment: RootDatabase,
  path: string,
  buffers: Buffers,
  blocks: number,
  { rowsAtOnce, rowsPerPart } = partSizes,
): Promise<void> {
  if (waitingRows(buffers) <= rowsAtOnce * Math.max(1, blocks))
    return await commitBatch(environment, path, () => {
      for (const table of buffers) table.write()
    })
  const parts = takeParts(buffers, rowsPerPart)
  await commitLater(environment, path, () => writeParts(environment, parts))
}

/** Returns when all is on disk; throws as {@link commitSync}. */
export function commitRowsSync(
  environment: RootDatabase,
  path: string,
  buffers: Buffers,
  { rowsAtOnce, rowsPerPart } = partSizes,
): void {
  const isOne = waitingRows(buffers) <= rowsAtOnce
  const parts = takeParts(buffers, rowsPerPart)
  commitSync(environment, path, () => {
    if (isOne) for (const part of parts) part()
    else writeParts(environment, parts)
  })
}

function takeParts(buffers: Buffers, rowsPerPart: number): (() => void)[] {
  return buffers.flatMap((table) => table.takeParts(rowsPerPart))
}

function writeParts(environment: RootDatabase, parts: readonly (() => void)[]): void {
  // Within a synchronous transaction, as this one is, `childTransaction` returns no promise.
  for (const part of parts) void environment.childTransaction(part)
}
