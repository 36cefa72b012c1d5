import { bytesToHex } from '../../../primitives/bytes.js'
import { hexJson } from '../../../primitives/jsonBytes.js'
import type { Json } from '../method.js'

/** Up to this size the result is text. Text is encoded as UTF-8 a second time, to be joined with its surroundings. */
const shortBytesMax = 8 * 1024

/** `"0x…"`. */
export function hexText(bytes: Uint8Array): Json {
  return bytes.length <= shortBytesMax ? `"${bytesToHex(bytes)}"` : hexJson(bytes)
}
