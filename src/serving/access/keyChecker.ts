/**
 * API keys: checking the key that a request presents. Owns which keys are valid and the demo key's file. Does not own
 * their rows (`store/keyRows.ts`), changes to them (`keyChanges.ts`), nor the form of a refusal on the wire
 * (`transport/`).
 *
 * Only HMAC-SHA-256(pepper, text) is stored, so neither a copy of the store nor one of the pepper yields a key. A slow
 * password hash would add nothing, since there are 256 random bits to guess. Comparing digests in variable time is
 * safe. Without the pepper nobody can choose the digest of a guess, so the time reveals nothing about a key. The cache
 * is looked up by the text itself; V8 hashes texts with a random seed and compares them only if the hashes agree.
 */
import { LRUCache } from 'lru-cache'
import type { KeyRow } from '../../data/store/node/keyRows.js'
import type { NodeStore } from '../../data/store/node/nodeStore.js'
import type { Allowances, KeyAllowance } from './allowances.js'
import { tryCreateKey } from './keyChanges.js'
import type { KeyFreshness } from './keyFreshness.js'
import { type KeyRecord, prefixToId, rowToRecord } from './keyRecord.js'
import { KeyScope, type MethodScope } from './keyScope.js'
import { isKeyText } from './keyText.js'
import { Pepper } from './pepper.js'
import { readPrivateFile, replacePrivateFile } from './privateFile.js'
import { type CheckedToken, type TokenProblem, Tokens, tokenMinutesMax } from './tokens.js'

/** Reason for refusing a key. `malformed`: its shape or checksum is wrong, so it was mistyped or cut. */
export type KeyProblem =
  | 'missing'
  | 'malformed'
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'replaced'
  /** The database that has the keys does not answer, and may have newer data of this one. */
  | 'unreachable'
  | TokenProblem

/** The presented credential without its text: the digest of a key's text, or a token with a correct signature. */
export type Credential = Uint8Array | CheckedToken

export interface Sender {
  /** IP address of the client. */
  readonly address: string
}

export type KeyCheck =
  | {
      readonly ok: true
      /** The presented credentials: one. */
      readonly credentials: readonly Credential[]
      readonly key: KeyRecord
      readonly allowance?: KeyAllowance | undefined
      /** Where the key may be used, and its allowed methods; if absent, it may be used anywhere, for all methods. */
      readonly scope?: KeyScope
      readonly methods?: MethodScope | undefined
      /** End of the credential's validity. */
      readonly untilMs: number | undefined
    }
  /** `keyId`: of a key that has ended; absent if none is known. */
  | { readonly ok: false; readonly why: KeyProblem; readonly keyId?: string }

/** The reason in an answer to the caller; never contains the presented text. */
export const keyProblemTexts: Readonly<Record<KeyProblem, string>> = {
  missing: 'unauthorized: the address ends without an API key',
  malformed: 'unauthorized: this is not an API key; check that it was copied whole',
  unknown: 'unauthorized: unknown API key',
  revoked: 'unauthorized: this API key has been revoked',
  expired: 'unauthorized: this API key has expired',
  replaced: 'unauthorized: this API key was replaced by a newer one',
  unreachable: 'API keys cannot be checked at the moment',
  tokenMalformed:
    'unauthorized: this is no JSON Web Token of ES256 or HS256 whose kid is the id of an API key',
  tokenForged: 'unauthorized: no signer of this API key has signed this token',
  tokenExpired: 'unauthorized: this token has expired, or is not valid yet',
  tokenLasting: `unauthorized: a token needs an exp at most ${tokenMinutesMax} minutes ahead`,
  tokenForOthers: 'unauthorized: this token is for another audience or subject',
  tokenFlood: 'too many wrong tokens of this API key arrive; send this one again',
}

interface KeyCheckerPaths {
  readonly pepper: string
  readonly demoKey: string
}

interface KeyCheckerOptions {
  /** Limits of keys; if absent, no key has a limit. */
  readonly allowances?: Allowances | undefined
  /** Freshness of the store if it is a copy of shared keys. */
  readonly keyFreshness?: KeyFreshness | undefined
  /** Milliseconds on a clock that never goes back; `performance.now` if absent. */
  readonly clockMs?: () => number
  /** The time of day, for ends of validity; `Date.now` if absent. */
  readonly dateMs?: () => number
}

/** The demo key's text; `isNew` when this call made the key. */
interface DemoKey {
  readonly text: string
  readonly isNew: boolean
}

/** Name of the key that the first start makes. */
const demoKeyName = 'demo'

/**
 * Longest time until a change by another process takes effect. Asking the store is one read, so this interval costs
 * almost nothing of a core. A revocation still takes effect before its operator has read the confirmation.
 */
const recheckMsMax = 250

/**
 * Number of valid keys in the cache. Each takes about 1 KB, so 10 MB when full. A miss costs an HMAC and a read, so a
 * node with more keys in use is slower, not wrong.
 */
const rememberedKeysMax = 10_000

/** Made once, since a flood of requests may be refused. */
const refused = Object.fromEntries(
  Object.keys(keyProblemTexts).map((why) => [why, { ok: false, why }]),
) as unknown as Readonly<Record<KeyProblem, KeyCheck>>

export class KeyChecker {
  /** Contains valid keys only, so that guesses cannot evict them. */
  readonly #remembered = new LRUCache<string, KeyCheck>({ max: rememberedKeysMax })
  #generation: number
  #checkedAtMs: number
  readonly #store: NodeStore
  readonly #paths: KeyCheckerPaths
  readonly #allowances: Allowances | undefined
  /** Undefined if keys are not shared. */
  readonly keyFreshness: KeyFreshness | undefined
  readonly #clockMs: () => number
  readonly #dateMs: () => number
  readonly #tokens: Tokens

  private constructor(
    store: NodeStore,
    paths: KeyCheckerPaths,
    readonly pepper: Pepper,
    { allowances, keyFreshness, clockMs = () => performance.now(), dateMs = Date.now }: KeyCheckerOptions,
  ) {
    this.#store = store
    this.#paths = paths
    this.#allowances = allowances
    this.keyFreshness = keyFreshness
    this.#clockMs = clockMs
    this.#dateMs = dateMs
    this.#tokens = new Tokens(store, pepper, dateMs)
    this.#checkedAtMs = clockMs()
    this.#generation = store.readKeyGeneration()
  }

  /** Opens the keys of a store. Throws as {@link Pepper.open} does. */
  static open(store: NodeStore, paths: KeyCheckerPaths, options: KeyCheckerOptions = {}): KeyChecker {
    return new KeyChecker(store, paths, Pepper.open(store, paths.pepper), options)
  }

  /**
   * Checks whether a request with this key is accepted. Synchronous; for a known key, one look-up. Notices changes by
   * other processes by reading the clock, without a timer or a system call. An accepted credential can be checked
   * again: that reads one row, however many other keys were used meanwhile. The address of `from` is read only to check
   * a signature.
   */
  authorize(presented: string | Credential, from?: Sender): KeyCheck {
    if (typeof presented !== 'string') return this.#believed(presented, from)
    const nowMs = this.#clockMs()
    if (nowMs - this.#checkedAtMs >= recheckMsMax) this.#recheck(nowMs)
    const known = this.#remembered.get(presented)
    if (known === undefined || this.#isOver(known)) return this.#lookUp(presented, from)
    return known
  }

  #isOver(check: KeyCheck): boolean {
    return check.ok && check.untilMs !== undefined && check.untilMs <= this.#dateMs()
  }

  /** Number of changes to keys seen so far, by this process and others. */
  get seenGeneration(): number {
    return this.#generation
  }

  /**
   * Ids of the keys that changed after generation `since` (undefined: any key may have changed), and the newest
   * generation. {@link authorize} follows that generation from this call on.
   */
  readChanges(since: number): { readonly generation: number; readonly ids: readonly string[] | undefined } {
    this.#recheck(this.#clockMs())
    const changes = this.#changesAfter(since)
    return this.keyFreshness?.isOver ? { ...changes, ids: undefined } : changes
  }

  /**
   * The key for a newcomer's first request. Made if this store never had a key; otherwise undefined. `keepText` is for
   * the embedded demo network, whose data is public anyway. It keeps the text in a private file, and later calls return
   * it while the key is valid and the file exists.
   */
  ensureDemoKey({ keepText }: { readonly keepText: boolean }): DemoKey | undefined {
    if (keepText) {
      const text = readPrivateFile(this.#paths.demoKey)?.toString('latin1').trim()
      if (text !== undefined && this.authorize(text).ok) return { text, isNew: false }
    }
    // Checked before any write, because a full disk refuses writes.
    if (this.#store.hasKeys()) return undefined
    const made = tryCreateKey(this.#store, this.pepper, { name: demoKeyName }, 'serve', { onlyFirst: true })
    if (!made) return undefined
    // After the key, not before: of two processes that start together only the one whose key exists may write.
    if (keepText) replacePrivateFile(this.#paths.demoKey, Buffer.from(`${made.text}\n`, 'latin1'))
    return { text: made.text, isNew: true }
  }

  #recheck(nowMs: number): void {
    const { generation, ids } = this.#changesAfter(this.#generation)
    // Keys that did not change stay remembered: looking 10,000 of them up again takes 0.1 s.
    if (ids === undefined || this.keyFreshness?.isOver) this.#remembered.clear()
    else if (ids.length > 0) this.#forget(new Set(ids))
    this.#generation = generation
    this.#checkedAtMs = nowMs
  }

  #changesAfter(since: number): ReturnType<KeyChecker['readChanges']> {
    const { generation, prefixes } = this.#store.readKeyChanges(since)
    return { generation, ids: prefixes?.map(prefixToId) }
  }

  #forget(ids: ReadonlySet<string>): void {
    for (const [text, check] of [...this.#remembered]) {
      if (check.ok && ids.has(check.key.id)) this.#remembered.delete(text)
    }
  }

  #lookUp(presented: string, from: Sender | undefined): KeyCheck {
    if (presented === '') return refused.missing
    const check = this.#believed(presented, from)
    // A copy: a key cut out of a URL would keep the whole URL in memory.
    if (check.ok) this.#remembered.set(Buffer.from(presented, 'latin1').toString('latin1'), check)
    return check
  }

  /** The store's answer, as far as a copy of shared keys can be trusted. */
  #believed(presented: string | Credential, from: Sender | undefined): KeyCheck {
    if (this.keyFreshness?.isOver) return refused.unreachable
    const check =
      typeof presented === 'string' ? this.#checkText(presented, from) : this.#checkAgain(presented)
    const mayBeNew = !check.ok && (check.why === 'unknown' || check.why === 'tokenForged')
    return mayBeNew && this.keyFreshness?.isLost ? refused.unreachable : check
  }

  #checkText(text: string, from: Sender | undefined): KeyCheck {
    if (text.includes('.')) return this.#checkToken(this.#tokens.check(text, from?.address ?? ''))
    return isKeyText(text) ? this.#checkDigest(this.pepper.digest(text)) : refused.malformed
  }

  #checkAgain(credential: Credential): KeyCheck {
    if (credential instanceof Uint8Array) return this.#checkDigest(credential)
    return this.#checkToken(this.#tokens.checkAgain(credential))
  }

  #checkDigest(digest: Uint8Array): KeyCheck {
    const row = this.#store.readKey(digest)
    if (!row) return refused.unknown
    const untilMs = secretUntilMs(row, digest)
    return row.revokedAtMs === undefined && untilMs <= this.#dateMs()
      ? endedKey('replaced', row)
      : this.#checkOf(row, digest, untilMs)
  }

  #checkToken(check: ReturnType<Tokens['check']>): KeyCheck {
    return check.ok ? this.#checkOf(check.row, check.token, check.token.untilMs) : refused[check.why]
  }

  /** `credentialUntilMs`: end of the secret or token; Infinity if only its key has an end. */
  #checkOf(row: KeyRow, credential: Credential, credentialUntilMs: number): KeyCheck {
    if (row.revokedAtMs !== undefined) return endedKey('revoked', row)
    const key = rowToRecord(row)
    const untilMs = Math.min(key.expiresAtMs ?? Number.POSITIVE_INFINITY, credentialUntilMs)
    if (untilMs <= this.#dateMs()) return endedKey('expired', row)
    return {
      ok: true,
      credentials: [credential],
      key,
      untilMs: Number.isFinite(untilMs) ? untilMs : undefined,
      ...scopeOf(key),
      ...(this.#allowances && { allowance: this.#allowances.of(key.id, key.limits) }),
    }
  }
}

function endedKey(why: KeyProblem, row: KeyRow): KeyCheck {
  return { ok: false, why, keyId: rowToRecord(row).id }
}

function scopeOf({ scopes }: KeyRecord) {
  if (Object.values(scopes).every((entries) => entries.length === 0)) return {}
  const scope = new KeyScope(scopes)
  return { scope, methods: scope.methods }
}

/** End of the secret with this digest; Infinity if only its key has an end, 0 if it has ended. */
function secretUntilMs({ details }: KeyRow, digest: Uint8Array): number {
  if (details?.secrets === undefined) return Number.POSITIVE_INFINITY
  const secret = details.secrets.find((each) => Buffer.compare(each.digest, digest) === 0)
  return secret === undefined ? 0 : (secret.untilMs ?? Number.POSITIVE_INFINITY)
}
