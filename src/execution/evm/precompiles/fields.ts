/** Zeros and flags, shared by the contracts. */

/** Whether `length` bytes from `at` are zeros; by default, all bytes. */
export function isZero(bytes: Uint8Array, at = 0, length = bytes.length): boolean {
  for (let index = at; index < at + length; index++) if (bytes[index] !== 0) return false
  return true
}

/** A word that is 1 or 0. */
export function flagWord(isTrue: boolean): Uint8Array {
  const word = new Uint8Array(32)
  if (isTrue) word[31] = 1
  return word
}
