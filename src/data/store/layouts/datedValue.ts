/** A value, and the number of the block since which it holds: length of the number (1 byte) ‖ number ‖ value. */

/** Block numbers of a store are exact in JavaScript, and take at most 7 bytes. */
const numberBytesMax = 7

/** Bytes of a block number without leading zeros. */
function numberBytes(number: number): number {
  let bytes = 0
  for (let rest = number; rest > 0; rest = Math.floor(rest / 256)) bytes++
  return bytes
}

/** Writes length and number at `at`; returns the offset after them. */
export function writeNumber(target: Uint8Array, number: number, at: number): number {
  const bytes = numberBytes(number)
  target[at] = bytes
  let rest = number
  for (let place = at + bytes; place > at; place--) {
    target[place] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return at + 1 + bytes
}

/** The number at `at`. Throws RangeError if there is none. */
export function readNumber(source: Uint8Array, at: number): number {
  const bytes = source[at]
  if (bytes === undefined || bytes > numberBytesMax || at + bytes >= source.length) {
    throw new RangeError('a row does not begin with a block number')
  }
  let number = 0
  for (let place = at + 1; place <= at + bytes; place++) number = number * 256 + (source[place] as number)
  return number
}

/** Offset after the number that {@link writeNumber} wrote at `at`. */
export function endOfNumber(source: Uint8Array, at: number): number {
  return at + 1 + (source[at] as number)
}

/** Bytes that a number takes with its length. */
export function datedBytes(number: number): number {
  return 1 + numberBytes(number)
}

export function datedValue(since: number, value: Uint8Array): Uint8Array {
  const row = new Uint8Array(1 + numberBytes(since) + value.length)
  row.set(value, writeNumber(row, since, 0))
  return row
}
