/**
 * Slots of mapping entries (Solidity, "Layout of State Variables in Storage"): Keccak-256 of the key followed by the
 * mapping's slot, repeated for each nested mapping. Keys are bytes here; `mappingKeys.ts` makes them.
 */
import { concatBytes, type Hash32 } from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'

/**
 * The keys that lead to one entry, as bytes, outermost mapping first. Keys of value types are padded to 32 bytes; a
 * `string` or `bytes` key is its content.
 */
export type MappingPath = readonly Uint8Array[]

export interface MappingSlotsRequest {
  /** Slot of the outermost mapping, 32 bytes. */
  readonly slot: Uint8Array
  readonly keys: readonly MappingPath[]
}

/** Slot of one entry: a hash per mapping. */
export function mappingSlot(slot: Uint8Array, path: MappingPath): Hash32 {
  let entry = slot
  for (const key of path) entry = keccak256(concatBytes(key, entry))
  return entry as Hash32
}

/** Slots of many entries, 32 bytes each, concatenated in the order of the keys, in new memory. */
export function computeMappingSlots({ slot, keys }: MappingSlotsRequest): Uint8Array<ArrayBuffer> {
  const slots = new Uint8Array(keys.length * 32)
  for (let i = 0; i < keys.length; i++) slots.set(mappingSlot(slot, keys[i] as MappingPath), i * 32)
  return slots
}
