/**
 * The tables of keys, with the audit log of their changes. Of secrets only digests are stored. Owns the writes of a key
 * change; `access/` owns their meaning. {@link NodeStore} has these tables, and so has a process's copy of shared keys.
 */
import type { RootDatabase } from 'lmdb'
import { commitSync, type Table } from '../lmdb/environment.js'
import { type AuditEntry, type AuditLog, noteOfKey } from './audit.js'
import { decodeKey, encodeKey, type KeyChanged, type KeyRow, packr } from './keyRows.js'

export type KeyWritten = 'written' | 'nameTaken' | 'digestPrefixTaken' | 'notFirst'

/** Keys changed since a generation; `prefixes` is undefined if they are too many to be known. */
export interface KeyChanges {
  readonly generation: number
  readonly prefixes: readonly Uint8Array[] | undefined
}

/** Number of changes kept: more than can happen, at one flush each, between two checks of a process. They take 6 KB. */
const keyChangesMax = 1_000

/** Bytes of a digest that identify a key; no two keys share them. */
export const digestPrefixBytes = 6

/** Changes that a copy of shared keys lacks. */
export interface KeyNews {
  /** The sequence number of the copy; if undefined, the news are complete and replace the copy. */
  readonly after: number | undefined
  /** The sequence number of the copy with these changes. */
  readonly sequence: number
  /** Current keys, each with the digests of all secrets that it ever had besides the first. */
  readonly keys: readonly { readonly row: KeyRow; readonly secrets: readonly Uint8Array[] }[]
  readonly entries: readonly AuditEntry[]
  readonly pepperFingerprint: Uint8Array | undefined
}

export interface KeyTableSet {
  readonly meta: Table
  readonly keys: Table
  readonly keyNames: Table
  readonly keySecrets: Table
}

export class KeyTables {
  readonly #meta: Table
  readonly #keys: Table
  readonly #keyNames: Table
  readonly #keySecrets: Table

  constructor(
    readonly path: string,
    protected readonly environment: RootDatabase,
    { meta, keys, keyNames, keySecrets }: KeyTableSet,
    /** Undefined in a read-only store that has none yet. */
    readonly audit: AuditLog | undefined,
  ) {
    this.#meta = meta
    this.#keys = keys
    this.#keyNames = keyNames
    this.#keySecrets = keySecrets
  }

  /** A number that differs after every change of keys, by any process. One read. */
  readKeyGeneration(): number {
    this.renewReads()
    return this.readMeta<number>('keyGeneration') ?? 0
  }

  /** Keys changed after a generation. Without changes it is as fast as {@link readKeyGeneration}. */
  readKeyChanges(since: number): KeyChanges {
    const generation = this.readKeyGeneration()
    if (generation === since) return { generation, prefixes: [] }
    const [last, prefixes] = this.readMeta<[number, Uint8Array]>('keyChanges') ?? [0, new Uint8Array(0)]
    const count = generation - since
    const isKnown = last === generation && count > 0 && count * digestPrefixBytes <= prefixes.length
    if (!isKnown) return { generation, prefixes: undefined }
    const start = prefixes.length - count * digestPrefixBytes
    return {
      generation,
      prefixes: Array.from({ length: count }, (_, index) => {
        const at = start + index * digestPrefixBytes
        return prefixes.slice(at, at + digestPrefixBytes)
      }),
    }
  }

  /**
   * The key that has or had a secret with this digest; sees the latest writes of all processes. Its details say whether
   * that secret is still valid.
   */
  readKey(digest: Uint8Array): KeyRow | undefined {
    this.renewReads()
    const first = this.#keySecrets.get(digest) ?? digest
    const value = this.#keys.get(first)
    return value && decodeKey(first, value)
  }

  /** The key whose first digest begins with `prefix` of {@link digestPrefixBytes}. */
  readKeyByPrefix(prefix: Uint8Array): KeyRow | undefined {
    this.renewReads()
    return this.#findByPrefix(prefix)
  }

  /** The key that has this name and is not revoked. */
  readKeyByName(name: string): KeyRow | undefined {
    this.renewReads()
    const digest = this.#keyNames.get(nameToKey(name))
    const value = digest && this.#keys.get(digest)
    return value && decodeKey(digest, value)
  }

  /** All keys, revoked ones too, oldest first. */
  readKeys(): KeyRow[] {
    this.renewReads()
    const rows = [...this.#keys.getRange()].map(({ key, value }) => decodeKey(key, value))
    return rows.sort((a, b) => a.createdAtMs - b.createdAtMs || Buffer.compare(a.digest, b.digest))
  }

  /** Digests of all later secrets that keys have or had, each with that of the first one. */
  readLaterSecrets(): { readonly digest: Uint8Array; readonly first: Uint8Array }[] {
    this.renewReads()
    return [...this.#keySecrets.getRange({})].map(({ key, value }) => ({
      digest: Uint8Array.from(key),
      first: Uint8Array.from(value),
    }))
  }

  hasKeys(): boolean {
    this.renewReads()
    return this.#keys.getKeysCount({ limit: 1 }) > 0
  }

  /**
   * The outcome that {@link writeKey} would have. Not 'written' if a live key has the name, another key has the first
   * bytes of the digest, or (with `onlyFirst`) a key exists already.
   */
  planKey(row: KeyRow, { onlyFirst = false } = {}): KeyWritten {
    if (onlyFirst && this.#keys.getKeysCount({ limit: 1 }) > 0) return 'notFirst'
    if (this.#keyNames.get(nameToKey(row.name))) return 'nameTaken'
    return this.#findByPrefix(row.digest.subarray(0, digestPrefixBytes)) ? 'digestPrefixTaken' : 'written'
  }

  /** Adds a key. It is on disk when this returns 'written'; otherwise nothing was changed. */
  writeKey(row: KeyRow, options: { readonly onlyFirst?: boolean } = {}): KeyWritten {
    return commitSync(this.environment, this.path, () => {
      const outcome = this.planKey(row, options)
      if (outcome !== 'written') return outcome
      this.#keys.putSync(row.digest, encodeKey(row))
      this.#keyNames.putSync(nameToKey(row.name), row.digest)
      this.#noteChange(undefined, row)
      return outcome
    })
  }

  /** The outcome that {@link changeKey} would have. */
  planChange(digest: Uint8Array, change: (row: KeyRow) => KeyRow): KeyChanged | 'nameTaken' | undefined {
    const value = this.#keys.get(digest)
    if (!value) return undefined
    const before = decodeKey(digest, value)
    const after = change(before)
    return after.name !== before.name && this.#keyNames.get(nameToKey(after.name))
      ? 'nameTaken'
      : { before, after }
  }

  /**
   * Replaces a key by the result of `change`, in one transaction, and returns both; undefined if no key has this
   * digest. `change` returns its argument to change nothing, and may throw. A revoked key frees its name. An added
   * secret leads to the key for good. On disk when this returns, unless it returns 'nameTaken': then nothing was
   * changed, because another live key has the new name.
   */
  changeKey(digest: Uint8Array, change: (row: KeyRow) => KeyRow): KeyChanged | 'nameTaken' | undefined {
    return commitSync(this.environment, this.path, () => {
      const planned = this.planChange(digest, change)
      if (planned === undefined || planned === 'nameTaken') return planned
      const { before, after } = planned
      if (after === before) return planned
      if (before.revokedAtMs === undefined) this.#keyNames.removeSync(nameToKey(before.name))
      if (after.revokedAtMs === undefined) this.#keyNames.putSync(nameToKey(after.name), digest)
      for (const secret of laterSecrets(after)) this.#keySecrets.putSync(secret, digest)
      this.#keys.putSync(digest, encodeKey(after))
      this.#noteChange(before, after)
      return planned
    })
  }

  readPepperFingerprint(): Uint8Array | undefined {
    this.renewReads()
    return this.readMeta<Uint8Array>('pepperMark')
  }

  /** Binds the store to a pepper; it is on disk when this returns. */
  writePepperFingerprint(fingerprint: Uint8Array): void {
    commitSync(this.environment, this.path, () => this.putMeta('pepperMark', fingerprint))
  }

  /**
   * The sequence number of this copy of the shared keys, and the time when it was complete; undefined if it is no copy.
   */
  readCopied(): { readonly sequence: number; readonly atMs: number } | undefined {
    this.renewReads()
    const copied = this.readMeta<[number, number]>('copied')
    return copied && { sequence: copied[0], atMs: copied[1] }
  }

  /**
   * Updates this copy of shared keys, as of `atMs`. Returns false and changes nothing if another process has changed
   * the copy since `news.after`.
   */
  applyNews(news: KeyNews, atMs: number): boolean {
    return commitSync(this.environment, this.path, () => {
      const copied = this.readMeta<[number, number]>('copied')
      if (news.after === undefined) this.#clear()
      else if (copied?.[0] !== news.after) return false
      // Freed names go first, because another key may have got one of them.
      for (const { row } of news.keys) {
        const value = this.#keys.get(row.digest)
        const before = value && decodeKey(row.digest, value)
        if (before && before.revokedAtMs === undefined) this.#keyNames.removeSync(nameToKey(before.name))
      }
      for (const { row, secrets } of news.keys) {
        if (row.revokedAtMs === undefined) this.#keyNames.putSync(nameToKey(row.name), row.digest)
        for (const digest of secrets) this.#keySecrets.putSync(digest, row.digest)
        this.#keys.putSync(row.digest, encodeKey(row))
        this.#raiseGeneration(row.digest)
      }
      for (const entry of news.entries) this.audit?.put(entry)
      if (news.pepperFingerprint !== undefined) this.putMeta('pepperMark', news.pepperFingerprint)
      this.putMeta('copied', [news.sequence, atMs])
      return true
    })
  }

  #clear(): void {
    for (const table of [this.#keys, this.#keyNames, this.#keySecrets]) {
      for (const key of [...(table?.getKeys() ?? [])]) table?.removeSync(key)
    }
    this.audit?.clear()
    // Written without a list of changes, so that readers forget all keys.
    this.putMeta('keyGeneration', (this.readMeta<number>('keyGeneration') ?? 0) + 1)
  }

  #findByPrefix(prefix: Uint8Array): KeyRow | undefined {
    for (const { key, value } of this.#keys.getRange({ start: prefix, limit: 1 })) {
      if (Buffer.compare(key.subarray(0, prefix.length), prefix) === 0) return decodeKey(key, value)
    }
    return undefined
  }

  #noteChange(before: KeyRow | undefined, after: KeyRow): void {
    this.audit?.append(noteOfKey(before, after, keyIdOf(after)))
    this.#raiseGeneration(after.digest)
  }

  #raiseGeneration(changed: Uint8Array): void {
    const before = this.readMeta<number>('keyGeneration') ?? 0
    const [last, prefixes] = this.readMeta<[number, Uint8Array]>('keyChanges') ?? [0, new Uint8Array(0)]
    // A version without `keyChanges` may have raised the generation.
    const kept = last === before ? prefixes.subarray(-(keyChangesMax - 1) * digestPrefixBytes) : []
    this.putMeta('keyGeneration', before + 1)
    this.putMeta('keyChanges', [
      before + 1,
      Buffer.from([...kept, ...changed.subarray(0, digestPrefixBytes)]),
    ])
  }

  protected readMeta<T>(name: string): T | undefined {
    const value = this.#meta.get(nameToKey(name))
    return value && (packr.unpack(value) as T)
  }

  /** Call it only within a transaction. */
  protected putMeta(name: string, value: unknown): void {
    this.#meta.putSync(nameToKey(name), packr.pack(value))
  }

  /** Ends the read transaction of this turn of the event loop, which may be older than a write of another process. */
  protected renewReads(): void {
    this.environment.resetReadTxn()
  }
}

/** 12 hex digits. */
export function keyIdOf({ digest }: KeyRow): string {
  return Buffer.from(digest.subarray(0, digestPrefixBytes)).toString('hex')
}

/** Digests of the secrets of a key besides its first. */
export function laterSecrets({ digest, details }: KeyRow): Uint8Array[] {
  const all = (details?.secrets ?? []).map((secret) => secret.digest)
  return all.filter((secret) => Buffer.compare(secret, digest) !== 0)
}

function nameToKey(name: string): Uint8Array {
  return Buffer.from(name, 'utf8')
}
