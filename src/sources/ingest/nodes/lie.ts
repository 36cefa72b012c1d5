/** An upstream's answer that is not what it must be. The message says what it was: "a proof …", "a block …". */
export class LieError extends Error {
  override readonly name = 'LieError'
}

/**
 * An answer that lacks what it is to have, which is no lie: nothing proves that the node has it. It is not asked
 * by these methods for a while; none are named where a caller may have chosen what it lacks. The message says what is lacking.
 */
export class LackError extends Error {
  override readonly name = 'LackError'

  constructor(
    readonly methods: readonly string[],
    message: string,
  ) {
    super(message)
  }
}

/**
 * Two answers of an upstream that do not fit: its chain moved between them, or it lied, which nothing proves. The message
 * says what they were.
 */
export class MovedError extends Error {
  override readonly name = 'MovedError'
}

/** An answer of a form that is not known here, or of a part that nothing proves: no lie. The message says what it is. */
export class NotProvedError extends Error {
  override readonly name = 'NotProvedError'
}
