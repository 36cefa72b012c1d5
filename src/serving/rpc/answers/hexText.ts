import { bytesToHex } from '../../../primitives/bytes.js'
import { hexJson } from '../../../primitives/jsonBytes.js'
import type { Json } from '../method.js'

/** Bytes of which text is made whose characters are written as UTF-8 once more, to be joined with what is around it. */
const shortBytesMax = 8 * 1024

/** `"0x…"`. */
export function hexText(bytes: Uint8Array): Json {
  return bytes.length <= shortBytesMax ? `"${bytesToHex(bytes)}"` : hexJson(bytes)
}
