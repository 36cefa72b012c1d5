import { mapKey } from '../primitives/bytes.js'
import type { ChainRows } from '../store/chainRows.js'

/** Text that differs wherever the source marked other blocks. */
export function markerKey(rows: ChainRows): string {
  const safe = rows.readMarker('safe')
  const finalized = rows.readMarker('finalized')
  return `${safe && mapKey(safe.hash)} ${finalized && mapKey(finalized.hash)}`
}
