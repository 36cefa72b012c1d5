/** Hex and bytes without Node.js modules. It is strict: text in another form than this node writes is refused. */
import { bytesToHex } from '@noble/hashes/utils.js'

/** Why an answer is not proved. */
export class VerifyError extends Error {
  override readonly name = 'VerifyError'
}

export function refuse(why: string): never {
  throw new VerifyError(why)
}

const hexPattern = /^0x(?:[0-9a-f]{2})*$/
const quantityPattern = /^0x(?:0|[1-9a-f][0-9a-f]*)$/

/** Bytes of lower-case hex. `what` names it in the error. Throws {@link VerifyError}. */
export function readHex(value: unknown, what: string, length?: number): Uint8Array {
  if (typeof value !== 'string' || !hexPattern.test(value)) refuse(`${what} is not lower-case hex`)
  const bytes = new Uint8Array(value.length / 2 - 1)
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = Number.parseInt(value.slice(2 + at * 2, 4 + at * 2), 16)
  }
  if (length !== undefined && bytes.length !== length) {
    refuse(`${what} has ${bytes.length} bytes, expected ${length}`)
  }
  return bytes
}

/** An integer of a question: a hex quantity in any case. */
export function readQuantity(value: unknown, what: string): bigint {
  if (typeof value !== 'string' || !quantityPattern.test(value.toLowerCase())) {
    refuse(`${what} is not a hex quantity`)
  }
  return BigInt(value)
}

export function hexOf(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`
}

export function integerOf(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(hexOf(bytes))
}

export function quantityOf(value: Uint8Array | bigint | number): string {
  return `0x${(typeof value === 'object' ? integerOf(value) : value).toString(16)}`
}

/** Shortest big-endian bytes; none for zero. */
export function minimalBytes(value: bigint): Uint8Array {
  const bytes: number[] = []
  for (let rest = value; rest > 0n; rest >>= 8n) bytes.unshift(Number(rest & 0xffn))
  return Uint8Array.from(bytes)
}

/** At most 32 bytes, padded with zeros on the left. */
export function wordOf(bytes: Uint8Array): Uint8Array {
  const word = new Uint8Array(32)
  word.set(bytes, 32 - bytes.length)
  return word
}
