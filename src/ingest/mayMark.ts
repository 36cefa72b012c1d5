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
