/**
 * API keys and the audit log in PostgreSQL, shared by several processes. Owns the statements, the copy of all keys that
 * this process reads, and the copy's freshness. `access/` owns the meaning of keys and of their changes.
 *
 * All changes are numbered. A change succeeds only if the database still has the copy's number; the same statement
 * writes its entry in the audit log. Otherwise the copy catches up first, and the change is made again. The copy is a
 * node store of its own, so that all edges read it like keys that are not shared. Notifications are hints: the number
 * is read when connecting and at an interval.
 */

import { keepConnected, News, Outage } from '../../data/postgres/changeFeed.js'
import { Connection, type DatabaseAddress, UnreachableError } from '../../data/postgres/connection.js'
import { hasRoom, StoreError } from '../../data/store/lmdb/environment.js'
import {
  type AuditEntry,
  type AuditHead,
  type AuditNote,
  noteOfKey,
  sealNote,
} from '../../data/store/node/audit.js'
import { decodeKey, encodeKey, type KeyRow } from '../../data/store/node/keyRows.js'
import { keyIdOf, laterSecrets } from '../../data/store/node/keyTables.js'
import { NodeStore } from '../../data/store/node/nodeStore.js'
import { asBuffer } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { freshnessClockMs, type KeyFreshness, lookMs } from '../../serving/access/keyFreshness.js'
import { type KeyRepository, type KeyStore, KeysUnreachable } from '../../serving/access/keyRepository.js'
import { Pepper } from '../../serving/access/pepper.js'
import { sharedKeysMigrations } from './sharedKeysSchema.js'

/** Wait before the next attempt to connect. */
const retryMs = 200
/**
 * Interval of storing the time at which the copy was complete, while nothing changes; for a start without the database.
 */
const storeWholeMs = 60_000

const outageTexts = {
  begins: 'API keys cannot be followed',
  ends: 'the database that has the API keys answers again',
}

export interface SharedKeysOptions extends DatabaseAddress {
  /** Path of the copy. */
  readonly path: string
  readonly pepperPath: string
  readonly mapBytes: number
}

/** An entry of the audit log, and the key that it is about, with the digests of its later secrets. */
export interface LoggedChange {
  readonly note: AuditNote
  readonly key?: { readonly row: KeyRow; readonly secrets: readonly Uint8Array[] }
}

export interface Decision<T> {
  readonly result: T
  readonly changes: readonly LoggedChange[]
}

export class SharedKeys implements KeyRepository {
  readonly store: NodeStore
  readonly #options: SharedKeysOptions
  #connection: Connection | undefined
  /** Work that uses the database: one at a time, since each depends on the content of the copy. */
  #turn: Promise<unknown> = Promise.resolve()
  readonly #news = new News()
  readonly #closing = new AbortController()
  #following: Promise<void> | undefined

  private constructor(store: NodeStore, options: SharedKeysOptions) {
    this.store = store
    this.#options = options
  }

  /**
   * Opens the copy and updates it; makes missing tables. If the database does not answer, or the disk is too full for
   * its news, an existing copy is enough, unless `mustAnswer`. Rejects with OperatorError if it is not enough, if the
   * pepper is missing or another one, and if a newer release made the tables.
   */
  static async open(
    options: SharedKeysOptions,
    { mustAnswer }: { readonly mustAnswer: boolean },
  ): Promise<SharedKeys> {
    const { path, pepperPath, mapBytes } = options
    const keys = new SharedKeys(NodeStore.open({ path, mapBytes }), options)
    try {
      await keys.#connect().catch((error: unknown) => {
        const isGone = error instanceof UnreachableError
        const isFull = error instanceof StoreError && !error.isLasting
        if ((isGone || isFull) && !mustAnswer && keys.store.readCopied() !== undefined) return
        if (!isGone) throw error
        if (mustAnswer) throw gone(error)
        throw new OperatorError(
          `the database that has the API keys does not answer (${error.message}), and this process has no copy of them yet`,
        )
      })
      Pepper.openShared(keys.store.readPepperFingerprint(), pepperPath)
      return keys
    } catch (error) {
      await keys.close()
      throw error
    }
  }

  /** Keeps the copy and `keyFreshness` up to date until closed. `say` takes sentences for the operator. */
  follow(keyFreshness: KeyFreshness, say: (text: string) => void): void {
    this.#following ??= this.#follow(keyFreshness, say)
  }

  async change<T>(work: (keys: KeyStore) => T): Promise<T> {
    return this.write(() => {
      const { result, staged } = stageChange(this.store, work)
      if (staged === undefined) return { result, changes: [] }
      const { before, after } = staged
      const key = { row: after, secrets: laterSecrets(after) }
      return { result, changes: [{ note: noteOfKey(before, after, keyIdOf(after)), key }] }
    })
  }

  async note(note: AuditNote): Promise<void> {
    await this.write(() => ({ result: undefined, changes: [{ note }] }))
  }

  /**
   * Makes the changes that `decide` derives from the copy, all or none. Calls it again if another process was first.
   */
  async write<T>(decide: () => Decision<T>): Promise<T> {
    return this.#inTurn(async (connection) => {
      for (;;) {
        // Read before the keys: if the copy changes meanwhile, this number is outdated and the write fails.
        const head = this.#head
        const { result, changes } = decide()
        if (changes.length === 0) return result
        const isWritten = await this.#write(connection, head, changes)
        await this.#catchUp(connection)
        if (isWritten) return result
      }
    })
  }

  /** Runs statements of other modules over the same connection. Rejects with UnreachableError if there is none. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#connection === undefined) throw new UnreachableError('it is not connected')
    return work(this.#connection)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#news.arrive()
    await this.#following
    await this.#turn.catch(() => undefined)
    await this.#connection?.close()
    await this.store.close()
  }

  async #follow(keyFreshness: KeyFreshness, say: (text: string) => void): Promise<void> {
    const copied = this.store.readCopied()
    if (copied !== undefined) {
      // A time of an earlier process is only known by the wall clock.
      const ageMs = Math.max(0, Date.now() - copied.atMs)
      keyFreshness.noteWhole(freshnessClockMs() - ageMs, this.#connection !== undefined)
    }
    const outage = new Outage(outageTexts, say)
    await keepConnected({
      connect: async () => this.#connection ?? (await this.#connect()),
      use: async () => {
        while (!this.#closing.signal.aborted) {
          this.#news.expect()
          // The time before reading: the data is at least this new.
          const atMs = freshnessClockMs()
          await this.#inTurn((connection) => this.#catchUp(connection))
          keyFreshness.noteWhole(atMs, true)
          outage.end()
          await this.#news.wait(lookMs)
        }
        // The previous turn may still use the connection.
        await this.#turn
      },
      onLost: ({ message }) => {
        // After any error, also a full disk, the copy may be incomplete.
        keyFreshness.noteLost()
        outage.begin(message)
        this.#connection = undefined
      },
      retryMs,
      signal: this.#closing.signal,
    })
  }

  /** Connects, and updates the copy. */
  async #connect(): Promise<Connection> {
    const connection = await Connection.open(this.#options)
    try {
      await connection.migrate(sharedKeysMigrations, {
        text: 'insert into book default values on conflict do nothing',
        values: [],
      })
      await connection.assertVersion('the book of API keys', sharedKeysMigrations.length)
      await connection.listen()
      connection.onNews(() => this.#news.arrive())
      if (!(await this.#isCopyOf(connection))) await this.#take(connection, undefined)
      await this.#catchUp(connection)
      await this.#agreeOnPepper(connection)
      this.#connection = connection
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /**
   * Whether the newest entry of the copy is in the database: not if the database was restored from a backup, or is
   * another one.
   */
  async #isCopyOf(connection: Connection): Promise<boolean> {
    if (this.store.readCopied() === undefined) return false
    const { sequence, hash } = this.#head
    if (sequence === 0) return true
    const [row] = await connection.query(
      `select encode(hash, 'hex') as hash from audit where sequence = $1`,
      [sequence],
    )
    return row?.hash === hash
  }

  /** All processes must have the pepper of the first one. */
  async #agreeOnPepper(connection: Connection): Promise<void> {
    const { fingerprint } = Pepper.openShared(this.store.readPepperFingerprint(), this.#options.pepperPath)
    const [row] = await connection.query(
      'update book set pepper_mark = coalesce(pepper_mark, $1) returning pepper_mark',
      [asBuffer(fingerprint)],
    )
    const agreed: Uint8Array = row?.pepper_mark
    if (Buffer.compare(agreed, this.store.readPepperFingerprint() ?? Buffer.alloc(0)) !== 0) {
      this.store.writePepperFingerprint(agreed)
    }
    Pepper.openShared(agreed, this.#options.pepperPath)
  }

  async #catchUp(connection: Connection): Promise<void> {
    // Another process with the same copy may be faster; then there is nothing left to take.
    while (!(await this.#take(connection, this.store.readCopied()?.sequence))) {}
  }

  /** Takes the changes after number `after`, or everything. False if the copy was changed meanwhile. */
  async #take(connection: Connection, after: number | undefined): Promise<boolean> {
    const atMs = Date.now()
    // One statement, so that all rows are of the same moment.
    const rows = await connection.query(
      `select book.sequence, book.pepper_mark, key.digest, key.value, key.secrets
       from book left join key on key.changed > $1`,
      [after ?? -1],
    )
    const [first] = rows
    if (first === undefined) throw new UnreachableError('the book of API keys is empty')
    const sequence = Number(first.sequence)
    // Whether the copy is old; also true if the clock was set back.
    const isOld = Math.abs(atMs - (this.store.readCopied()?.atMs ?? 0)) > storeWholeMs
    // On a full disk the copy stays valid as long as there is nothing to add.
    if (sequence === after && !(isOld && hasRoom(this.#options.path))) return true
    const entries = await connection.query(
      `select sequence, at_ms, actor, action, key_id, detail, encode(hash, 'hex') as hash
       from audit where sequence > $1 and sequence <= $2 order by sequence`,
      [after ?? 0, sequence],
    )
    const keys = rows.flatMap(({ digest, value, secrets }) =>
      digest === null ? [] : [{ row: decodeKey(digest, value), secrets: secrets as Uint8Array[] }],
    )
    return this.store.applyNews(
      {
        after,
        sequence,
        keys,
        entries: entries.map(
          (row): AuditEntry => ({
            sequence: Number(row.sequence),
            atMs: Number(row.at_ms),
            actor: row.actor,
            action: row.action,
            keyId: row.key_id ?? undefined,
            detail: row.detail,
            hash: row.hash,
          }),
        ),
        pepperFingerprint: first.pepper_mark ?? undefined,
      },
      atMs,
    )
  }

  /** Writes entries that follow `head`, and their keys. False if `head` is not the newest entry. */
  async #write(connection: Connection, head: AuditHead, changes: readonly LoggedChange[]): Promise<boolean> {
    const entries: AuditEntry[] = []
    for (const { note } of changes) entries.push(sealNote(entries.at(-1) ?? head, note))
    const keys = changes.flatMap(({ key }, at) =>
      key === undefined ? [] : [{ ...key, changed: head.sequence + at + 1 }],
    )
    const secrets = keys.flatMap(({ row, secrets }) => secrets.map((secret) => ({ row, secret })))
    const rows = await connection.query(
      `with book_after as (
        update book set sequence = sequence + $1 where sequence = $2 returning sequence
      ), entry as (
        insert into audit (sequence, at_ms, actor, action, key_id, detail, hash)
        select entries.* from book_after, unnest(
          $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[]
        ) as entries
      ), owned as (
        select digest, array_agg(secret) as secrets
        from unnest($13::bytea[], $14::bytea[]) as each (digest, secret) group by digest
      ), changed as (
        insert into key (digest, value, secrets, changed)
        select keys.digest, keys.value, coalesce(owned.secrets, '{}'), keys.changed
        from book_after, unnest($10::bytea[], $11::bytea[], $12::bigint[]) as keys (digest, value, changed)
        left join owned on owned.digest = keys.digest
        on conflict (digest) do update set value = excluded.value, changed = excluded.changed,
          secrets = array(select distinct unnest(key.secrets || excluded.secrets))
      )
      select pg_notify($15, sequence::text) from book_after`,
      [
        changes.length,
        head.sequence,
        entries.map(({ sequence }) => sequence),
        entries.map(({ atMs }) => atMs),
        entries.map(({ actor }) => actor),
        entries.map(({ action }) => action),
        entries.map(({ keyId }) => keyId ?? null),
        entries.map(({ detail }) => detail),
        entries.map(({ hash }) => Buffer.from(hash, 'hex')),
        keys.map(({ row }) => asBuffer(row.digest)),
        keys.map(({ row }) => asBuffer(encodeKey(row))),
        keys.map(({ changed }) => changed),
        secrets.map(({ row }) => asBuffer(row.digest)),
        secrets.map(({ secret }) => asBuffer(secret)),
        connection.schema,
      ],
    )
    return rows.length > 0
  }

  get #head() {
    const { audit } = this.store
    if (audit === undefined) throw new Error('a store that is written has an audit log')
    return audit.head
  }

  /**
   * Runs `work` after all earlier work on the database. Rejects with KeysUnreachable if the database does not answer.
   */
  #inTurn<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const result = this.#turn.then(async () => {
      try {
        return await this.use(work)
      } catch (error) {
        throw error instanceof UnreachableError ? gone(error) : error
      }
    })
    this.#turn = result.catch(() => undefined)
    return result
  }
}

function gone(error: UnreachableError): KeysUnreachable {
  return new KeysUnreachable(
    `the database that has the API keys does not answer (${error.message}); a change that was sent may have been stored`,
  )
}

interface Staged {
  readonly before: KeyRow | undefined
  readonly after: KeyRow
}

/** Runs `work`, which may change one key, and writes nothing. `staged` is undefined if nothing changes. */
function stageChange<T>(
  store: NodeStore,
  work: (keys: KeyStore) => T,
): { readonly result: T; readonly staged: Staged | undefined } {
  let staged: Staged | undefined
  const stage = (before: KeyRow | undefined, after: KeyRow): void => {
    if (staged !== undefined) throw new Error('one change at a time')
    staged = { before, after }
  }
  const result = work({
    readKeys: () => store.readKeys(),
    readKeyByPrefix: (prefix) => store.readKeyByPrefix(prefix),
    readKeyByName: (name) => store.readKeyByName(name),
    writeKey(row, options) {
      const outcome = store.planKey(row, options)
      if (outcome === 'written') stage(undefined, row)
      return outcome
    },
    changeKey(digest, change) {
      const planned = store.planChange(digest, change)
      if (typeof planned === 'object' && planned.after !== planned.before) {
        stage(planned.before, planned.after)
      }
      return planned
    },
  })
  return { result, staged }
}
