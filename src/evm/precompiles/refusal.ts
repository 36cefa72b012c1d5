/** An input that a precompiled contract refuses, in go-ethereum's words; all the gas of the call is gone. */
export class InputRefusal extends Error {
  override readonly name = 'InputRefusal'
}

/** Throws {@link InputRefusal}. */
export function refuse(why: string): never {
  throw new InputRefusal(why)
}

export const wrongLength = 'invalid input length'
export const notInField = 'invalid fp.Element encoding'
