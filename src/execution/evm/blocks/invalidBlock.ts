/** The block breaks a rule: it can never be part of this chain. `message` says which. */
export class InvalidBlockError extends Error {
  override readonly name = 'InvalidBlockError'

  /** `transaction`: index of the one that is at fault, where one is. */
  constructor(
    message: string,
    readonly transaction?: number,
  ) {
    super(message)
  }
}
