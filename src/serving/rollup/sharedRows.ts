/** What the work of one group sees and writes: the rows that it may read, loaded together, and its own writes over them. */
import type { QueryResultRow } from 'pg'
import type { Connection } from '../../data/postgres/connection.js'
import { isSettled, quantityToWord, type SubmissionRow } from '../../data/store/submissions.js'
import { asBuffer, bytesToQuantity } from '../../primitives/bytes.js'
import type { Felt } from './felt.js'
import type { QueueSizes } from './sharedDatabase.js'
import { isWaiting, rowColumns } from './sharedSchema.js'
import type { Place, Reads, SubmissionTransaction } from './submissionStore.js'

/** Work of the same group has changed what would have to be read; it has to run in the next group. */
export class LaterGroup extends Error {
  override readonly name = 'LaterGroup'
}

export class SharedRows implements SubmissionTransaction {
  waiting: number
  waitingBytes: number
  settled: number
  readonly #rows = new Map<Felt, SubmissionRow>()
  readonly #bodies = new Map<Felt, Buffer>()
  /** Of waiting rows: sender and nonce → hash. */
  readonly #places = new Map<string, Felt>()
  /** Senders whose first transaction may be one that was not loaded. */
  readonly #uncertain = new Set<string>()
  /** Hashes of rows that were written, and whether with their body. */
  readonly #written = new Map<Felt, boolean>()

  constructor({ waiting, waitingBytes, settled }: QueueSizes) {
    this.waiting = waiting
    this.waitingBytes = waitingBytes
    this.settled = settled
  }

  get isChanged(): boolean {
    return this.#written.size > 0
  }

  /** Reads what `all` may read, in one statement. */
  async load(connection: Connection, all: readonly Reads[]): Promise<void> {
    const hashes = all.flatMap(({ hash }) => (hash === undefined ? [] : [toBuffer(hash)]))
    const places = all.flatMap(({ place }) => (place === undefined ? [] : [place]))
    const senders = all.flatMap(({ firstOf }) => (firstOf === undefined ? [] : [toBuffer(firstOf)]))
    const rows = await connection.query(
      `select ${rowColumns}, null as body from submission where hash = any($1::bytea[])
      union all
      select ${rowColumns}, body from unnest($2::bytea[], $3::bytea[]) as place (sender, nonce)
        join submission using (sender, nonce) where ${isWaiting}
      union all
      select first.* from unnest($4::bytea[]) as wanted (of_sender), lateral (
        select ${rowColumns}, body from submission where sender = of_sender and ${isWaiting} order by nonce limit 1
      ) as first`,
      [
        hashes,
        places.map(({ sender }) => toBuffer(sender)),
        places.map(({ nonce }) => toBuffer(nonce)),
        senders,
      ],
    )
    for (const row of rows) {
      const decoded = rowOf(row)
      this.#set(decoded)
      if (row.body !== null) this.#bodies.set(decoded.hash as Felt, Buffer.from(row.body))
    }
  }

  readRow(hash: Felt): SubmissionRow | undefined {
    return this.#rows.get(hash)
  }

  readBody(hash: Felt): Uint8Array | undefined {
    return this.#bodies.get(hash)
  }

  readHash(place: Place): Felt | undefined {
    return this.#places.get(placeKey(place))
  }

  readFirstHash(sender: Felt): Felt | undefined {
    if (this.#uncertain.has(sender)) throw new LaterGroup()
    const mine = [...this.#rows.values()].filter((row) => row.sender === sender && !isSettled(row.state))
    const [first] = mine.sort((a, b) => (BigInt(a.nonce) < BigInt(b.nonce) ? -1 : 1))
    return first?.hash as Felt | undefined
  }

  put(row: SubmissionRow, body?: Uint8Array): void {
    const hash = row.hash as Felt
    const before = this.#rows.get(hash)
    if (before !== undefined) this.#count(before, -1)
    this.#count(row, 1)
    this.#set(row)
    if (isSettled(row.state)) this.#uncertain.add(row.sender)
    if (body !== undefined) this.#bodies.set(hash, asBuffer(body))
    this.#written.set(hash, body !== undefined || this.#written.get(hash) === true)
  }

  /** Statements that write what was put. */
  save(connection: Connection, version: number): Promise<unknown> {
    const rows = [...this.#written].map(([hash]) => this.#rows.get(hash) as SubmissionRow)
    const withBody = (row: SubmissionRow) => this.#written.get(row.hash as Felt) === true
    const known = rows.filter((row) => !withBody(row))
    // A transaction that gives its place away comes before the one that takes it.
    const isFirst = ({ state }: SubmissionRow) => Number(!isSettled(state))
    const whole = rows.filter(withBody).sort((a, b) => isFirst(a) - isFirst(b))
    const saved: Promise<unknown>[] = []
    if (known.length > 0) {
      saved.push(
        connection.query(
          `update submission set state = row.state, changed_at_ms = row.changed_at_ms, code = row.code,
            reason = row.reason, version = row.version
          from (select ${unnested}, $10::bigint as version) as row where submission.hash = row.hash`,
          [...columnsOf(known), version],
        ),
      )
    }
    if (whole.length > 0) {
      saved.push(
        connection.query(
          `insert into submission (hash, state, sender, nonce, received_at_ms, changed_at_ms, body_bytes, code, reason,
            version, body)
          select ${unnested}, $10::bigint, unnest($11::text[])
          on conflict (hash) do update set state = excluded.state, received_at_ms = excluded.received_at_ms,
            changed_at_ms = excluded.changed_at_ms, body_bytes = excluded.body_bytes, code = excluded.code,
            reason = excluded.reason, version = excluded.version, body = excluded.body`,
          [
            ...columnsOf(whole),
            version,
            whole.map(({ hash }) => (this.#bodies.get(hash as Felt) as Buffer).toString()),
          ],
        ),
      )
    }
    return Promise.all(saved)
  }

  #set(row: SubmissionRow): void {
    const hash = row.hash as Felt
    const key = placeKey(row)
    this.#rows.set(hash, row)
    if (!isSettled(row.state)) this.#places.set(key, hash)
    else if (this.#places.get(key) === hash) this.#places.delete(key)
  }

  #count({ state, bodyBytes }: SubmissionRow, sign: 1 | -1): void {
    if (isSettled(state)) this.settled += sign
    else {
      this.waiting += sign
      this.waitingBytes += sign * bodyBytes
    }
  }
}

/** The row of a result with {@link rowColumns}. */
export function rowOf(row: QueryResultRow): SubmissionRow {
  return {
    hash: bytesToQuantity(row.hash),
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
  return asBuffer(quantityToWord(felt as Felt))
}

/** The values of {@link columnsOf}, one row each. */
const unnested = `unnest($1::bytea[]) as hash, unnest($2::text[]) as state, unnest($3::bytea[]) as sender,
  unnest($4::bytea[]) as nonce, unnest($5::bigint[]) as received_at_ms, unnest($6::bigint[]) as changed_at_ms,
  unnest($7::integer[]) as body_bytes, unnest($8::integer[]) as code, unnest($9::text[]) as reason`

function columnsOf(rows: readonly SubmissionRow[]): unknown[][] {
  return [
    rows.map(({ hash }) => toBuffer(hash)),
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

function placeKey({ sender, nonce }: Pick<SubmissionRow, 'sender' | 'nonce'>): string {
  return `${sender}/${nonce}`
}
