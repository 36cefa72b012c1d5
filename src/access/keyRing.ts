/**
 * API keys: making, listing and revoking them, and checking the key that a request presents. Owns what a key is, the
 * pepper, and the demo key's file; rows live in `store/nodeStore.ts`, and what a refusal looks like on the wire is
 * decided in `transport/`.
 *
 * Only HMAC-SHA-256(pepper, text) is stored, so neither a copy of the store nor one of the pepper yields a key. A
 * slow password hash would add nothing, since there are 256 random bits to guess. Comparing digests in variable time
 * is safe: without the pepper nobody can choose the digest of a guess, so the time tells nothing about a key. The
 * cache is looked up by the text itself; V8 hashes texts with a random seed and compares them only where the hashes
 * agree.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { OperatorError, UsageError } from '../primitives/faults.js'
import { digestPrefixBytes, type KeyRow, type NodeStore } from '../store/nodeStore.js'
import { isKeyText, makeKeyText } from './keyText.js'
import type { KeyAllowance, Meter } from './meter.js'
import { createPrivateFile, readPrivateFile, replacePrivateFile } from './privateFile.js'

/** A key as its operator sees it. */
export interface KeyRecord {
  /** 12 hex digits: the first 6 bytes of the key's digest. */
  readonly id: string
  readonly name: string
  readonly createdAtMs: number
  readonly revokedAtMs: number | undefined
}

/** Why a key is refused. `malformed`: its shape or checksum is wrong, so it was mistyped or cut. */
export type KeyProblem = 'missing' | 'malformed' | 'unknown' | 'revoked'

export type KeyCheck =
  /** `allowance` is what the key may spend, where keys are metered. */
  | { readonly ok: true; readonly key: KeyRecord; readonly allowance?: KeyAllowance }
  | { readonly ok: false; readonly why: KeyProblem }

/** The reason as the caller is told it; never contains the text that was presented. */
export const keyProblemTexts: Readonly<Record<KeyProblem, string>> = {
  missing: 'unauthorized: the address ends without an API key',
  malformed: 'unauthorized: this is not an API key; check that it was copied whole',
  unknown: 'unauthorized: unknown API key',
  revoked: 'unauthorized: this API key has been revoked',
}

export interface KeyRingPaths {
  readonly pepper: string
  readonly demoKey: string
}

export interface KeyRingOptions {
  /** Limits what each key may spend; absent: no limit. */
  readonly meter?: Meter | undefined
  /** Milliseconds on a clock that never goes back; `performance.now` where absent. */
  readonly clockMs?: () => number
}

/** A new key. `text` is stored nowhere and cannot be recovered. */
export interface NewKey {
  readonly key: KeyRecord
  readonly text: string
}

/** The demo key's text; `isNew` when this call made the key. */
export interface DemoKey {
  readonly text: string
  readonly isNew: boolean
}

/** Name of the key that the first start makes. */
export const demoKeyName = 'demo'

/**
 * Longest time until a change by another process is seen. Asking the store costs about 3 µs, so at this interval it
 * takes 0.001 % of a core, and a revocation still takes effect before its operator has read the confirmation.
 */
const recheckMsMax = 250

/**
 * Valid keys remembered. Each takes about 400 bytes, 600 where metered, so 6 MB when full; a miss costs about 10 µs (HMAC and a read),
 * so a node with more keys in use at once is slower, not wrong.
 */
const rememberedKeysMax = 10_000

const pepperBytes = 32
const pepperMarkText = 'tidegate: mark of this pepper'

/** Letters, marks, digits, punctuation, symbols and inner spaces; nothing invisible that could fake a listing. */
const namePattern =
  /^[\p{L}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]{0,62}[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u
const idPattern = /^[0-9a-f]{12}$/

const refused: Readonly<Record<KeyProblem, KeyCheck>> = {
  missing: { ok: false, why: 'missing' },
  malformed: { ok: false, why: 'malformed' },
  unknown: { ok: false, why: 'unknown' },
  revoked: { ok: false, why: 'revoked' },
}

export class KeyRing {
  /** Holds valid keys only, so that guesses cannot evict them. */
  readonly #remembered = new LRUCache<string, KeyCheck>({ max: rememberedKeysMax })
  #generation: number
  #checkedAtMs: number
  readonly #store: NodeStore
  readonly #paths: KeyRingPaths
  readonly #pepper: KeyObject
  readonly #meter: Meter | undefined
  readonly #clockMs: () => number

  private constructor(
    store: NodeStore,
    paths: KeyRingPaths,
    pepper: KeyObject,
    meter: Meter | undefined,
    clockMs: () => number,
  ) {
    this.#store = store
    this.#paths = paths
    this.#pepper = pepper
    this.#meter = meter
    this.#clockMs = clockMs
    this.#checkedAtMs = clockMs()
    this.#generation = store.readKeyGeneration()
  }

  /**
   * Opens the keys of a store and makes the pepper on first use. Throws OperatorError where the pepper is missing
   * although keys exist, can be read by other users, is damaged, or is not the one the keys were made with.
   */
  static open(store: NodeStore, paths: KeyRingPaths, options: KeyRingOptions = {}): KeyRing {
    const { meter, clockMs = () => performance.now() } = options
    return new KeyRing(store, paths, openPepper(store, paths.pepper), meter, clockMs)
  }

  /**
   * Whether a request with this key is accepted. Synchronous; about 0.1 µs for a key seen before. Changes by other
   * processes are noticed here, by reading the clock, which needs neither a timer nor a system call.
   */
  authorize(presented: string): KeyCheck {
    const nowMs = this.#clockMs()
    if (nowMs - this.#checkedAtMs >= recheckMsMax) this.#recheck(nowMs)
    return this.#remembered.get(presented) ?? this.#lookUp(presented)
  }

  /** Number of changes to keys seen so far, by this process and others. */
  get seenGeneration(): number {
    return this.#generation
  }

  /**
   * Ids of the keys that were changed after generation `since` (undefined where the store no longer knows), and the
   * newest generation, which {@link authorize} follows from this call on.
   */
  readChanges(since: number): { readonly generation: number; readonly ids: readonly string[] | undefined } {
    this.#recheck(this.#clockMs())
    return this.#changesAfter(since)
  }

  /** Makes a key; it is on disk when this returns. Throws UsageError for a bad name, OperatorError for a taken one. */
  createKey(name: string): NewKey {
    const made = this.#makeKey(parseName(name), { onlyFirst: false })
    if (!made) {
      throw new OperatorError(
        `a key named "${name}" exists already; choose another name or revoke that key first`,
      )
    }
    return made
  }

  /**
   * The key for a newcomer's first request. Made if this store never had a key; otherwise undefined. With `keepText`,
   * meant for the embedded demo network whose data is public anyway, its text is kept in a private file, and later
   * calls return it as long as the key is valid and the file is there.
   */
  ensureDemoKey({ keepText }: { readonly keepText: boolean }): DemoKey | undefined {
    if (keepText) {
      const text = readPrivateFile(this.#paths.demoKey)?.toString('latin1').trim()
      if (text !== undefined && this.authorize(text).ok) return { text, isNew: false }
    }
    const made = this.#makeKey(demoKeyName, { onlyFirst: true })
    if (!made) return undefined
    // After the key, not before: of two processes that start together only the one whose key exists may write.
    if (keepText) replacePrivateFile(this.#paths.demoKey, Buffer.from(`${made.text}\n`, 'latin1'))
    return { text: made.text, isNew: true }
  }

  #makeKey(name: string, { onlyFirst }: { onlyFirst: boolean }): NewKey | undefined {
    for (;;) {
      const text = makeKeyText()
      const row = { digest: this.#digest(text), name, createdAtMs: Date.now(), revokedAtMs: undefined }
      const outcome = this.#store.writeKey(row, { onlyFirst })
      if (outcome === 'written') return { key: rowToRecord(row), text }
      if (outcome !== 'digestPrefixTaken') return undefined
    }
  }

  #recheck(nowMs: number): void {
    const { generation, ids } = this.#changesAfter(this.#generation)
    // Keys that did not change stay remembered: looking 10,000 of them up again takes 0.1 s.
    if (ids === undefined) this.#remembered.clear()
    else if (ids.length > 0) this.#forget(new Set(ids))
    this.#generation = generation
    this.#checkedAtMs = nowMs
  }

  #changesAfter(since: number): ReturnType<KeyRing['readChanges']> {
    const { generation, prefixes } = this.#store.readKeyChanges(since)
    return { generation, ids: prefixes?.map(prefixToId) }
  }

  #forget(ids: ReadonlySet<string>): void {
    for (const [text, check] of [...this.#remembered]) {
      if (check.ok && ids.has(check.key.id)) this.#remembered.delete(text)
    }
  }

  #lookUp(presented: string): KeyCheck {
    if (presented === '') return refused.missing
    if (!isKeyText(presented)) return refused.malformed
    const row = this.#store.readKey(this.#digest(presented))
    if (!row) return refused.unknown
    if (row.revokedAtMs !== undefined) return refused.revoked
    const key = rowToRecord(row)
    const check: KeyCheck = {
      ok: true,
      key,
      ...(this.#meter && { allowance: this.#meter.allowanceOf(key.id) }),
    }
    // A copy: a key cut out of a URL would keep the whole URL in memory.
    this.#remembered.set(Buffer.from(presented, 'latin1').toString('latin1'), check)
    return check
  }

  #digest(text: string): Uint8Array {
    return hmac(this.#pepper, text)
  }
}

/** All keys of a store, revoked ones too, oldest first. Needs no pepper. */
export function listKeys(store: NodeStore): KeyRecord[] {
  return store.readKeys().map(rowToRecord)
}

/**
 * Revokes a key for good; on disk when this returns, and in force in every process within {@link recheckMsMax}. Needs
 * no pepper. Returns the key as it was: with `revokedAtMs` if it had been revoked already. Throws UsageError where
 * `id` is not 12 hex digits, OperatorError where no key has it.
 */
export function revokeKey(store: NodeStore, id: string): KeyRecord {
  if (!idPattern.test(id)) {
    throw new UsageError('a key is revoked by its id of 12 hex digits; find it with: tidegate keys list')
  }
  const row = store.revokeKey(Buffer.from(id, 'hex'), Date.now())
  if (!row) throw new OperatorError(`there is no key with id ${id}; find its id with: tidegate keys list`)
  return rowToRecord(row)
}

/** A key's name in Unicode's composed form (NFC). Throws UsageError for one that {@link namePattern} forbids. */
function parseName(name: string): string {
  const composed = name.normalize('NFC')
  if (namePattern.test(composed)) return composed
  throw new UsageError(
    'a key needs a name of 1 to 64 printable characters that neither begins nor ends with a space',
  )
}

function openPepper(store: NodeStore, path: string): KeyObject {
  let pepper = readPrivateFile(path)
  if (!pepper) {
    if (store.hasKeys()) {
      throw new OperatorError(
        `the pepper ${path} is missing, and without it no API key can be checked; restore it from a backup, or remove ${store.path} as well to begin without keys`,
      )
    }
    createPrivateFile(path, randomBytes(pepperBytes))
    pepper = readPrivateFile(path)
  }
  if (pepper?.length !== pepperBytes) {
    throw new OperatorError(
      `the pepper ${path} is damaged: it must be ${pepperBytes} bytes long; restore it from a backup`,
    )
  }
  const secret = createSecretKey(pepper)
  pepper.fill(0)
  const mark = hmac(secret, pepperMarkText)
  const stored = store.readPepperMark()
  if (!stored || Buffer.compare(stored, mark) !== 0) {
    if (stored && store.hasKeys()) {
      throw new OperatorError(
        `the pepper ${path} is not the one that the API keys in ${store.path} were made with; restore both from the same backup`,
      )
    }
    store.writePepperMark(mark)
  }
  return secret
}

function hmac(secret: KeyObject, text: string): Uint8Array {
  return createHmac('sha256', secret).update(text).digest()
}

function rowToRecord({ digest, name, createdAtMs, revokedAtMs }: KeyRow): KeyRecord {
  return { id: prefixToId(digest.subarray(0, digestPrefixBytes)), name, createdAtMs, revokedAtMs }
}

function prefixToId(prefix: Uint8Array): string {
  return Buffer.from(prefix).toString('hex')
}
