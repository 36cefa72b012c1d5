/**
 * The token of the admin listener: made at the first start, kept in a private file, and compared in constant time.
 * Wrong ones are answered late. Nobody is locked out: none goes through 2^256 tokens, and whoever sends wrong ones from
 * an operator's address would lock out the operator.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { OperatorError } from '../../primitives/faults.js'
import { setTimeout } from '../../primitives/timers.js'
import { createPrivateFile, readPrivateFile } from '../../serving/access/privateFile.js'

const tokenBytes = 32
/** Shortest token that an operator may write into the file: as many digits as no guesser can go through. */
const tokenLengthMin = 32

/**
 * The token in the file; a new one where there is no file. Throws OperatorError where others can read the file, it
 * cannot be written, or its token is too short.
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

/** Time after which a wrong token is answered: long for a program that guesses, short for a person who mistypes. */
const wrongMs = 1_000
/** Answers to wrong tokens that wait at the same time: a tenth of the connections that the listener takes. */
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

  /** Whether an Authorization header has the token. */
  admits(authorization: string | undefined): boolean {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? ''
    // Digests have one length, so the time does not tell that of the token.
    return timingSafeEqual(digestOf(token), this.#digest)
  }

  /** Resolves to true when a wrong token is to be answered; at once to false where {@link waitingMax} wait already. */
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
