/** A wrong answer of an upstream. The message describes it: "a proof …", "a block …". */
export class LieError extends Error {
  override readonly name = 'LieError'
}

/**
 * An answer that lacks an expected part. This is no lie, because nothing proves that the node has the part. These
 * methods are not requested from it for a while; none are named if a caller may have chosen the missing part. The
 * message names that part.
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
 * Two answers of an upstream that contradict each other: its chain moved between them, or it lied, which nothing
 * proves. The message describes them.
 */
export class MovedError extends Error {
  override readonly name = 'MovedError'
}

/**
 * An answer that does not have its method's form. This is no lie, because a caller may have chosen the part. Nor does
 * it mean that the part cannot be proved, because another answer may be right. The message describes it.
 */
export class MalformedError extends Error {
  override readonly name = 'MalformedError'
}

/** A part that nothing proves, or data of an unknown form under a root. This is no lie. The message describes it. */
export class NotProvedError extends Error {
  override readonly name = 'NotProvedError'
}
