/** Why an answer is not proved. */
export class VerifyError extends Error {
  override readonly name = 'VerifyError'
}

export function refuse(why: string): never {
  throw new VerifyError(why)
}
