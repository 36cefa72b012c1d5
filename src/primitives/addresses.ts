import { hexDigits, toMinimalBytes } from './bytes.js'
import { hashRlp, keccak256 } from './keccak.js'

/** An address with the mixed case of EIP-55, for messages to people. */
export function toChecksumAddress(address: Uint8Array): string {
  const digits = hexDigits(address)
  const hash = hexDigits(keccak256(new TextEncoder().encode(digits)))
  let text = '0x'
  for (let i = 0; i < digits.length; i++) {
    const digit = digits[i] as string
    text += Number.parseInt(hash[i] as string, 16) >= 8 ? digit.toUpperCase() : digit
  }
  return text
}

/** The address of a created contract, 20 bytes (yellow paper, equation 88). */
export function creationAddress(creator: Uint8Array, nonce: bigint): Uint8Array {
  return hashRlp([creator, toMinimalBytes(nonce)]).subarray(12)
}
