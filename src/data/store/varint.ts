/** Numbers in as few bytes as they need: 7 bits a byte, the lowest first, 128 more in each byte but the last. */

export function varintBytes(number: number): number {
  let bytes = 1
  for (let rest = number; rest > 127; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** Returns where it ends. */
export function writeVarint(target: Uint8Array, number: number, at: number): number {
  let end = at
  let rest = number
  for (; rest > 127; rest = Math.floor(rest / 128)) target[end++] = 128 + (rest % 128)
  target[end++] = rest
  return end
}

/** The number at `at`, which takes {@link varintBytes}. Throws RangeError where there is none, or in more bytes than it needs. */
export function readVarint(bytes: Uint8Array, at: number): number {
  let number = 0
  for (let place = at, scale = 1; scale < 2 ** 49; scale *= 128) {
    const byte = bytes[place++]
    if (byte === undefined) break
    number += (byte & 127) * scale
    if (byte === 0 && scale > 1) break
    if (byte < 128) return number
  }
  throw new RangeError('a row does not have a number where there has to be one')
}
