/**
 * API keys as stored, and their encoding. `access/` owns the meaning of their members.
 *
 *   table       key → value (msgpack)
 *   keys        digest of the first secret (32 bytes) → [name, createdAtMs, revokedAtMs or null, details]; rows of
 *               schema 2 and earlier have no details
 *   keySecrets  digest of a later secret (32 bytes) → digest of the first
 *   keyQuotas   id of a key with a daily quota (6 bytes) → [day, units spent on it]
 */
import { Packr } from 'msgpackr'

/** Without shared structures, so that any msgpack decoder can read a single row. */
export const packr = new Packr({ useRecords: false, variableMapSize: true })

/** Where a key may be used. An empty list allows everything; otherwise one matching entry is enough. */
export interface KeyScopes {
  readonly networks: readonly string[]
  /** Names, or beginnings of names with `*` at the end. */
  readonly methods: readonly string[]
  /** Origins as browsers send them: `https://app.example.org`. */
  readonly origins: readonly string[]
  /** IP addresses and CIDR blocks. */
  readonly addresses: readonly string[]
}

/** Limits of a key; an absent member has the value of the configuration. */
export interface KeyLimits {
  readonly requestsPerSecond?: number
  /** Requests at once. */
  readonly requestsBurst?: number
  readonly unitsPerSecond?: number
  /** Units at once. */
  readonly unitsBurst?: number
  /** Units from midnight to midnight, UTC. */
  readonly unitsPerDay?: number
  /** WebSockets at the same time. */
  readonly sockets?: number
  /** Subscriptions at the same time, of all WebSockets. */
  readonly subscriptions?: number
  /** Share of the pool's time, relative to keys without a weight, which have 1. */
  readonly weight?: number
}

/** A secret text of a key. */
export interface KeySecret {
  /** HMAC-SHA-256 of the text, 32 bytes. */
  readonly digest: Uint8Array
  /** End of its validity; if absent, the end of the key's. */
  readonly untilMs?: number
}

/** Verifies tokens that stand for a key. */
export interface TokenVerifier {
  /** 8 hex digits; an operator removes it by this id. */
  readonly id: string
  readonly algorithm: 'ES256' | 'HS256'
  /** The public key (SPKI, DER), or the secret, sealed by the pepper. */
  readonly material: Uint8Array
  /** Required `aud` and `sub` of a token; if absent, any. */
  readonly audience?: string
  readonly subject?: string
  readonly addedAtMs: number
}

/** Settings of a key besides its name. An absent member has its default. */
export interface KeyDetails {
  readonly expiresAtMs?: number
  readonly scopes?: Partial<KeyScopes>
  readonly limits?: KeyLimits
  /** Valid secrets, oldest first; if absent, only the first. */
  readonly secrets?: readonly KeySecret[]
  readonly tokens?: readonly TokenVerifier[]
  readonly changedAtMs?: number
  /** Author of the last change, as named by the command line or the admin API. */
  readonly changedBy?: string
}

export interface KeyRow {
  /** Digest of its first secret, which identifies the key for good. The text itself is never stored. */
  readonly digest: Uint8Array
  readonly name: string
  readonly createdAtMs: number
  readonly revokedAtMs: number | undefined
  readonly details?: KeyDetails
}

export interface KeyChanged {
  readonly before: KeyRow
  readonly after: KeyRow
}

export function encodeKey({ name, createdAtMs, revokedAtMs, details }: KeyRow): Uint8Array {
  return packr.pack([name, createdAtMs, revokedAtMs ?? null, ...(details === undefined ? [] : [details])])
}

export function decodeKey(digest: Uint8Array, value: Uint8Array): KeyRow {
  const [name, createdAtMs, revokedAtMs, details] = packr.unpack(value) as [
    string,
    number,
    number | null,
    KeyDetails?,
  ]
  const row = { digest: Uint8Array.from(digest), name, createdAtMs, revokedAtMs: revokedAtMs ?? undefined }
  return details === undefined ? row : { ...row, details }
}

/** Units that a key spent on a day; days are counted from 1970. */
export interface SpentQuota {
  /** 12 hex digits. */
  readonly id: string
  readonly day: number
  readonly units: number
}

export function encodeQuota({ day, units }: SpentQuota): Uint8Array {
  return packr.pack([day, units])
}

export function decodeQuota(key: Uint8Array, value: Uint8Array): SpentQuota {
  const [day, units] = packr.unpack(value) as [number, number]
  return { id: Buffer.from(key).toString('hex'), day, units }
}
