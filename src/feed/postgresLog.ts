/**
 * A log of bundles in PostgreSQL. Owns its connection, the statements, compression and splitting of bundles; a lost
 * connection is the end of a PostgresLog, and whoever uses it makes another one.
 *
 * The database decides who writes: each statement that writes first changes the one row of `feed` where the epoch is
 * still the writer's and the newest entry is the one it knows, and does nothing where there is no such row.
 */
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { Client, ClientConfig, QueryResultRow } from 'pg'
import { bytesToHex, type Hash32, hexToBytes } from '../primitives/bytes.js'
import { OperatorError } from '../primitives/faults.js'
import type { BlockName, ChainIdentity } from '../store/chainRows.js'
import {
  type BundleLog,
  type FeedEntry,
  type FeedEvent,
  FencedError,
  type LogTip,
  LogUnreachableError,
} from './bundleLog.js'
import { migrationsFrom, schemaVersion } from './feedSchema.js'

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

export interface FeedDatabase {
  /**
   * postgres://user@host:port/database, with `sslmode` and `sslrootcert` for TLS. What is absent comes from PGPASSWORD,
   * PGPASSFILE and the other variables of libpq.
   */
  readonly url: string
  /** The PostgreSQL schema that has the feed. */
  readonly schema: string
}

/** How long a connection, and one statement, may take before the database counts as lost. */
const connectMsMax = 5_000
const statementMsMax = 15_000
/** Most entries, and about the most bytes, of one read: what is read waits in memory. */
const readEntriesMax = 256
const readBytesMax = 16 * 2 ** 20
/** A bundle with more bytes is kept in several rows, since a row is held in memory several times on its way. */
const partBytesMax = 2 ** 20

export class PostgresLog implements BundleLog {
  readonly #client: Client
  readonly #channel: string
  readonly #listeners = new Set<() => void>()
  #lost: LogUnreachableError | undefined

  private constructor(client: Client, channel: string) {
    this.#client = client
    this.#channel = channel
    client.on('error', (error) => this.#lose(error))
    client.on('end', () => this.#lose(new Error('the connection ended')))
    client.on('notification', () => this.#tell())
  }

  /**
   * Connects to the feed of a chain. A writer makes it where there is none, or brings it up to date; for others one
   * that is not there yet counts as unreachable. Rejects with OperatorError where it is of another chain or of a newer
   * release, otherwise with {@link LogUnreachableError}.
   */
  static async connect(
    { url, schema }: FeedDatabase,
    chain: Pick<ChainIdentity, 'chainId' | 'genesisHash'>,
    isWriter: boolean,
  ): Promise<PostgresLog> {
    // Loaded where it is needed: few processes have a feed.
    const { default: pg } = await import('pg')
    const config: ClientConfig = {
      connectionString: url,
      application_name: 'tidegate',
      connectionTimeoutMillis: connectMsMax,
      query_timeout: statementMsMax,
      keepAlive: true,
    }
    const client = new pg.Client(config)
    const log = new PostgresLog(client, schema)
    try {
      await client.connect()
      await client.query(`set search_path to ${quoted(schema)}`)
      if (isWriter) await migrate(client, schema, chain)
      await log.#check(chain)
      await client.query(`listen ${quoted(schema)}`)
      return log
    } catch (error) {
      await log.close()
      throw error instanceof OperatorError ? error : unreachable(error)
    }
  }

  async readTip(): Promise<LogTip> {
    const [row] = await this.#query(
      `select sequence, head_number, head_hash, epoch,
        greatest(extract(epoch from lease_until - clock_timestamp()) * 1000, -1)::float8 as lease_ms,
        (select array[number::text, encode(hash, 'hex')] from entry where kind = 'safe' order by sequence desc limit 1) as safe,
        (select array[number::text, encode(hash, 'hex')] from entry where kind = 'finalized' order by sequence desc limit 1) as finalized
        from feed`,
    )
    if (row === undefined) throw unreachable(new Error('the feed is empty'))
    const named = (pair: [string, string] | null): BlockName | undefined =>
      pair === null
        ? undefined
        : { number: Number(pair[0]), hash: hexToBytes(`0x${pair[1]}`) as Uint8Array as Hash32 }
    return {
      sequence: Number(row.sequence),
      head: row.head_hash === null ? undefined : { number: Number(row.head_number), hash: row.head_hash },
      safe: named(row.safe),
      finalized: named(row.finalized),
      epoch: Number(row.epoch),
      leaseMsLeft: Number(row.lease_ms),
    }
  }

  async read(after: number): Promise<readonly FeedEntry[]> {
    const rows = await this.#query(
      `with next as (
        select *, sum(bytes) over (order by sequence) - bytes as bytes_before
        from (select * from entry where sequence > $1 order by sequence limit ${readEntriesMax}) as following
      )
      select next.sequence, kind, number, hash, parent_hash, part.bytes as part
      from next left join part using (sequence) where bytes_before < ${readBytesMax} order by sequence, part.part`,
      [after],
    )
    const entries: FeedEntry[] = []
    for (let at = 0; at < rows.length; ) {
      const row = rows[at] as QueryResultRow
      const parts: Uint8Array[] = []
      for (; rows[at]?.sequence === row.sequence; at++) parts.push(rows[at]?.part)
      entries.push(await entryOf(row, parts))
    }
    const [first] = entries
    if (first !== undefined && first.sequence !== after + 1) {
      throw new OperatorError(
        `the feed begins with entry ${first.sequence}, and this replica needs the one after ${after}; ` +
          'the writer keeps too few blocks for its absence (retainBlocks): copy the store of another replica',
      )
    }
    return entries
  }

  async findPosition(hashes: readonly Uint8Array[]): Promise<number | undefined> {
    const [row] = await this.#query(
      `select sequence from (
        select sequence, number from entry where hash = any($1::bytea[]) and kind in ('block', 'unwind')
        union all
        select sequence - 1, number - 1 from entry
        where parent_hash = any($1::bytea[]) and sequence = (select min(sequence) from entry)
      ) as found order by number desc, sequence desc limit 1`,
      [hashes.map(asBuffer)],
    )
    return row && Number(row.sequence)
  }

  async acquire(holder: string, leaseMs: number): Promise<number | undefined> {
    const [row] = await this.#query(
      `update feed set epoch = epoch + 1, holder = $1, lease_until = clock_timestamp() + $2 * interval '1 ms'
       where lease_until < clock_timestamp() returning epoch`,
      [holder, leaseMs],
    )
    return row && Number(row.epoch)
  }

  async renew(epoch: number, leaseMs: number): Promise<void> {
    const rows = await this.#query(
      `update feed set lease_until = clock_timestamp() + $2 * interval '1 ms' where epoch = $1 returning epoch`,
      [epoch, leaseMs],
    )
    if (rows.length === 0) throw fenced(epoch)
  }

  async release(epoch: number): Promise<void> {
    await this.#query(
      `update feed set lease_until = 'epoch' where epoch = $1 returning pg_notify($2, 'released')`,
      [epoch, this.#channel],
    )
  }

  async append(epoch: number, after: number, events: readonly FeedEvent[]): Promise<void> {
    if (events.length === 0) return
    const bundles = await Promise.all(
      events.map((event) => (event.kind === 'block' ? deflate(event.bundle) : undefined)),
    )
    const sequences = events.map((_, index) => after + 1 + index)
    const parts = bundles.flatMap((bundle, index) =>
      bundle === undefined
        ? []
        : split(bundle).map((bytes, part) => ({ sequence: sequences[index], part, bytes })),
    )
    const heads = events.filter(({ kind }) => kind === 'block' || kind === 'unwind')
    const head = heads.at(-1)?.block
    const rows = await this.#query(
      `with fence as (
        update feed set sequence = $3, head_number = coalesce($4, head_number), head_hash = coalesce($5, head_hash)
        where epoch = $1 and sequence = $2 returning epoch
      ), entries as (
        insert into entry (sequence, epoch, kind, number, hash, parent_hash, bytes)
        select e.sequence, fence.epoch, e.kind, e.number, e.hash, e.parent_hash, e.bytes from fence,
          unnest($6::bigint[], $7::text[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bigint[])
          as e (sequence, kind, number, hash, parent_hash, bytes)
      ), parts as (
        insert into part (sequence, part, bytes)
        select p.* from fence, unnest($12::bigint[], $13::integer[], $14::bytea[]) as p (sequence, part, bytes)
      )
      select pg_notify($15, $3::text) from fence`,
      [
        epoch,
        after,
        after + events.length,
        head?.number ?? null,
        head === undefined ? null : asBuffer(head.hash),
        sequences,
        events.map(({ kind }) => kind),
        events.map(({ block }) => block.number),
        events.map(({ block }) => asBuffer(block.hash)),
        events.map((event) => (event.kind === 'block' ? asBuffer(event.parentHash) : null)),
        bundles.map((bundle) => bundle?.length ?? 0),
        parts.map(({ sequence }) => sequence),
        parts.map(({ part }) => part),
        parts.map(({ bytes }) => bytes),
        this.#channel,
      ],
    )
    if (rows.length === 0) throw fenced(epoch)
  }

  async trim(epoch: number, blocks: number): Promise<void> {
    await this.#query(
      `delete from entry using feed where feed.epoch = $1 and entry.sequence <= (
        select max(sequence) from entry where kind = 'block' and number <= (select head_number from feed) - $2)`,
      [epoch, blocks],
    )
  }

  onNews(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#lost ??= new LogUnreachableError('the connection was closed')
    await this.#client.end().catch(() => undefined)
  }

  /** Throws OperatorError where the feed is of another chain or a newer release. */
  async #check(chain: Pick<ChainIdentity, 'chainId' | 'genesisHash'>): Promise<void> {
    const [row] = await this.#query('select max(version) as version from migration')
    const version = Number(row?.version ?? 0)
    if (version > schemaVersion) {
      throw new OperatorError(
        `the feed in schema ${this.#channel} was made by a newer release (version ${version}, this one knows ` +
          `${schemaVersion}); update this program`,
      )
    }
    if (version < schemaVersion)
      throw new Error(`the feed has version ${version} until a writer of this release starts`)
    const [feed] = await this.#query('select chain_id, genesis_hash from feed')
    if (feed === undefined) throw new Error('the feed is empty')
    const genesisHash = bytesToHex(feed.genesis_hash)
    if (feed.chain_id !== chain.chainId || genesisHash !== chain.genesisHash) {
      throw new OperatorError(
        `the feed in schema ${this.#channel} is of the chain with id ${feed.chain_id} and genesis ${genesisHash}, ` +
          `not ${chain.chainId} and ${chain.genesisHash}; name another schema`,
      )
    }
  }

  async #query(text: string, values: unknown[] = []): Promise<QueryResultRow[]> {
    if (this.#lost !== undefined) throw this.#lost
    try {
      return (await this.#client.query(text, values)).rows
    } catch (error) {
      this.#lose(error as Error)
      throw this.#lost
    }
  }

  #lose(error: Error): void {
    if (this.#lost !== undefined) return
    this.#lost = unreachable(error)
    void this.#client.end().catch(() => undefined)
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** Makes the schema, or brings it up to date; one process at a time. */
async function migrate(
  client: Client,
  schema: string,
  { chainId, genesisHash }: Pick<ChainIdentity, 'chainId' | 'genesisHash'>,
): Promise<void> {
  await client.query('begin')
  await client.query('select pg_advisory_xact_lock(hashtext($1))', [`tidegate ${schema}`])
  await client.query(`create schema if not exists ${quoted(schema)}`)
  await client.query(
    'create table if not exists migration (version integer primary key, applied_at timestamptz not null default now())',
  )
  const { rows } = await client.query('select coalesce(max(version), 0) as version from migration')
  for (const statements of migrationsFrom(Number(rows[0]?.version))) await client.query(statements)
  await client.query('insert into feed (chain_id, genesis_hash) values ($1, $2) on conflict do nothing', [
    chainId,
    Buffer.from(hexToBytes(genesisHash)),
  ])
  await client.query('commit')
}

async function entryOf(row: QueryResultRow, parts: readonly Uint8Array[]): Promise<FeedEntry> {
  const { kind } = row
  const sequence = Number(row.sequence)
  const block = { number: Number(row.number), hash: row.hash as Hash32 }
  if (kind !== 'block') return { kind, sequence, block }
  return { kind, sequence, block, parentHash: row.parent_hash, bundle: await inflate(Buffer.concat(parts)) }
}

function split(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += partBytesMax) parts.push(bytes.subarray(at, at + partBytesMax))
  return parts
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function unreachable(error: unknown): LogUnreachableError {
  if (error instanceof LogUnreachableError) return error
  return new LogUnreachableError((error as Error).message || String((error as { code?: unknown }).code))
}

function fenced(epoch: number): FencedError {
  return new FencedError(`another writer has the feed: epoch ${epoch} is over`)
}
