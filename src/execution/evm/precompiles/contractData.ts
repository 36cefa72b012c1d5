/** Input and output of precompiled contracts: padding with zeros, words for true and false, refusals. */

/** A precompiled contract refuses its input, which uses all gas of the call. `message` is go-ethereum's. */
export class InputRefusal extends Error {
  override readonly name = 'InputRefusal'
}

export function refuse(why: string): never {
  throw new InputRefusal(why)
}

export const wrongLength = 'invalid input length'
export const notInField = 'invalid fp.Element encoding'

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
