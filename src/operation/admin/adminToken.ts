/**
 * The token of the admin listener: made at the first start, stored in a private file, and compared in constant time.
 * Wrong ones are answered late. No address is locked out: nobody can try 2^256 tokens, and wrong ones sent from an
 * operator's address would lock out the operator.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { OperatorError } from '../../primitives/faults.js'
import { setTimeout } from '../../primitives/timers.js'
import { createPrivateFile, readPrivateFile } from '../../serving/access/privateFile.js'

const tokenBytes = 32
/** Shortest token that an operator may write into the file: too long to guess. */
const tokenLengthMin = 32

/**
 * The token in the file; makes a new one if there is no file. Throws OperatorError if others can read the file, if it
 * cannot be written, or if its token is too short.
 */
export function readAdminToken(path: string): string {
  if (readPrivateFile(path) === undefined) {
    createPrivateFile(path, Buffer.from(randomBytes(tokenBytes).toString('hex')))
  }
  const token = readPrivateFile(path)?.toString('latin1').trim() ?? ''
  if (token.length >= tokenLengthMin && /^[\x21-\x7e]+$/.test(token)) return token
  throw new OperatorError(
    `the admin token in ${path} must have at least ${tokenLengthMin} visible characters; remove that file to have a new one made`,
  )
}

/** Delay of the answer to a wrong token: long for a guessing program, short for a person who mistypes. */
const wrongMs = 1_000
/** Delayed answers to wrong tokens at the same time: a tenth of the listener's connections. */
const waitingMax = 10

export class TokenGate {
  readonly #digest: Buffer
  readonly #later: (end: () => void) => void
  #waiting = 0

  /** `later` calls its argument once a wrong token may be answered. */
  constructor(token: string, later: (end: () => void) => void = (end) => setTimeout(end, wrongMs).unref()) {
    this.#digest = digestOf(token)
    this.#later = later
  }

  admits(authorization: string | undefined): boolean {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? ''
    // Digests have one length, so the time does not reveal the token's length.
    return timingSafeEqual(digestOf(token), this.#digest)
  }

  /** Resolves to true when a wrong token may be answered; at once to false if {@link waitingMax} wait already. */
  async delayWrong(): Promise<boolean> {
    if (this.#waiting === waitingMax) return false
    this.#waiting++
    await new Promise<void>((resolve) => this.#later(resolve))
    this.#waiting--
    return true
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
