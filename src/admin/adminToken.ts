/**
 * The token of the admin listener: made at the first start, kept in a private file, and compared in constant time.
 * Addresses that guess are locked out for a while.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createPrivateFile, readPrivateFile } from '../access/privateFile.js'
import { OperatorError } from '../primitives/faults.js'

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

/** Wrong tokens of one address after which it is locked out: a few for mistakes. */
const wrongMax = 10
const lockedMs = 60_000
/** Addresses remembered; with more guessers than that the oldest is forgotten. */
const addressesMax = 1_000

/** What became of an attempt; of a locked address the milliseconds until it may try again. */
export type Admitted = 'yes' | 'no' | { readonly lockedMs: number }

export class TokenGate {
  readonly #digest: Buffer
  readonly #nowMs: () => number
  /** Address → wrong tokens since `sinceMs`. */
  readonly #wrong = new Map<string, { count: number; sinceMs: number }>()

  /** `nowMs` is a clock that never goes back. */
  constructor(token: string, nowMs: () => number = () => performance.now()) {
    this.#digest = digestOf(token)
    this.#nowMs = nowMs
  }

  /**
   * Checks an Authorization header. A locked address is refused whatever it sends, so that a lock tells nothing of
   * the token. A header that is absent is no guess.
   */
  admit(address: string, authorization: string | undefined): Admitted {
    const wrong = this.#wrong.get(address)
    const leftMs = wrong === undefined ? 0 : wrong.sinceMs + lockedMs - this.#nowMs()
    if (wrong !== undefined && leftMs <= 0) this.#wrong.delete(address)
    else if (wrong !== undefined && wrong.count >= wrongMax) return { lockedMs: leftMs }
    if (authorization === undefined) return 'no'
    const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
    // Digests have one length, so the time does not tell that of the token.
    if (timingSafeEqual(digestOf(token), this.#digest)) return 'yes'
    this.#count(address)
    return 'no'
  }

  #count(address: string): void {
    const wrong = this.#wrong.get(address)
    if (wrong !== undefined) {
      wrong.count++
      wrong.sinceMs = this.#nowMs()
      return
    }
    if (this.#wrong.size >= addressesMax) this.#wrong.delete(this.#wrong.keys().next().value as string)
    this.#wrong.set(address, { count: 1, sinceMs: this.#nowMs() })
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
