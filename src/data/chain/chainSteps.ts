import { bytesToHex, equalBytes, type Hash32, toHash32 } from '../../primitives/bytes.js'
import type { BlockName, ChainRows } from '../store/chainRows.js'
import { decodeHeader } from './header.js'

/** The last block that a reader of the chain knows; {@link beforeGenesis} for a new reader. */
export type ChainCursor = BlockName

/** The parent hash of genesis is 32 zero bytes. */
export const beforeGenesis: ChainCursor = { number: -1, hash: toHash32(new Uint8Array(32)) }

/** One block that joined or left the canonical chain. */
export interface ChainStep {
  readonly kind: 'added' | 'removed'
  readonly number: number
  readonly hash: Hash32
  readonly cursor: ChainCursor
}

/**
 * The step from `cursor` towards the canonical chain of `store`, up to block `headNumber`. The block at the cursor is
 * unwound if it is no longer canonical; otherwise the next one is added. Undefined if the cursor is at the head. A
 * reader that takes every step, however late, sees each reorganisation and misses no block. One step skips a run of
 * empty blocks (emptyRuns.ts) and gives the block after it. Throws if the store lacks the block at `cursor`. Takes two
 * reads.
 */
export function nextStep(store: ChainRows, cursor: ChainCursor, headNumber: number): ChainStep | undefined {
  const { number, hash } = cursor
  if (number >= 0) {
    const canonical = store.readCanonicalHash(number)
    if (canonical === undefined || !equalBytes(canonical, hash)) {
      const header = store.readHeader(hash)
      if (header === undefined) throw new Error(`block ${bytesToHex(hash)} of a cursor is not known`)
      const { parentHash } = decodeHeader(header)
      const below = store.belowRun?.(hash) ?? { number: number - 1, hash: parentHash }
      return { kind: 'removed', number, hash, cursor: below }
    }
  }
  if (number >= headNumber) return undefined
  const nextNumber = (store.lastOfRun?.(number + 1) ?? number) + 1
  const next = store.readCanonicalHash(nextNumber)
  if (next === undefined) return undefined
  return { kind: 'added', number: nextNumber, hash: next, cursor: { number: nextNumber, hash: next } }
}
