/** A precompiled contract refuses its input, which uses all gas of the call. `message` is go-ethereum's. */
export class InputRefusal extends Error {
  override readonly name = 'InputRefusal'
}

export function refuse(why: string): never {
  throw new InputRefusal(why)
}

export const wrongLength = 'invalid input length'
export const notInField = 'invalid fp.Element encoding'
