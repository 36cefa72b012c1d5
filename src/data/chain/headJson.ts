import { bytesToHex, toQuantity } from '../../primitives/bytes.js'
import { type Header, headerField, headerFields } from './header.js'

/**
 * A header in go-ethereum's form for `newHeads` (`types.Header`, gencodec): without `size` and `totalDifficulty`, the
 * hash last, and null for members that the block's fork lacks.
 */
export function headJson(header: Header, hash: Uint8Array): string {
  const members = headerFields.map((name) => {
    const value = headerField(header, name)
    if (value === undefined) return `"${name}":null`
    return `"${name}":"${value instanceof Uint8Array ? bytesToHex(value) : toQuantity(value)}"`
  })
  return `{${members.join()},"hash":"${bytesToHex(hash)}"}`
}
