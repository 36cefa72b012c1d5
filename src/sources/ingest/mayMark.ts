import type { ChainReader } from '../../data/store/chainReader.js'
import type { BlockName, Marker, SignedCheckpoint } from '../../data/store/chainRows.js'
import { bytesOfHex, equalBytes, toHash32 } from '../../primitives/bytes.js'

export const markers: readonly Marker[] = ['safe', 'finalized']

/** What the consensus layer has signed as final, for a source whose head is a signed one. Its safe block is that one, too. */
export interface SignedMarks {
  readonly finalized: BlockName | undefined
  readonly checkpoint: SignedCheckpoint | undefined
}

/** The checkpoint of a light client where it is to be stored: its block is final here, and another one was before. */
export function newCheckpoint(
  store: ChainReader,
  signed: SignedMarks | undefined,
): SignedCheckpoint | undefined {
  const checkpoint = signed?.checkpoint
  const before = store.readCheckpoint()
  if (checkpoint === undefined || signed?.finalized === undefined) return undefined
  const isKnown = before !== undefined && equalBytes(before.root, checkpoint.root)
  if (isKnown && equalBytes(before.anchor, checkpoint.anchor)) return undefined
  return store.readMarker('finalized') === undefined ? undefined : checkpoint
}

/**
 * Whether a block that upstreams call safe or finalized becomes that here: it lies on the chain, and not below the one
 * that was marked before, as long as that one does.
 */
export function mayMark(store: ChainReader, marker: Marker, { number, hash }: BlockName): boolean {
  if (!store.isCanonical(number, hash)) return false
  const before = store.readMarker(marker)
  return before === undefined || number > before.number || !store.isCanonical(before.number, before.hash)
}

interface MarkedStore extends ChainReader {
  writeMarker(marker: Marker, block: BlockName): void
  writeCheckpoint(checkpoint: SignedCheckpoint): void
}

/** Takes over what upstreams call safe and finalized, `told` of each marker, or what is final as far as it is signed. */
export function writeMarks(
  store: MarkedStore,
  signed: SignedMarks | undefined,
  told: readonly (BlockName | undefined)[],
): void {
  for (const [index, marker] of markers.entries()) {
    const named = signed === undefined ? told[index] : signed.finalized
    if (named !== undefined && mayMark(store, marker, named)) store.writeMarker(marker, named)
  }
  const checkpoint = newCheckpoint(store, signed)
  if (checkpoint !== undefined) store.writeCheckpoint(checkpoint)
}

/** Number and hash of a block's JSON; undefined where it is none. */
export function blockNameOf(json: unknown): BlockName | undefined {
  const { number, hash } = (json ?? {}) as { readonly number?: unknown; readonly hash?: unknown }
  const bytes = bytesOfHex(hash, 32)
  const isBlock = bytes !== undefined && Number.isSafeInteger(Number(number))
  return isBlock ? { number: Number(number), hash: toHash32(bytes) } : undefined
}
