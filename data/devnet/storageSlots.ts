/**
 * Places of variables in Solidity's storage layout. Every function returns a slot as 32 bytes. See "Layout of State
 * Variables in Storage" in the Solidity documentation.
 */
import { concatBytes, padLeft, toMinimalBytes } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'

/** A plain variable's slot. */
export function plainSlot(index: number | bigint): Uint8Array {
  return padLeft(toMinimalBytes(index), 32)
}

/** The entry of a mapping: Keccak-256 of the key, left-padded to a word, and the mapping's own slot. */
export function mappingSlot(key: Uint8Array | number | bigint, mapping: Uint8Array | number): Uint8Array {
  const keyBytes = key instanceof Uint8Array ? key : toMinimalBytes(key)
  const mappingBytes = mapping instanceof Uint8Array ? mapping : plainSlot(mapping)
  return keccak256(concatBytes(padLeft(keyBytes, 32), mappingBytes))
}

/** First slot of a dynamic array's items or a long string's bytes: Keccak-256 of its slot. */
export function contentSlot(slot: Uint8Array | number): Uint8Array {
  return keccak256(slot instanceof Uint8Array ? slot : plainSlot(slot))
}
