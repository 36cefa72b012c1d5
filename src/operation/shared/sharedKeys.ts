/**
 * API keys and the audit log in PostgreSQL, shared by several processes. Owns the statements, the copy of all keys that
 * this process reads, and how far that can be believed; what keys mean, and what a change does, `access/` owns.
 *
 * All changes are numbered. One is made where the database still has the number that the copy has, and its entry in the
 * audit log is written by the same statement; otherwise the copy follows first, and the change is made anew. The copy
 * is a node store of its own, so that all edges read it as they read keys that nobody shares. Notifications are hints:
 * the number is looked at when connecting and at an interval.
 */

import { Connection, type DatabaseAddress, UnreachableError } from '../../data/postgres/connection.js'
import {
  type AuditEntry,
  type AuditHead,
  type AuditNote,
  noteOfKey,
  sealNote,
} from '../../data/store/audit.js'
import { hasRoom, StoreError } from '../../data/store/environment.js'
import { decodeKey, encodeKey, type KeyRow } from '../../data/store/keyRows.js'
import { keyIdOf, laterSecrets } from '../../data/store/keyTables.js'
import { NodeStore } from '../../data/store/nodeStore.js'
import { asBuffer } from '../../primitives/bytes.js'
import { type Deferred, defer } from '../../primitives/deferred.js'
import { OperatorError } from '../../primitives/faults.js'
import { waitFor } from '../../primitives/waitFor.js'
import { freshnessClockMs, type KeyFreshness, lookMs } from '../../serving/access/keyFreshness.js'
import { type KeyRepository, type KeyStore, KeysUnreachable } from '../../serving/access/keyRepository.js'
import { Pepper } from '../../serving/access/pepper.js'
import { sharedKeysMigrations } from './sharedKeysSchema.js'

/** Wait before the next attempt to connect. */
const retryMs = 200
/** While nothing changes, the time at which the copy was whole is stored this often, for a start without the database. */
const storeWholeMs = 60_000

export interface SharedKeysOptions extends DatabaseAddress {
  /** Of the copy. */
  readonly path: string
  readonly pepperPath: string
  readonly mapBytes: number
}

/** An entry of the audit log, and the key that it tells of, with the digests of its later secrets. */
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
  /** What waits for the database: one at a time, since each depends on what the copy has. */
  #turn: Promise<unknown> = Promise.resolve()
  #news: Deferred<void> = defer()
  #isClosed = false
  #following: Promise<void> | undefined

  private constructor(store: NodeStore, options: SharedKeysOptions) {
    this.store = store
    this.#options = options
  }

  /**
   * Opens the copy and brings it up to date; makes the tables where there are none. Where the database does not answer,
   * or the disk is too full for its news, a copy that was made before is enough, unless `mustAnswer`. Rejects with
   * OperatorError where it is not, where the pepper is missing or another one, and where a newer release made the
   * tables.
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
      Pepper.openShared(keys.store.readPepperMark(), pepperPath)
      return keys
    } catch (error) {
      await keys.close()
      throw error
    }
  }

  /** Keeps the copy up to date, and `reach` as it is, until it is closed. `say` takes sentences for the operator. */
  follow(reach: KeyFreshness, say: (text: string) => void): void {
    this.#following ??= this.#follow(reach, say)
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

  /** Makes the changes that `decide` makes of the copy, all or none; it is called again where another was first. */
  async write<T>(decide: () => Decision<T>): Promise<T> {
    return this.#inTurn(async (connection) => {
      for (;;) {
        // Before the keys are read: whoever changes the copy meanwhile makes this number an old one.
        const head = this.#head
        const { result, changes } = decide()
        if (changes.length === 0) return result
        const isWritten = await this.#write(connection, head, changes)
        await this.#catchUp(connection)
        if (isWritten) return result
      }
    })
  }

  /** Runs statements of others over the same connection. Rejects with UnreachableError where there is none. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#connection === undefined) throw new UnreachableError('it is not connected')
    return work(this.#connection)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#news.resolve()
    await this.#following
    await this.#turn.catch(() => undefined)
    await this.#connection?.close()
    await this.store.close()
  }

  async #follow(reach: KeyFreshness, say: (text: string) => void): Promise<void> {
    const copied = this.store.readCopied()
    if (copied !== undefined) {
      // Of the process before there is the wall clock alone.
      const ageMs = Math.max(0, Date.now() - copied.atMs)
      reach.noteWhole(freshnessClockMs() - ageMs, this.#connection !== undefined)
    }
    let trouble: string | undefined
    while (!this.#isClosed) {
      this.#news = defer()
      try {
        if (this.#connection === undefined) await this.#connect()
        // The time before: what is read is at least as new.
        const atMs = freshnessClockMs()
        await this.#inTurn((connection) => this.#catchUp(connection))
        reach.noteWhole(atMs, true)
        if (trouble !== undefined) say('the database that has the API keys answers again')
        trouble = undefined
        await waitFor(this.#news.promise, lookMs)
      } catch (error) {
        // Whatever it is, a full disk as well, the copy may lack something.
        reach.noteLost()
        const { message } = error as Error
        if (trouble !== message) say(`API keys cannot be followed: ${message}`)
        trouble = message
        await this.#connection?.close()
        this.#connection = undefined
        await waitFor(this.#news.promise, retryMs)
      }
    }
  }

  /** Connects, and has a copy that is up to date afterwards. */
  async #connect(): Promise<void> {
    const connection = await Connection.open(this.#options)
    try {
      await connection.migrate(sharedKeysMigrations, {
        text: 'insert into book default values on conflict do nothing',
        values: [],
      })
      await connection.assertVersion('the book of API keys', sharedKeysMigrations.length)
      await connection.listen()
      connection.onNews(() => this.#news.resolve())
      if (!(await this.#isCopyOf(connection))) await this.#take(connection, undefined)
      await this.#catchUp(connection)
      await this.#agreeOnPepper(connection)
      this.#connection = connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Whether the newest entry that the copy has is one of the database: not where that was put back, or is another. */
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

  /** All processes have the pepper of the first one. */
  async #agreeOnPepper(connection: Connection): Promise<void> {
    const { mark } = Pepper.openShared(this.store.readPepperMark(), this.#options.pepperPath)
    const [row] = await connection.query(
      'update book set pepper_mark = coalesce(pepper_mark, $1) returning pepper_mark',
      [asBuffer(mark)],
    )
    const agreed: Uint8Array = row?.pepper_mark
    if (Buffer.compare(agreed, this.store.readPepperMark() ?? Buffer.alloc(0)) !== 0) {
      this.store.writePepperMark(agreed)
    }
    Pepper.openShared(agreed, this.#options.pepperPath)
  }

  async #catchUp(connection: Connection): Promise<void> {
    // Another process with the same copy may be faster; then there is nothing left to take.
    while (!(await this.#take(connection, this.store.readCopied()?.sequence))) {}
  }

  /** Takes what came after number `after`, or everything. False where the copy was changed meanwhile. */
  async #take(connection: Connection, after: number | undefined): Promise<boolean> {
    const atMs = Date.now()
    // One statement, and so one moment.
    const rows = await connection.query(
      `select book.sequence, book.pepper_mark, key.digest, key.value, key.secrets
       from book left join key on key.changed > $1`,
      [after ?? -1],
    )
    const [first] = rows
    if (first === undefined) throw new UnreachableError('the book of API keys is empty')
    const sequence = Number(first.sequence)
    // Also where the clock was put back.
    const isOld = Math.abs(atMs - (this.store.readCopied()?.atMs ?? 0)) > storeWholeMs
    // On a full disk the copy is as good as before, as long as nothing has to be added.
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
        pepperMark: first.pepper_mark ?? undefined,
      },
      atMs,
    )
  }

  /** Writes entries that follow `head`, and the keys that they tell of. False where `head` is not the newest entry. */
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

  /** Runs `work` once nobody else waits for the database. Rejects with KeysUnreachable where it does not answer. */
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
    `the database that has the API keys does not answer (${error.message}); a change that was under way may have been made`,
  )
}

/** What a change makes of a key. */
interface Staged {
  readonly before: KeyRow | undefined
  readonly after: KeyRow
}

/** Does `work`, which may change one key, and writes nothing. `staged` is undefined where it changes nothing. */
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
