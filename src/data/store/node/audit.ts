/**
 * The audit log: changes of keys with their authors, failed log-ins and reloads, in the order of events. Owns the table
 * and its chain of hashes. Entries are only added, in the transaction of the change that they describe: neither can
 * exist without the other. That is why the log is in the node store and not in a file beside it.
 *
 *   table   key → value (msgpack)
 *   audit   sequence number from 1 (8 bytes) → [atMs, actor, action, key id or null, detail, hash]
 *   meta    'auditHead' → [sequence number, hash] of the newest entry
 *
 * The hash of an entry is SHA-256(previous hash ‖ msgpack of the row without its hash). The hash before the first entry
 * is 32 zero bytes. An entry that was changed, removed or moved no longer fits its neighbours. Entries removed at the
 * end no longer fit `auditHead`. An attacker who can write the store can also compute a new chain. Against that the
 * operator keeps the newest hash elsewhere.
 */
import { createHash } from 'node:crypto'
import type { RootDatabase } from 'lmdb'
import { OperatorError } from '../../../primitives/faults.js'
import { openTable, type Table } from '../lmdb/environment.js'
import { type KeyRow, packr } from './keyRows.js'

export const auditTableNames = { audit: 'audit' } as const

export type AuditAction =
  | 'key created'
  | 'key changed'
  | 'key rotated'
  | 'key revoked'
  | 'key shared'
  | 'log-in failed'
  | 'configuration reloaded'

export interface AuditNote {
  readonly atMs: number
  /** The author: a command, or an address. */
  readonly actor: string
  readonly action: AuditAction
  /** Id of the key, which has no part of its secret. */
  readonly keyId: string | undefined
  readonly detail: string
}

export interface AuditEntry extends AuditNote {
  /** Sequence number, from 1. */
  readonly sequence: number
  /** Hash of the entry, 64 hex digits. */
  readonly hash: string
}

export interface AuditVerdict {
  readonly entries: number
  /** Hash of the newest entry that fits; undefined if there is none. */
  readonly hash: string | undefined
  /** The first fault of the chain; undefined if there is none. */
  readonly fault: string | undefined
}

export type AuditHead = Pick<AuditEntry, 'sequence' | 'hash'>

type Head = readonly [sequence: number, hash: Uint8Array]
type Row = readonly [number, string, AuditAction, string | null, string, Uint8Array]

const headName = Buffer.from('auditHead')
const firstHash = new Uint8Array(32)

export class AuditLog {
  readonly #environment: RootDatabase
  readonly #audit: Table
  readonly #meta: Table

  constructor(environment: RootDatabase, audit: Table, meta: Table) {
    this.#environment = environment
    this.#audit = audit
    this.#meta = meta
  }

  /** Undefined for a reader if no writer has made the table yet. */
  static open(environment: RootDatabase, meta: Table): AuditLog | undefined {
    const audit = openTable(environment, auditTableNames.audit)
    return audit && new AuditLog(environment, audit, meta)
  }

  /** Adds an entry, within a transaction that the caller began. */
  append(note: AuditNote): void {
    this.put(sealNote(this.head, note))
  }

  /** Adds an existing entry unchanged, within a transaction that the caller began: for a copy of the log. */
  put(entry: AuditEntry): void {
    const { sequence, atMs, actor, action, keyId = null, detail, hash } = entry
    const bytes = Buffer.from(hash, 'hex')
    this.#audit.putSync(keyOf(sequence), packr.pack([atMs, actor, action, keyId, detail, bytes]))
    this.#meta.putSync(headName, packr.pack([sequence, bytes]))
  }

  /** Removes all entries, within a transaction that the caller began: for a copy that is rebuilt. */
  clear(): void {
    for (const key of [...this.#audit.getKeys()]) this.#audit.removeSync(key)
    this.#meta.removeSync(headName)
  }

  /** Number and hash of the newest entry: 0 and 32 zero bytes if there is none. */
  get head(): AuditHead {
    const [sequence, hash] = this.#readHead() ?? this.#newest()
    return { sequence, hash: toHex(hash) }
  }

  /** Entries from number `from` on, oldest first, at most `limit`. Throws OperatorError at a malformed one. */
  *read(from = 1, limit = Number.POSITIVE_INFINITY): Generator<AuditEntry> {
    this.#environment.resetReadTxn()
    const range = { start: keyOf(from), ...(Number.isFinite(limit) && { limit }) }
    for (const { key, value } of this.#audit.getRange(range)) {
      yield decodeEntry(Number(Buffer.from(key).readBigUInt64BE()), value)
    }
  }

  /** Number of the newest entry; 0 if there is none. */
  get last(): number {
    this.#environment.resetReadTxn()
    return this.#readHead()?.[0] ?? 0
  }

  /** Checks the whole chain. If `known` (64 hex digits) is given, also checks that an entry has that hash. */
  verify(known?: string): AuditVerdict {
    let entries = 0
    let hash: Uint8Array = firstHash
    let isKnown = known === undefined
    const verdict = (fault?: string) => ({
      entries,
      hash: entries === 0 ? undefined : toHex(hash),
      fault,
    })
    const rest = this.read()
    for (;;) {
      let next: IteratorResult<AuditEntry>
      try {
        next = rest.next()
      } catch (error) {
        if (error instanceof OperatorError) return verdict(error.message)
        throw error
      }
      if (next.done) break
      const entry = next.value
      const expected = entries + 1
      if (entry.sequence !== expected) return verdict(`entry ${expected} is missing`)
      const computed = hashOf(hash, entry.sequence, entry)
      if (toHex(computed) !== entry.hash) {
        return verdict(`entry ${expected} is not the one that was written after entry ${entries}`)
      }
      hash = computed
      entries = expected
      isKnown ||= entry.hash === known
    }
    const [last, newest] = this.#readHead() ?? [0, firstHash]
    if (last > entries) return verdict(`entries ${entries + 1} to ${last} are missing at the end`)
    if (last < entries || toHex(newest) !== toHex(hash))
      return verdict('the head does not fit the newest entry')
    return verdict(isKnown ? undefined : 'no entry has the hash that was given')
  }

  /** The newest entry by the entries themselves: if `auditHead` was removed, no entry may be overwritten. */
  #newest(): Head {
    for (const { key, value } of this.#audit.getRange({ reverse: true, limit: 1 })) {
      return [Number(Buffer.from(key).readBigUInt64BE()), (packr.unpack(value) as Row)[5]]
    }
    return [0, firstHash]
  }

  #readHead(): Head | undefined {
    const value = this.#meta.get(headName)
    return value && (packr.unpack(value) as Head)
  }
}

/** The entry that follows `head`. */
export function sealNote(head: AuditHead, note: AuditNote): AuditEntry {
  const sequence = head.sequence + 1
  return { ...note, sequence, hash: toHex(hashOf(Buffer.from(head.hash, 'hex'), sequence, note)) }
}

/**
 * The audit note for a change of a key; `before` is undefined for a new one. It names changed settings without values.
 */
export function noteOfKey(before: KeyRow | undefined, after: KeyRow, keyId: string): AuditNote {
  const { changedAtMs = Date.now(), changedBy = 'unknown', secrets } = after.details ?? {}
  const note = { atMs: changedAtMs, actor: changedBy, keyId }
  if (before === undefined)
    return { ...note, action: 'key created', detail: changedSettings(undefined, after) }
  if (before.revokedAtMs !== after.revokedAtMs) return { ...note, action: 'key revoked', detail: '' }
  if (isSame(before.details?.secrets, secrets)) {
    return { ...note, action: 'key changed', detail: changedSettings(before, after) }
  }
  const until = secrets?.find(({ untilMs }) => untilMs !== undefined)?.untilMs
  const detail = until === undefined ? '' : `earlier secret until ${new Date(until).toISOString()}`
  return { ...note, action: 'key rotated', detail }
}

/** Names of the settings in which two keys differ, separated by commas. */
function changedSettings(before: KeyRow | undefined, after: KeyRow): string {
  const settingsOf = (row: KeyRow | undefined) =>
    new Map<string, unknown>([
      ['name', row?.name],
      ['expiresAt', row?.details?.expiresAtMs],
      ...Object.entries(row?.details?.scopes ?? {}),
      ...Object.entries(row?.details?.limits ?? {}),
    ])
  const then = settingsOf(before)
  const now = settingsOf(after)
  const names = new Set([...then.keys(), ...now.keys()])
  return [...names].filter((name) => !isSame(then.get(name), now.get(name))).join(', ')
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function hashOf(before: Uint8Array, sequence: number, note: AuditNote): Uint8Array {
  const { atMs, actor, action, keyId = null, detail } = note
  return createHash('sha256')
    .update(before)
    .update(packr.pack([sequence, atMs, actor, action, keyId, detail]))
    .digest()
}

/** Throws OperatorError for a malformed entry. */
function decodeEntry(sequence: number, value: Uint8Array): AuditEntry {
  try {
    const [atMs, actor, action, keyId, detail, hash] = packr.unpack(value) as Row
    if (!(hash instanceof Uint8Array)) throw new TypeError('a hash is bytes')
    return { sequence, atMs, actor, action, keyId: keyId ?? undefined, detail, hash: toHex(hash) }
  } catch {
    throw new OperatorError(`entry ${sequence} of the audit log cannot be read`)
  }
}

function keyOf(sequence: number): Buffer {
  const key = Buffer.alloc(8)
  key.writeBigUInt64BE(BigInt(sequence))
  return key
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
