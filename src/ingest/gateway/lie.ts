/** An upstream's answer that is not what it must be. The message says what it was: "a proof …", "a block …". */
export class LieError extends Error {
  override readonly name = 'LieError'
}
