import { hexDigits } from './bytes.js'
import { keccak256 } from './keccak.js'

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
