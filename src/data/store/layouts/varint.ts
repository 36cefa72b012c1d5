/** Numbers in as few bytes as possible: 7 bits per byte, the lowest first, plus 128 in each byte except the last. */

export function varintBytes(number: number): number {
  let bytes = 1
  for (let rest = number; rest > 127; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** Returns the offset after it. */
export function writeVarint(target: Uint8Array, number: number, at: number): number {
  let end = at
  let rest = number
  for (; rest > 127; rest = Math.floor(rest / 128)) target[end++] = 128 + (rest % 128)
  target[end++] = rest
  return end
}

/**
 * The number at `at`, which takes {@link varintBytes}. Throws RangeError for a missing number, or one in too many
 * bytes.
 */
export function readVarint(bytes: Uint8Array, at: number): number {
  let number = 0
  for (let place = at, scale = 1; scale < 2 ** 49; scale *= 128) {
    const byte = bytes[place++]
    if (byte === undefined) break
    number += (byte & 127) * scale
    if (byte === 0 && scale > 1) break
    if (byte < 128) return number
  }
  throw new RangeError('a row lacks a number')
}
