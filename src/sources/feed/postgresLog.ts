/**
 * A log of block diffs in PostgreSQL. Owns the statements, compression and splitting of block diffs. A lost connection
 * ends a PostgresLog; its user makes another one.
 *
 * The database decides who writes. Each writing statement first changes the one row of `feed`. The row must have the
 * writer's epoch and the newest entry that the writer knows. Otherwise the statement does nothing.
 */
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { QueryResultRow } from 'pg'
import { Connection, type DatabaseAddress, UnreachableError } from '../../data/postgres/connection.js'
import { FencedError, PostgresLease } from '../../data/postgres/lease.js'
import type { BlockName, ChainIdentity } from '../../data/store/chainRows.js'
import { asBuffer, bytesToHex, type Hash32, hexToBytes } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { type FeedEntry, type FeedEvent, type LogTip, MovedError, TrimmedError } from './blockDiffLog.js'

/* The tables of a feed in PostgreSQL, one schema per network, and the migrations that make them. */

/** Element i migrates a schema from version i to the next. Elements are never changed, only added. */
const feedMigrations: readonly string[] = [
  `
  -- One row: the chain, the one writer, and the end of the log.
  create table feed (
    is_only boolean primary key default true check (is_only),
    chain_id text not null,
    genesis_hash bytea not null,
    epoch bigint not null default 0,
    holder text,
    lease_until timestamptz not null default 'epoch',
    sequence bigint not null default 0,
    head_number bigint,
    head_hash bytea
  );
  -- What happened, in order. number and hash: the block that it happened to.
  create table entry (
    sequence bigint primary key,
    epoch bigint not null,
    kind text not null check (kind in ('block', 'unwind', 'safe', 'finalized')),
    number bigint not null,
    hash bytea not null,
    parent_hash bytea,
    bytes bigint not null,
    appended_at timestamptz not null default clock_timestamp()
  );
  create index entry_hash on entry (hash);
  create index entry_number on entry (number);
  create index entry_marker on entry (kind, sequence) where kind in ('safe', 'finalized');
  -- The bundle of a block, deflated, in parts.
  create table part (
    sequence bigint not null references entry on delete cascade,
    part integer not null,
    bytes bytea not null,
    primary key (sequence, part)
  );
  -- Compressed before it comes here.
  alter table part alter column bytes set storage external;
  `,
]

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** Most entries of one read, and about the most bytes: the result waits in memory. */
const readEntriesMax = 256
const readBytesMax = 16 * 2 ** 20
/** A longer block diff is split into several rows, because a row is in memory several times on its path. */
const partBytesMax = 2 ** 20

/** Messages for the operator if the database of a feed does not answer. */
export const feedOutage = { begins: 'the feed does not answer', ends: 'the feed answers again' } as const

/** The role of the process with the lease, for messages. */
const role = 'writes the feed'

export class PostgresLog {
  readonly #connection: Connection
  readonly #lease: PostgresLease

  private constructor(connection: Connection) {
    this.#connection = connection
    this.#lease = new PostgresLease((text, values) => connection.query(text, values), { table: 'feed', role })
  }

  /**
   * Connects to the feed of a chain. A writer makes it if there is none, or migrates it; for others a missing feed
   * counts as unreachable. Rejects with OperatorError if it is of another chain or of a newer release, otherwise with
   * {@link UnreachableError}.
   */
  static async connect(
    address: DatabaseAddress,
    chain: Pick<ChainIdentity, 'chainId' | 'genesisHash'>,
    isWriter: boolean,
  ): Promise<PostgresLog> {
    const connection = await Connection.open(address)
    try {
      if (isWriter) {
        await connection.migrate(feedMigrations, {
          text: 'insert into feed (chain_id, genesis_hash) values ($1, $2) on conflict do nothing',
          values: [chain.chainId, asBuffer(hexToBytes(chain.genesisHash))],
        })
      }
      const log = new PostgresLog(connection)
      await log.#check(chain)
      await connection.listen()
      return log
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Rejects with UnreachableError if there is no answer, as all other methods do. */
  async readTip(): Promise<LogTip> {
    const [row] = await this.#connection.query(
      `select sequence, head_number, head_hash, epoch,
        greatest(extract(epoch from lease_until - clock_timestamp()) * 1000, -1)::float8 as lease_ms,
        (select array[number::text, encode(hash, 'hex')] from entry where kind = 'safe' order by sequence desc limit 1) as safe,
        (select array[number::text, encode(hash, 'hex')] from entry where kind = 'finalized' order by sequence desc limit 1) as finalized
        from feed`,
    )
    if (row === undefined) throw new UnreachableError('the feed is empty')
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

  /**
   * The next entries after a sequence, in order: at least one if there is any. Rejects with {@link TrimmedError} if the
   * first of them was removed.
   */
  async read(after: number): Promise<readonly FeedEntry[]> {
    const rows = await this.#connection.query(
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
      throw new TrimmedError(`the log begins with entry ${first.sequence}`)
    }
    return entries
  }

  /**
   * The position from which a store continues. `hashes` are its newest canonical blocks; the position is the entry of
   * the highest of them in the log. Undefined if the log has none of them and its first block is not a child of one. A
   * log with only safe and finalized blocks accepts any store, as an empty one does.
   */
  async findPosition(hashes: readonly Uint8Array[]): Promise<number | undefined> {
    const [row] = await this.#connection.query(
      `select sequence from (
        select sequence, number from entry where hash = any($1::bytea[]) and kind in ('block', 'unwind')
        union all
        select sequence - 1, number - 1 from entry
        where parent_hash = any($1::bytea[])
          and sequence = (select min(sequence) from entry where kind in ('block', 'unwind'))
        union all
        select 0, -1 where not exists (select from entry where kind in ('block', 'unwind'))
      ) as found order by number desc, sequence desc limit 1`,
      [hashes.map(asBuffer)],
    )
    return row && Number(row.sequence)
  }

  /** See {@link PostgresLease}. */
  acquire(holder: string, leaseMs: number): Promise<number | undefined> {
    return this.#lease.acquire(holder, leaseMs)
  }

  renew(epoch: number, holder: string, leaseMs: number): Promise<void> {
    return this.#lease.renew(epoch, holder, leaseMs)
  }

  release(epoch: number): Promise<void> {
    return this.#lease.release(epoch)
  }

  /**
   * Appends after the entry `after`, all or none. Rejects with {@link FencedError} once there is a newer epoch, and
   * with {@link MovedError} if `after` is not the newest entry.
   */
  async append(epoch: number, after: number, events: readonly FeedEvent[]): Promise<void> {
    if (events.length === 0) return
    const blockDiffs = await Promise.all(
      events.map((event) => (event.kind === 'block' ? deflate(event.blockDiff) : undefined)),
    )
    const sequences = events.map((_, index) => after + 1 + index)
    const parts = blockDiffs.flatMap((blockDiff, index) =>
      blockDiff === undefined
        ? []
        : split(blockDiff).map((bytes, part) => ({ sequence: sequences[index], part, bytes })),
    )
    const heads = events.filter(({ kind }) => kind === 'block' || kind === 'unwind')
    const head = heads.at(-1)?.block
    const rows = await this.#connection.query(
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
        blockDiffs.map((blockDiff) => blockDiff?.length ?? 0),
        parts.map(({ sequence }) => sequence),
        parts.map(({ part }) => part),
        parts.map(({ bytes }) => bytes),
        this.#connection.schema,
      ],
    )
    if (rows.length > 0) return
    const [feed] = await this.#connection.query('select epoch, sequence from feed')
    if (Number(feed?.epoch) !== epoch) throw new FencedError(role, epoch)
    throw new MovedError(`the newest entry is ${feed?.sequence}, not ${after}`)
  }

  /** Removes the entries that are older than the newest `blocks` blocks. */
  async trim(epoch: number, blocks: number): Promise<void> {
    await this.#connection.query(
      `delete from entry using feed where feed.epoch = $1 and entry.sequence <= (
        select max(sequence) from entry where kind = 'block' and number <= (select head_number from feed) - $2)`,
      [epoch, blocks],
    )
  }

  /** Calls `listener` when there may be new entries, or the connection is lost. Returns a function that stops this. */
  onNews(listener: () => void): () => void {
    return this.#connection.onNews(listener)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** Throws OperatorError if the feed is of another chain or a newer release. */
  async #check(chain: Pick<ChainIdentity, 'chainId' | 'genesisHash'>): Promise<void> {
    await this.#connection.assertVersion('the feed', feedMigrations.length)
    const [feed] = await this.#connection.query('select chain_id, genesis_hash from feed')
    if (feed === undefined) throw new UnreachableError('the feed is empty')
    const genesisHash = bytesToHex(feed.genesis_hash)
    if (feed.chain_id !== chain.chainId || genesisHash !== chain.genesisHash) {
      throw new OperatorError(
        `the feed in schema ${this.#connection.schema} is of the chain with id ${feed.chain_id} and genesis ${genesisHash}, ` +
          `not ${chain.chainId} and ${chain.genesisHash}; name another schema`,
      )
    }
  }
}

async function entryOf(row: QueryResultRow, parts: readonly Uint8Array[]): Promise<FeedEntry> {
  const { kind } = row
  const sequence = Number(row.sequence)
  const block = { number: Number(row.number), hash: row.hash as Hash32 }
  if (kind !== 'block') return { kind, sequence, block }
  return {
    kind,
    sequence,
    block,
    parentHash: row.parent_hash,
    blockDiff: await inflate(Buffer.concat(parts)),
  }
}

function split(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += partBytesMax) parts.push(bytes.subarray(at, at + partBytesMax))
  return parts
}
