/**
 * JSON Web Tokens (RFC 7519) that replace an API key for a while. `kid` is the key's id, and the signature is by a key
 * pair (ES256) or secret (HS256) that was added to the key. Owns which tokens are valid; `keyChecker.ts` remembers
 * them.
 *
 * Signatures are checked by node:crypto, because libraries of tokens have only promises: a request would have to wait,
 * unread, before its key is known. ES256 takes 0.1 ms, HS256 a tenth of that, and both are remembered until `exp`.
 */
import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { KeyRow, TokenVerifier } from '../../data/store/node/keyRows.js'
import { digestPrefixBytes } from '../../data/store/node/keyTables.js'
import type { NodeStore } from '../../data/store/node/nodeStore.js'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import type { Pepper } from './pepper.js'

/** Longest time until `exp`. A stolen token works for this long; for longer times there are keys. */
export const tokenMinutesMax = 60

/** Longest token, in characters: 300 are usual. */
const tokenCharsMax = 4_096

/** Time before its start at which a token may be used, since clocks differ. */
const earlyMs = 60_000

/** Least secret of HS256 (RFC 7518, section 3.2), and the longest. */
const secretBytesMin = 32
const secretBytesMax = 1_024

/**
 * Wrong signatures of a key that are checked per second, from one address and from all: 2 % of a core. Beyond this,
 * unknown tokens of the key are refused: from that address, or from all addresses with a recent wrong signature.
 */
const wrongPerSecondMax = 200

/**
 * Time for which a wrong signature makes an address suspect. During a flood, each address can send one in that time.
 */
const latelyMs = 60_000

/**
 * Keys, and pairs of key and address, whose wrong signatures are counted; 200 bytes each. The one whose last wrong
 * signature is the oldest is dropped first.
 */
const countedMax = 20_000

/** Public keys cached as OpenSSL objects, 10 KB each: parsing one takes twice as long as checking a signature. */
const publicKeysMax = 1_000

/** The claims of a token; unverified until its signature is checked. */
type Claims = Readonly<Record<string, unknown>>

export type TokenProblem =
  | 'tokenMalformed'
  | 'tokenForged'
  | 'tokenExpired'
  | 'tokenLasting'
  | 'tokenForOthers'
  | 'tokenFlood'

/** A token with a correct signature: the data to check it again, without its text. */
export interface CheckedToken {
  /** The id of its key. */
  readonly kid: string
  /** The id of the signer. */
  readonly signer: string
  readonly untilMs: number
  readonly claims: Claims
}

type TokenCheck =
  | { readonly ok: true; readonly row: KeyRow; readonly token: CheckedToken }
  | { readonly ok: false; readonly why: TokenProblem }

export class Tokens {
  readonly #store: NodeStore
  readonly #pepper: Pepper
  readonly #dateMs: () => number
  /**
   * Key id, alone and with an address → its wrong signatures at a time. The count falls by {@link wrongPerSecondMax} a
   * second.
   */
  readonly #wrong = new LRUCache<string, { readonly count: number; readonly atMs: number }>({
    max: countedMax,
  })
  /** Public keys by the stored bytes of the key. */
  readonly #publicKeys = new LRUCache<string, KeyObject>({ max: publicKeysMax })

  constructor(store: NodeStore, pepper: Pepper, dateMs: () => number) {
    this.#store = store
    this.#pepper = pepper
    this.#dateMs = dateMs
  }

  /** The key that a token names, in any state; `address` is the client's. */
  check(token: string, address: string): TokenCheck {
    const parsed = parseToken(token)
    if (parsed === undefined) return refused('tokenMalformed')
    const { algorithm, kid, claims } = parsed
    const nowMs = this.#dateMs()
    const sender = `${kid} ${networkOf(address)}`
    if (this.#isFlooding(kid, sender, nowMs)) return refused('tokenFlood')
    const row = this.#store.readKeyByPrefix(Buffer.from(kid, 'hex'))
    const verifiers = row?.details?.tokens?.filter((each) => each.algorithm === algorithm) ?? []
    // Nothing to limit: without a verifier no signature is checked.
    if (row === undefined || verifiers.length === 0) return refused('tokenForged')
    const verifier = verifiers.find((each) => this.#isSigned(parsed, each))
    if (verifier === undefined) {
      for (const counted of [kid, sender]) {
        this.#wrong.set(counted, { count: this.#wrongOf(counted, nowMs) + 1, atMs: nowMs })
      }
      return refused('tokenForged')
    }
    const { exp, nbf } = claims
    if (typeof exp !== 'number' || exp * 1_000 > nowMs + tokenMinutesMax * 60_000)
      return refused('tokenLasting')
    if (exp * 1_000 <= nowMs) return refused('tokenExpired')
    const isValidYet = typeof nbf === 'number' && nbf * 1_000 <= nowMs + earlyMs
    if (nbf !== undefined && !isValidYet) return refused('tokenExpired')
    if (!isFor(claims, verifier)) return refused('tokenForOthers')
    const { aud, sub } = claims
    const checked = { kid, signer: verifier.id, untilMs: exp * 1_000, claims: { aud, sub } }
    return { ok: true, row, token: checked }
  }

  /**
   * Like {@link check}, but for a token that was accepted before. Its signature is not checked again, and so not
   * counted.
   */
  checkAgain(token: CheckedToken): TokenCheck {
    const row = this.#store.readKeyByPrefix(Buffer.from(token.kid, 'hex'))
    const verifier = row?.details?.tokens?.find(({ id }) => id === token.signer)
    if (row === undefined || verifier === undefined) return refused('tokenForged')
    if (token.untilMs <= this.#dateMs()) return refused('tokenExpired')
    return isFor(token.claims, verifier) ? { ok: true, row, token } : refused('tokenForOthers')
  }

  /**
   * Whether too many signatures are wrong: from this address, or of the key if this address sent a wrong one lately.
   */
  #isFlooding(kid: string, sender: string, nowMs: number): boolean {
    const last = this.#wrong.get(sender)
    if (last === undefined) return false
    const counted = nowMs - last.atMs < latelyMs ? [sender, kid] : [sender]
    return counted.some((each) => this.#wrongOf(each, nowMs) > wrongPerSecondMax - 1)
  }

  /** The count by now. It falls steadily, so that a client that retries during a flood finds room at some moments. */
  #wrongOf(kid: string, nowMs: number): number {
    const { count, atMs } = this.#wrong.get(kid) ?? { count: 0, atMs: nowMs }
    return Math.max(0, count - (Math.max(0, nowMs - atMs) * wrongPerSecondMax) / 1_000)
  }

  #isSigned({ algorithm, signed, signature }: ParsedToken, { material }: TokenVerifier): boolean {
    if (algorithm === 'ES256') {
      const key = this.#publicKeyOf(material)
      return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)
    }
    const secret = this.#pepper.unseal(material)
    const expected = createHmac('sha256', secret).update(signed).digest()
    return expected.length === signature.length && timingSafeEqual(expected, signature)
  }

  #publicKeyOf(material: Uint8Array): KeyObject {
    const der = Buffer.from(material.buffer, material.byteOffset, material.byteLength)
    const id = der.toString('latin1')
    const known = this.#publicKeys.get(id)
    if (known !== undefined) return known
    const key = publicKeyOf(der)
    this.#publicKeys.set(id, key)
    return key
  }
}

/** A verifier from the PEM text of a P-256 public key. Throws UsageError for any other. */
export function verifierOfPublicKey(pem: string): Pick<TokenVerifier, 'algorithm' | 'material'> {
  let key: KeyObject
  try {
    // createPublicKey would accept a private key and take its public key.
    if (/PRIVATE KEY/.test(pem)) throw new Error('private')
    key = createPublicKey(pem)
  } catch {
    throw new UsageError('expected the PEM text of a public key ("-----BEGIN PUBLIC KEY-----")')
  }
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new UsageError('ES256 needs a key of the curve P-256 (prime256v1)')
  }
  return { algorithm: 'ES256', material: key.export({ format: 'der', type: 'spki' }) }
}

/** A verifier from a secret. Throws UsageError for one that is too short. */
export function verifierOfSecret(
  secret: Uint8Array,
  pepper: Pepper,
): Pick<TokenVerifier, 'algorithm' | 'material'> {
  if (secret.length < secretBytesMin || secret.length > secretBytesMax) {
    throw new UsageError(`a secret of HS256 has ${secretBytesMin} to ${secretBytesMax} bytes`)
  }
  return { algorithm: 'HS256', material: pepper.seal(secret) }
}

interface ParsedToken {
  readonly algorithm: TokenVerifier['algorithm']
  readonly kid: string
  readonly claims: Claims
  readonly signed: Buffer
  readonly signature: Buffer
}

const tokenPattern = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/
const kidPattern = new RegExp(`^[0-9a-f]{${2 * digestPrefixBytes}}$`)

function parseToken(token: string): ParsedToken | undefined {
  const match = token.length <= tokenCharsMax ? tokenPattern.exec(token) : null
  if (match === null) return undefined
  const [, header, payload, signed] = match as unknown as [string, string, string, string]
  const signature = Buffer.from(signed, 'base64url')
  // One text for each signature: bits of the last character that mean nothing must be zero (RFC 4648, section 3.5).
  if (signature.toString('base64url') !== signed) return undefined
  const { alg, kid, crit } = readObject(header) ?? {}
  const claims = readObject(payload)
  if (claims === undefined) return undefined
  if (alg !== 'ES256' && alg !== 'HS256') return undefined
  if (typeof kid !== 'string' || !kidPattern.test(kid) || crit !== undefined) return undefined
  return { algorithm: alg, kid, claims, signed: Buffer.from(`${header}.${payload}`, 'latin1'), signature }
}

/** The object in a part of a token; undefined if the part is not an object. */
function readObject(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Claims)
      : undefined
  } catch {
    return undefined
  }
}

/** An IPv4 address, or the 64 bits of an IPv6 address that a client cannot choose itself. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = ''] = address.split('::')
  const groups = head.split(':').map((group) => Number.parseInt(group, 16))
  return Array.from({ length: 4 }, (_, at) => groups[at] || 0).join(':')
}

function isFor({ aud, sub }: CheckedToken['claims'], { audience, subject }: TokenVerifier): boolean {
  if (subject !== undefined && sub !== subject) return false
  return audience === undefined || (Array.isArray(aud) ? aud.includes(audience) : aud === audience)
}

function publicKeyOf(der: Buffer): KeyObject {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' })
  } catch {
    throw new OperatorError(
      'a public key of the node store is damaged; remove it with: tidegate keys jwt remove',
    )
  }
}

function refused(why: TokenProblem): TokenCheck {
  return { ok: false, why }
}
