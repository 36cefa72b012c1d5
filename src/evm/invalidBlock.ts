/** The block breaks a rule: it can never be part of this chain. `message` says which. */
export class InvalidBlockError extends Error {
  override readonly name = 'InvalidBlockError'
}
