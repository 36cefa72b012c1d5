/** The data of the work of one group: the rows that it may read, loaded together, and its own writes over them. */
import type { QueryResultRow } from 'pg'
import type { Connection } from '../../data/postgres/connection.js'
import { isSettled, quantityToWord, type SubmissionRow } from '../../data/store/node/submissions.js'
import { asBuffer, bytesToHex, bytesToQuantity, type Hex } from '../../primitives/bytes.js'
import { QueueSizes, type Sizes } from './queueSizes.js'
import { isWaiting, rowColumns } from './sharedSchema.js'
import { idText, laneText } from './submissionService.js'
import type { Lane, Place, Reads, SubmissionId, SubmissionTransaction } from './submissionStore.js'

/** Work of the same group has changed rows that this work must read; it has to run in the next group. */
export class LaterGroup extends Error {
  override readonly name = 'LaterGroup'
}

export class SharedRows implements SubmissionTransaction {
  readonly #total: Sizes
  /** Sizes of the keys that the work reads. */
  #sizes: QueueSizes
  readonly #rows = new Map<string, SubmissionRow>()
  readonly #bodies = new Map<string, Buffer>()
  /** Lanes whose first transaction is perhaps not loaded. */
  readonly #uncertain = new Set<string>()
  /** Names of written rows → whether their body is written, too. */
  readonly #written = new Map<string, boolean>()
  readonly #removed = new Map<string, SubmissionRow>()
  /** Keys whose sizes changed. */
  readonly #counted = new Set<string>()

  constructor(total: Sizes) {
    this.#total = total
    this.#sizes = new QueueSizes(total)
  }

  get isChanged(): boolean {
    return this.#written.size > 0 || this.#removed.size > 0
  }

  get sizes(): Sizes {
    return this.#sizes.total
  }

  sizesOf(key: string): Sizes {
    return this.#sizes.of(key)
  }

  /** Loads the rows that `all` may read, in two statements. */
  async load(connection: Connection, all: readonly Reads[]): Promise<void> {
    const own = all.flatMap((reads) => reads.own ?? [])
    const places = all.flatMap(({ place }) => place ?? [])
    const lanes = all.flatMap(({ first }) => first ?? [])
    const keys = new Set([...own, ...places, ...lanes].map(({ key }) => key))
    const [rows, sizes] = await Promise.all([
      connection.query(
        `select ${rowColumns}, null as body from unnest($1::bytea[], $2::bytea[]) as own (hash, key)
          join submission using (hash, key)
        union all
        select ${rowColumns}, case when row_number() over (
            partition by key, sender, nonce order by received_at_ms, hash, digest
          ) = 1 then body end
          from (select distinct * from unnest($3::bytea[], $4::bytea[], $5::bytea[]) as place (key, sender, nonce)) as place
          join submission using (key, sender, nonce) where ${isWaiting}
        union all
        select first.* from unnest($6::bytea[], $7::bytea[]) as wanted (of_key, of_sender), lateral (
          select ${rowColumns}, body from submission where key = of_key and sender = of_sender and ${isWaiting}
            order by nonce, received_at_ms, hash, digest limit 1
        ) as first`,
        [
          own.map(({ hash }) => toBuffer(hash)),
          own.map(({ key }) => fromHex(key)),
          places.map(({ key }) => fromHex(key)),
          places.map(({ sender }) => toBuffer(sender)),
          places.map(({ nonce }) => toBuffer(nonce)),
          lanes.map(({ key }) => fromHex(key)),
          lanes.map(({ sender }) => toBuffer(sender)),
        ],
      ),
      connection.query(
        'select key, waiting, waiting_bytes, settled from key_size where key = any($1::bytea[])',
        [[...keys].map(fromHex)],
      ),
    ])
    for (const row of rows) {
      const decoded = rowOf(row)
      this.#rows.set(idText(decoded), decoded)
      if (row.body !== null) this.#bodies.set(idText(decoded), Buffer.from(row.body))
    }
    this.#sizes = new QueueSizes(this.#total, sizes.map(sizesOf))
  }

  readOwn(hash: string, key: string): SubmissionRow[] {
    return [...this.#rows.values()].filter((row) => row.hash === hash && row.key === key)
  }

  readRow(id: SubmissionId): SubmissionRow | undefined {
    return this.#rows.get(idText(id))
  }

  readBody(id: SubmissionId): Uint8Array | undefined {
    const body = this.#bodies.get(idText(id))
    // The transaction was not the first with its nonce when bodies were loaded.
    if (body === undefined && this.#rows.has(idText(id))) throw new LaterGroup()
    return body
  }

  readAt({ nonce, ...lane }: Place): SubmissionRow[] {
    return this.#waitingIn(lane).filter((row) => row.nonce === nonce)
  }

  readFirst(lane: Lane): SubmissionRow | undefined {
    if (this.#uncertain.has(laneText(lane))) throw new LaterGroup()
    return this.#waitingIn(lane)[0]
  }

  put(row: SubmissionRow, body?: Uint8Array): void {
    const name = idText(row)
    const before = this.#rows.get(name)
    if (before !== undefined) this.#count(before, -1)
    this.#count(row, 1)
    this.#rows.set(name, row)
    if (isSettled(row.state)) this.#uncertain.add(laneText(row))
    if (body !== undefined) this.#bodies.set(name, asBuffer(body))
    this.#removed.delete(name)
    this.#written.set(name, body !== undefined || this.#written.get(name) === true)
  }

  remove(row: SubmissionRow): void {
    const name = idText(row)
    this.#count(row, -1)
    this.#rows.delete(name)
    this.#bodies.delete(name)
    this.#written.delete(name)
    this.#removed.set(name, row)
  }

  /** Writes the changed and removed rows. */
  save(connection: Connection, version: number): Promise<unknown> {
    const rows = [...this.#written].map(([name]) => this.#rows.get(name) as SubmissionRow)
    const withBody = (row: SubmissionRow) => this.#written.get(idText(row)) === true
    const known = rows.filter((row) => !withBody(row))
    const whole = rows.filter(withBody)
    const saved: Promise<unknown>[] = [this.#saveSizes(connection)]
    if (this.#removed.size > 0) {
      const removed = [...this.#removed.values()]
      saved.push(
        connection.query(
          `delete from submission using unnest($1::bytea[], $2::bytea[], $3::bytea[]) as gone (hash, key, digest)
          where (submission.hash, submission.key, submission.digest) = (gone.hash, gone.key, gone.digest)`,
          columnsOf(removed).slice(0, 3),
        ),
      )
    }
    if (known.length > 0) {
      saved.push(
        connection.query(
          `update submission set state = row.state, changed_at_ms = row.changed_at_ms, code = row.code,
            reason = row.reason, version = row.version
          from (select ${unnested}, $12::bigint as version) as row
          where (submission.hash, submission.key, submission.digest) = (row.hash, row.key, row.digest)`,
          [...columnsOf(known), version],
        ),
      )
    }
    if (whole.length > 0) {
      saved.push(
        connection.query(
          `insert into submission (hash, key, digest, state, sender, nonce, received_at_ms, changed_at_ms, body_bytes,
            code, reason, version, body)
          select ${unnested}, $12::bigint, unnest($13::text[])
          on conflict (hash, key, digest) do update set state = excluded.state,
            received_at_ms = excluded.received_at_ms, changed_at_ms = excluded.changed_at_ms,
            body_bytes = excluded.body_bytes, code = excluded.code, reason = excluded.reason,
            version = excluded.version, body = excluded.body`,
          [
            ...columnsOf(whole),
            version,
            whole.map((row) => (this.#bodies.get(idText(row)) as Buffer).toString()),
          ],
        ),
      )
    }
    return Promise.all(saved)
  }

  #saveSizes(connection: Connection): Promise<unknown> {
    const keys = [...this.#counted]
    const sizes = keys.map((key) => this.#sizes.of(key))
    return connection.query(
      `insert into key_size (key, waiting, waiting_bytes, settled)
      select unnest($1::bytea[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[])
      on conflict (key) do update set waiting = excluded.waiting, waiting_bytes = excluded.waiting_bytes,
        settled = excluded.settled`,
      [
        keys.map(fromHex),
        sizes.map(({ waiting }) => waiting),
        sizes.map(({ waitingBytes }) => waitingBytes),
        sizes.map(({ settled }) => settled),
      ],
    )
  }

  /** Transactions by nonce; those of one nonce in the order of arrival. */
  #waitingIn({ key, sender }: Lane): SubmissionRow[] {
    const rows = [...this.#rows.values()].filter(
      (row) => row.key === key && row.sender === sender && !isSettled(row.state),
    )
    return rows.sort(
      (a, b) =>
        compare(BigInt(a.nonce), BigInt(b.nonce)) ||
        a.receivedAtMs - b.receivedAtMs ||
        compare(BigInt(a.hash), BigInt(b.hash)) ||
        compare(a.digest, b.digest),
    )
  }

  #count(row: SubmissionRow, count: 1 | -1): void {
    this.#sizes.count(row, count)
    this.#counted.add(row.key)
  }
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A row of `key_size`. */
export function sizesOf(row: QueryResultRow): readonly [key: string, sizes: Sizes] {
  const [waiting, waitingBytes, settled] = [row.waiting, row.waiting_bytes, row.settled].map(Number) as [
    number,
    number,
    number,
  ]
  return [toHex(row.key), { waiting, waitingBytes, settled }]
}

/** The row of a result with {@link rowColumns}. */
export function rowOf(row: QueryResultRow): SubmissionRow {
  return {
    hash: bytesToQuantity(row.hash),
    key: toHex(row.key),
    digest: toHex(row.digest),
    state: row.state,
    sender: bytesToQuantity(row.sender),
    nonce: bytesToQuantity(row.nonce),
    receivedAtMs: Number(row.received_at_ms),
    changedAtMs: Number(row.changed_at_ms),
    bodyBytes: row.body_bytes,
    rejection:
      row.state === 'REJECTED' ? { code: row.code ?? undefined, text: row.reason ?? undefined } : undefined,
  }
}

export function toBuffer(felt: string): Buffer {
  return asBuffer(quantityToWord(felt as Hex))
}

/** Bytes of hex digits: the id of a key, or a digest. */
export function fromHex(digits: string): Buffer {
  return Buffer.from(digits, 'hex')
}

function toHex(bytes: Uint8Array): string {
  return bytesToHex(bytes).slice(2)
}

/** The values of {@link columnsOf}, one row each. */
const unnested = `unnest($1::bytea[]) as hash, unnest($2::bytea[]) as key, unnest($3::bytea[]) as digest,
  unnest($4::text[]) as state, unnest($5::bytea[]) as sender, unnest($6::bytea[]) as nonce,
  unnest($7::bigint[]) as received_at_ms, unnest($8::bigint[]) as changed_at_ms, unnest($9::integer[]) as body_bytes,
  unnest($10::integer[]) as code, unnest($11::text[]) as reason`

function columnsOf(rows: readonly SubmissionRow[]): unknown[][] {
  return [
    rows.map(({ hash }) => toBuffer(hash)),
    rows.map(({ key }) => fromHex(key)),
    rows.map(({ digest }) => fromHex(digest)),
    rows.map(({ state }) => state),
    rows.map(({ sender }) => toBuffer(sender)),
    rows.map(({ nonce }) => toBuffer(nonce)),
    rows.map(({ receivedAtMs }) => receivedAtMs),
    rows.map(({ changedAtMs }) => changedAtMs),
    rows.map(({ bodyBytes }) => bodyBytes),
    rows.map(({ rejection }) => rejection?.code ?? null),
    rows.map(({ rejection }) => rejection?.text ?? null),
  ]
}
