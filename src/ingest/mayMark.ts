import { bytesOfHex, toHash32 } from '../primitives/bytes.js'
import type { ChainReader } from '../store/chainReader.js'
import type { BlockName, Marker } from '../store/chainRows.js'

/**
 * Whether a block that upstreams call safe or finalized becomes that here: it lies on the chain, and not below the one
 * that was marked before, as long as that one does.
 */
export function mayMark(store: ChainReader, marker: Marker, { number, hash }: BlockName): boolean {
  if (!store.isCanonical(number, hash)) return false
  const before = store.readMarker(marker)
  return before === undefined || number > before.number || !store.isCanonical(before.number, before.hash)
}

/** Number and hash of a block's JSON; undefined where it is none. */
export function blockNameOf(json: unknown): BlockName | undefined {
  const { number, hash } = (json ?? {}) as { readonly number?: unknown; readonly hash?: unknown }
  const bytes = bytesOfHex(hash, 32)
  const isBlock = bytes !== undefined && Number.isSafeInteger(Number(number))
  return isBlock ? { number: Number(number), hash: toHash32(bytes) } : undefined
}
