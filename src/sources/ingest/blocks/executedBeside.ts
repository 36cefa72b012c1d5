/**
 * Block diffs of executed blocks that are not canonical, in memory: their children are executed on them, and they become
 * canonical without a second execution. Owns their number; the store has the blocks themselves.
 */
import type { BlockDiff, Change } from '../../../data/store/blockDiff.js'
import { type Hash32, latin1Key } from '../../../primitives/bytes.js'

/**
 * A full block of 36 million gas has a diff of 1 to 3 MB. A consensus client chooses a head within a slot or two. A
 * dropped diff is made again by executing its block.
 */
export const besideBytesDefault = 64 * 2 ** 20

export class ExecutedBeside {
  /** By block hash, the oldest first. */
  readonly #diffs = new Map<string, { readonly diff: BlockDiff; readonly bytes: number }>()
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax = besideBytesDefault) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  find(hash: Hash32): BlockDiff | undefined {
    return this.#diffs.get(latin1Key(hash))?.diff
  }

  /** Drops the oldest diffs beyond the limit; a longer diff than the limit is not kept. */
  add(diff: BlockDiff): void {
    const key = latin1Key(diff.hash)
    if (this.#diffs.has(key)) return
    const bytes = bytesOf(diff)
    this.#diffs.set(key, { diff, bytes })
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#diffs) {
      if (this.#bytes <= this.#bytesMax) break
      this.#diffs.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

function bytesOf({ header, body, receipts, blockAccessList, ...state }: BlockDiff): number {
  let bytes = header.length + body.length + (receipts?.length ?? 0) + (blockAccessList?.length ?? 0)
  for (const changes of [state.accounts, state.slots, state.trie, state.code])
    bytes += bytesOfChanges(changes)
  return bytes
}

function bytesOfChanges(changes: readonly Change[]): number {
  return changes.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
}
