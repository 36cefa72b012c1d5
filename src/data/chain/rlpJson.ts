/**
 * RLP items as JSON, by their offsets. The RLP is canonical, since only such blocks are stored. Items get no objects of
 * their own: those for the receipts of 200 transactions were 580 KB of garbage.
 */
import { integerAt } from '../../primitives/bytes.js'
import { closeBracket, comma, type JsonBytes, openBracket } from '../../primitives/jsonBytes.js'
import { rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'

/** Whether an item is an empty string or list. */
export function isEmptyItem(bytes: Uint8Array, at: number): boolean {
  return rlpPayloadAt(bytes, at) === rlpEndAt(bytes, at)
}

export function integerOfItem(bytes: Uint8Array, at: number): number | bigint {
  return integerAt(bytes, rlpPayloadAt(bytes, at), rlpEndAt(bytes, at))
}

export function writeHexItem(json: JsonBytes, bytes: Uint8Array, at: number): void {
  json.hex(bytes, rlpPayloadAt(bytes, at), rlpEndAt(bytes, at))
}

export function writeQuantityItem(json: JsonBytes, bytes: Uint8Array, at: number): void {
  json.quantityOf(bytes, rlpPayloadAt(bytes, at), rlpEndAt(bytes, at))
}

/** Writes an array; `write` writes each item of the list at `list`, and receives its offset and index. */
export function writeItems(
  json: JsonBytes,
  bytes: Uint8Array,
  list: number,
  write: (at: number, index: number) => void,
): void {
  json.constant(openBracket)
  const end = rlpEndAt(bytes, list)
  let index = 0
  for (let at = rlpPayloadAt(bytes, list); at < end; at = rlpEndAt(bytes, at)) {
    if (index > 0) json.constant(comma)
    write(at, index++)
  }
  json.constant(closeBracket)
}

/** Writes a list of strings as an array of hex: {@link writeItems} without a function for each list of topics. */
export function writeHexItems(json: JsonBytes, bytes: Uint8Array, list: number): void {
  json.constant(openBracket)
  const end = rlpEndAt(bytes, list)
  const first = rlpPayloadAt(bytes, list)
  for (let at = first; at < end; at = rlpEndAt(bytes, at)) {
    if (at > first) json.constant(comma)
    writeHexItem(json, bytes, at)
  }
  json.constant(closeBracket)
}
