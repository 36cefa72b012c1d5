/**
 * Field elements of the rollup ("felts"): integers below P = 2^251 + 17·2^192 + 1, the field of its hash. Inside the
 * process a felt is text in one canonical form. So equal integers are equal texts, and a transaction is stored and
 * forwarded without conversion.
 */

declare const brand: unique symbol

/** `0x` and lower-case digits without leading zeros, below {@link fieldPrime}. */
export type Felt = `0x${string}` & { readonly [brand]: 'Felt' }

/** P, the order of the field. */
export const fieldPrime = 2n ** 251n + 17n * 2n ** 192n + 1n

const hexPattern = /^0x[0-9a-fA-F]{1,64}$/
/** P has 63 hex digits; only integers with as many must be compared with it. */
const primeDigits = fieldPrime.toString(16).length
/** P has 76 decimal digits. The limit bounds the time for parsing, which grows with the square of the length. */
const decimalPattern = /^(?:0|[1-9][0-9]{0,75})$/

/** Parses up to 64 hex digits after `0x`; undefined if the text is no felt. */
export function hexToFelt(text: string): Felt | undefined {
  if (!hexPattern.test(text)) return undefined
  let start = 2
  while (start < text.length - 1 && text.charCodeAt(start) === 0x30) start++
  const digits = text.slice(start).toLowerCase()
  if (digits.length > primeDigits) return undefined
  if (digits.length === primeDigits && BigInt(`0x${digits}`) >= fieldPrime) return undefined
  return `0x${digits}` as Felt
}

/** Parses a decimal integer without leading zeros; undefined if the text is no felt. */
export function decimalToFelt(text: string): Felt | undefined {
  if (!decimalPattern.test(text)) return undefined
  const value = BigInt(text)
  return value < fieldPrime ? toFelt(value) : undefined
}

/** The felt of an integer. Throws RangeError outside the field. */
export function toFelt(value: bigint): Felt {
  if (value < 0n || value >= fieldPrime) throw new RangeError(`not a field element: ${value}`)
  return `0x${value.toString(16)}` as Felt
}

/**
 * The felt of up to 31 ASCII characters, big-endian: a chain id, or a name to be hashed. Throws RangeError for any
 * other text.
 */
export function asciiToFelt(text: string): Felt {
  if (!/^[\x20-\x7e]{1,31}$/.test(text)) throw new RangeError('want 1 to 31 printable ASCII characters')
  return toFelt(BigInt(`0x${Buffer.from(text, 'latin1').toString('hex')}`))
}
