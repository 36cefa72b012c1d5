/**
 * The database of a queue that several processes share: its two connections, renewed whenever they are lost, reads, and
 * transactions one after the other. While the database does not answer, every request is refused at once.
 */

import type { QueryResultRow } from 'pg'
import { keepConnected, News, Outage } from '../../data/postgres/changeFeed.js'
import { Connection, type DatabaseAddress } from '../../data/postgres/connection.js'
import { FaultError, OperatorError } from '../../primitives/faults.js'
import type { Felt } from './felt.js'
import type { Sizes } from './queueSizes.js'
import { migrations } from './sharedSchema.js'

/** The one row of the table `queue`. */
export interface QueueRow extends Sizes {
  /** Incremented by every transaction that writes. */
  readonly version: number
}

interface Link {
  readonly writes: Connection
  /** For reads, notifications and the lease, which do not wait for writes. */
  readonly reads: Connection
  close(): Promise<void>
}

/** Wait before the next attempt to connect to the database, and `retryAfterMs` of requests refused meanwhile. */
const retryMs = 500
/** Longest time without {@link SharedDatabase.onNews}: a notification is only a hint. */
const quietMsMax = 1_000
/** A process that is paused within a transaction blocks all others until PostgreSQL ends it. */
const idleMsMax = 2_000

const outageTexts = {
  begins: 'the database of submissions does not answer',
  ends: 'the database of submissions answers again',
}

export class SharedDatabase {
  readonly #address: DatabaseAddress
  readonly #chainId: Felt
  readonly #outage: Outage
  readonly #closing = new AbortController()
  #link: Link | undefined
  /** The current transaction, after which the next one begins. */
  #turn: Promise<unknown> = Promise.resolve()
  readonly #news = new News()
  #running: Promise<void> = Promise.resolve()
  /** Called after each connection, when there may be news, and regularly; its reads fail if the connection is lost. */
  onNews: () => Promise<void> = async () => undefined

  private constructor(address: DatabaseAddress, chainId: Felt, say: (message: string) => void) {
    this.#address = address
    this.#chainId = chainId
    this.#outage = new Outage(outageTexts, say)
  }

  /**
   * Connects to the queue of a chain, and makes missing tables. Retries a database that does not answer, now and later.
   * Rejects with OperatorError if the queue is of another chain or of a newer release. `say` takes sentences for the
   * operator.
   */
  static async open(
    address: DatabaseAddress,
    chainId: Felt,
    say: (message: string) => void,
  ): Promise<SharedDatabase> {
    const database = new SharedDatabase(address, chainId, say)
    try {
      database.#link = await database.#connect()
    } catch (error) {
      if (error instanceof OperatorError) throw error
      database.#outage.begin((error as Error).message)
    }
    database.#running = database.#run()
    return database
  }

  get isAnswering(): boolean {
    return this.#link !== undefined
  }

  /** The channel on which transactions notify. */
  get channel(): string {
    return this.#address.schema
  }

  /** The rows of one statement. Rejects with the fault SubmissionsUnread. */
  async read(text: string, values: readonly unknown[] = []): Promise<QueryResultRow[]> {
    const link = this.#link
    if (link === undefined) throw unread('the database does not answer')
    try {
      return await link.reads.query(text, values)
    } catch (error) {
      this.#lose(link)
      throw unread((error as Error).message)
    }
  }

  /**
   * Runs `work` in a transaction with exclusive access to the queue; one at a time, in order. Any exception of `work`
   * ends the connection and rejects with the fault NotStored; with `isUnsure` if the connection was lost during the
   * commit.
   */
  async transaction<T>(work: (writes: Connection, queue: QueueRow) => Promise<T>): Promise<T> {
    const run = async () => {
      const link = this.#link
      if (link === undefined) throw notStored('the database does not answer')
      let isUnsure = false
      try {
        const [, [queue]] = await Promise.all([
          link.writes.query('begin isolation level read committed'),
          link.writes.query('select version, waiting, waiting_bytes, records from queue for update'),
        ])
        const result = await work(link.writes, toQueueRow(queue))
        isUnsure = true
        await link.writes.query('commit')
        return result
      } catch (error) {
        this.#lose(link)
        throw notStored((error as Error).message, isUnsure)
      }
    }
    const result = this.#turn.then(run)
    this.#turn = result.catch(() => undefined)
    return result
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#news.arrive()
    await this.#turn
    await this.#running
  }

  #lose(link: Link): void {
    if (this.#link === link) this.#link = undefined
    this.#news.arrive()
  }

  async #run(): Promise<void> {
    await keepConnected({
      connect: async () => this.#link ?? (await this.#connect()),
      use: (link) => this.#listen(link),
      onLost: ({ message }) => {
        this.#link = undefined
        this.#outage.begin(message)
      },
      retryMs,
      signal: this.#closing.signal,
    })
    this.#link = undefined
  }

  async #listen(link: Link): Promise<void> {
    this.#link = link
    this.#outage.end()
    while (!this.#closing.signal.aborted) {
      if (this.#link !== link) throw new Error('the connection was lost')
      this.#news.expect()
      await this.onNews()
      await this.#news.wait(quietMsMax)
    }
  }

  async #connect(): Promise<Link> {
    const { schema } = this.#address
    const writes = await Connection.open(this.#address)
    let reads: Connection | undefined
    try {
      await writes.migrate(migrations, {
        text: `with made as (insert into queue (chain_id) values ($1) on conflict do nothing)
          insert into lease default values on conflict do nothing`,
        values: [this.#chainId],
      })
      await writes.assertVersion('the queue of submissions', migrations.length)
      const [queue] = await writes.query('select chain_id from queue')
      if (queue?.chain_id !== this.#chainId) {
        throw new OperatorError(
          `the schema ${schema} keeps transactions of chain ${queue?.chain_id}, and the chain id is ${this.#chainId} ` +
            'now; correct the chain id, or name another schema',
        )
      }
      // Set explicitly, whatever the server's default: an answer promises that the transaction is on disk.
      await writes.query('set synchronous_commit to on')
      await writes.query(`set idle_in_transaction_session_timeout to ${idleMsMax}`)
      reads = await Connection.open(this.#address)
      reads.onNews(() => this.#news.arrive())
      await reads.listen()
      const both = [writes, reads]
      const close = async () => {
        await Promise.all(both.map((each) => each.close()))
      }
      return { writes, reads, close }
    } catch (error) {
      await Promise.all([writes.close(), reads?.close()])
      throw error
    }
  }
}

export function toQueueRow(row: QueryResultRow | undefined): QueueRow {
  if (row === undefined) throw new Error('the queue is empty')
  return {
    version: Number(row.version),
    waiting: Number(row.waiting),
    waitingBytes: Number(row.waiting_bytes),
    settled: Number(row.records),
  }
}

/** The fault of a transaction that could not be stored because of the database; `isUnsure`: it may be stored. */
export function notStored(why: string, isUnsure = false): FaultError {
  return new FaultError({ kind: 'NotStored', retryAfterMs: retryMs, ...(isUnsure && { isUnsure }) }, why)
}

function unread(why: string): FaultError {
  return new FaultError({ kind: 'SubmissionsUnread', retryAfterMs: retryMs }, why)
}
