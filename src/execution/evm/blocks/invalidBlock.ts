/** The block breaks a rule: it can never be part of this chain. `message` names the rule. */
export class InvalidBlockError extends Error {
  override readonly name = 'InvalidBlockError'

  /** `transaction`: index of the transaction at fault, if there is one. */
  constructor(
    message: string,
    readonly transaction?: number,
  ) {
    super(message)
  }
}
