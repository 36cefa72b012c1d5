/** An upstream's answer that is not what it must be. The message says what it was: "a proof …", "a block …". */
export class LieError extends Error {
  override readonly name = 'LieError'
}

/**
 * Two answers of an upstream that do not fit: its chain moved between them, or it lied, which nothing proves. The message
 * says what they were.
 */
export class MovedError extends Error {
  override readonly name = 'MovedError'
}
