import type { BlockName, Marker, SignedCheckpoint } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { bytesOfHex, equalBytes, toHash32 } from '../../../primitives/bytes.js'
import type { Proving } from '../nodes/proving.js'

export const markers: readonly Marker[] = ['safe', 'finalized']

type MarkerRows = Pick<ChainWriter, 'isCanonical' | 'readMarker' | 'readCheckpoint'>

/**
 * The finalized block by signatures of the consensus layer, for a source with a signed head. It is also the safe block.
 */
export interface SignedMarkers {
  readonly finalized: BlockName | undefined
  readonly checkpoint: SignedCheckpoint | undefined
}

/** For each of {@link markers} the block that upstreams report, unverified; undefined if none is reported. */
export type ReportedMarkers = readonly (BlockName | undefined)[]

/** The safe and finalized blocks that upstreams report, unproved; empty if these blocks are signed. Never rejects. */
export async function askMarkers(
  proving: Pick<Proving, 'guess'>,
  signed: SignedMarkers | undefined,
): Promise<ReportedMarkers> {
  if (signed !== undefined) return []
  const ask = (marker: Marker) => proving.guess('eth_getBlockByNumber', [marker, false]).then(blockNameOf)
  return Promise.all(markers.map((marker) => ask(marker).catch(() => undefined)))
}

/** The checkpoint of a light client if it must be stored: a finalized block is stored, and the checkpoint is new. */
function newCheckpoint(store: MarkerRows, signed: SignedMarkers | undefined): SignedCheckpoint | undefined {
  const checkpoint = signed?.checkpoint
  const before = store.readCheckpoint()
  if (checkpoint === undefined || signed?.finalized === undefined) return undefined
  const isKnown = before !== undefined && equalBytes(before.root, checkpoint.root)
  if (isKnown && equalBytes(before.anchor, checkpoint.anchor)) return undefined
  return store.readMarker('finalized') === undefined ? undefined : checkpoint
}

/**
 * Whether a block that upstreams report as safe or finalized becomes that here. It must be canonical, and above the one
 * stored before while that is canonical.
 */
function mayMove(store: MarkerRows, marker: Marker, { number, hash }: BlockName): boolean {
  if (!store.isCanonical(number, hash)) return false
  const before = store.readMarker(marker)
  return before === undefined || number > before.number || !store.isCanonical(before.number, before.hash)
}

/** Markers and checkpoint to store. */
interface NewMarkers {
  readonly moved: readonly (readonly [Marker, BlockName])[]
  readonly checkpoint: SignedCheckpoint | undefined
}

/**
 * Changed safe and finalized blocks, as upstreams report them or as signatures prove them; undefined if nothing
 * changed.
 */
export function newMarkers(
  store: MarkerRows,
  signed: SignedMarkers | undefined,
  reported: ReportedMarkers,
): NewMarkers | undefined {
  const moved = markers.flatMap((marker, index) => {
    const named = signed === undefined ? reported[index] : signed.finalized
    return named !== undefined && mayMove(store, marker, named) ? [[marker, named] as const] : []
  })
  const checkpoint = newCheckpoint(store, signed)
  return moved.length === 0 && checkpoint === undefined ? undefined : { moved, checkpoint }
}

export function writeMarkers(
  store: Pick<ChainWriter, 'writeMarker' | 'writeCheckpoint'>,
  { moved, checkpoint }: NewMarkers,
): void {
  for (const [marker, block] of moved) store.writeMarker(marker, block)
  if (checkpoint !== undefined) store.writeCheckpoint(checkpoint)
}

/** Number and hash in a block's JSON; undefined if it is malformed. */
export function blockNameOf(json: unknown): BlockName | undefined {
  const { number, hash } = (json ?? {}) as { readonly number?: unknown; readonly hash?: unknown }
  const bytes = bytesOfHex(hash, 32)
  const isBlock = bytes !== undefined && Number.isSafeInteger(Number(number))
  return isBlock ? { number: Number(number), hash: toHash32(bytes) } : undefined
}
