/**
 * Slots of mapping entries (specification, section 4, "Position rules"; Solidity, "Layout of State Variables in
 * Storage"): Keccak-256 of the key and of the mapping's slot, and again for each mapping nested in it. Keys are
 * bytes here; `mappingKeys.ts` makes them.
 */
import { concatBytes, type Hash32 } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'

/**
 * The way to one entry: the bytes of a key for each mapping on it, outermost first. A value key is padded to 32
 * bytes already; a `string` or `bytes` key is its content.
 */
export type MappingPath = readonly Uint8Array[]

/** What a job that computes mapping slots in bulk works on. */
export interface MappingSlotsRequest {
  /** The slot at which the outermost mapping stands, 32 bytes. */
  readonly slot: Uint8Array
  readonly keys: readonly MappingPath[]
}

/** Slot of one entry. 1 µs for each mapping on the way, more for a `string` key beyond 100 bytes. */
export function mappingSlot(slot: Uint8Array, path: MappingPath): Hash32 {
  let entry = slot
  for (const key of path) entry = keccak256(concatBytes(key, entry))
  return entry as Hash32
}

/** Slots of many entries, 32 bytes each, one after another in the order of the keys, in memory of their own. */
export function computeMappingSlots({ slot, keys }: MappingSlotsRequest): Uint8Array<ArrayBuffer> {
  const slots = new Uint8Array(keys.length * 32)
  for (let i = 0; i < keys.length; i++) slots.set(mappingSlot(slot, keys[i] as MappingPath), i * 32)
  return slots
}
