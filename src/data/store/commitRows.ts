/**
 * Writes what waits in the buffers of the one writer, in one transaction. Many rows are written in parts, each in a
 * transaction within it: LMDB keeps the pages that a transaction changed in a sorted array, and takes free pages from the
 * last one on, so each page moves all others of its own transaction. With 12,000 pages that takes as long as all else that
 * LMDB does with them. lmdb's own thread, which writes while the next blocks are executed, knows no transactions within
 * others; so this thread writes the parts, and the other one passes the pages to the system. That is worth it for large
 * blocks only: of small ones, many of which share a transaction, this thread executes the next ones meanwhile.
 */
import type { RootDatabase } from 'lmdb'
import { commitBatch, commitLater, commitSync } from './environment.js'
import type { WriteBuffer } from './writeBuffer.js'

export interface PartSizes {
  /** Most rows of a block, on average, that are written as one part. */
  readonly rowsAtOnce: number
  /** Of more, rows of a part; it takes some 0.05 ms besides them. */
  readonly rowsPerPart: number
}

/**
 * Rows that blocks which follow each other share a transaction for, where many are applied: the more, the fewer pages are
 * written for each block (of blocks with 5,000 random changes, 12,000 alone and 4,200 four at a time). Until then they
 * wait in memory, those of two transactions at most, some 50 MB. While they are written, the pages that they change take
 * up to 350 MB, and LMDB can hold only 131,000 of them.
 */
export const rowsPerCommit = 65_536

const partSizes: PartSizes = { rowsAtOnce: 4_096, rowsPerPart: 1_024 }

type Buffers = readonly WriteBuffer[]

export function waitingRows(buffers: Buffers): number {
  return buffers.reduce((sum, { waiting }) => sum + waiting, 0)
}

/**
 * Settles when all is on disk, the rows of so many blocks; rejects as {@link commitBatch}. What waits from now on is for
 * another transaction.
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
  // Within a transaction that is synchronous, as this one is, no promise comes back.
  for (const part of parts) void environment.childTransaction(part)
}
