/**
 * A connection to one PostgreSQL schema: statements, notifications, and the migrations that make its tables. Owns when
 * a connection counts as lost. A lost connection is never reused; its user makes another one. Owns no table except
 * `migration`.
 */
import type { Client, ClientConfig, QueryResultRow } from 'pg'
import { OperatorError } from '../../primitives/faults.js'

export interface DatabaseAddress {
  /**
   * postgres://user@host:port/database, with `sslmode` and `sslrootcert` for TLS. Missing parts come from PGPASSWORD,
   * PGPASSFILE and the other variables of libpq.
   */
  readonly url: string
  /** The PostgreSQL schema that has the tables; also the channel of their notifications. */
  readonly schema: string
}

/** The database gives no answer. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

/** Time limit of a connection, and of one statement, after which the database counts as lost. */
const connectMsMax = 5_000
const statementMsMax = 15_000

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** SQLSTATE insufficient_privilege. */
const forbiddenCode = '42501'

export class Connection {
  readonly #client: Client
  readonly schema: string
  readonly #listeners = new Set<() => void>()
  #lost: UnreachableError | undefined
  /** The newest statement; the next one is sent after it. */
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(client: Client, schema: string) {
    this.#client = client
    this.schema = schema
    client.on('error', (error) => this.#lose(error))
    client.on('end', () => this.#lose(new Error('the connection ended')))
    client.on('notification', () => this.#notifyListeners())
  }

  /**
   * Connects. Names without a schema refer to `schema`, which need not exist yet. Rejects with
   * {@link UnreachableError}, and with OperatorError for an unusable URL.
   */
  static async open({ url, schema }: DatabaseAddress): Promise<Connection> {
    // Loaded on demand: few processes have a database.
    const { default: pg } = await import('pg')
    const config: ClientConfig = {
      connectionString: url,
      application_name: 'tidegate',
      connectionTimeoutMillis: connectMsMax,
      query_timeout: statementMsMax,
      keepAlive: true,
    }
    const client = newClient(pg, config)
    const connection = new Connection(client, schema)
    try {
      await client.connect()
    } catch (error) {
      await connection.close()
      throw unreachable(error)
    }
    await connection.query(`set search_path to ${quoted(schema)}`)
    return connection
  }

  /**
   * The rows of one statement. Statements of several callers alternate, so a transaction must be one statement. Any
   * failure ends the connection and rejects with {@link UnreachableError}.
   */
  query(text: string, values: readonly unknown[] = []): Promise<QueryResultRow[]> {
    const run = async () => {
      if (this.#lost !== undefined) throw this.#lost
      try {
        return (await this.#client.query(text, [...values])).rows
      } catch (error) {
        this.#lose(error)
        throw this.#lost
      }
    }
    // The queue of `pg` itself is deprecated.
    const rows = this.#turn.then(run, run)
    this.#turn = rows
    return rows
  }

  /**
   * Makes the schema, or upgrades it; one process at a time, all or nothing. Element i of `migrations` upgrades it from
   * version i to the next, and `fill` is run last. A current schema needs only the right to read it. Rejects with
   * OperatorError if the user may not make the tables. Call it before the connection has other callers.
   */
  async migrate(migrations: readonly string[], fill: Statement): Promise<void> {
    const [found] = await this.query('select to_regclass($1) is not null as is_there', [
      `${quoted(this.schema)}.migration`,
    ])
    if (found?.is_there === true && (await this.#readVersion()) >= migrations.length) return
    try {
      await this.#migrate(migrations, fill)
    } catch (error) {
      const { cause, message } = error as UnreachableError
      if ((cause as { readonly code?: unknown } | undefined)?.code !== forbiddenCode) throw error
      throw new OperatorError(
        `the user of the database may not make the tables in schema ${this.schema} (${message}); ` +
          'start once with a user who may',
      )
    }
  }

  async #migrate(migrations: readonly string[], fill: Statement): Promise<void> {
    await this.query('begin')
    await this.query('select pg_advisory_xact_lock(hashtext($1))', [`tidegate ${this.schema}`])
    const [schema] = await this.query('select from pg_namespace where nspname = $1', [this.schema])
    // Even "if not exists" needs the right to make schemas.
    if (schema === undefined) await this.query(`create schema ${quoted(this.schema)}`)
    await this.query(
      'create table if not exists migration (version integer primary key, applied_at timestamptz not null default now())',
    )
    const version = await this.#readVersion()
    for (const [index, statements] of migrations.entries()) {
      if (index < version) continue
      await this.query(statements)
      await this.query('insert into migration (version) values ($1)', [index + 1])
    }
    await this.query(fill.text, fill.values)
    await this.query('commit')
  }

  /**
   * Rejects with OperatorError if the schema was made by a newer release, with {@link UnreachableError} if it is
   * missing or has an earlier version. `what` names its content, as in "the feed".
   */
  async assertVersion(what: string, newest: number): Promise<void> {
    const version = await this.#readVersion()
    if (version > newest) {
      throw new OperatorError(
        `${what} in schema ${this.schema} was made by a newer release (version ${version}, this one knows ` +
          `${newest}); update this program`,
      )
    }
    if (version < newest) {
      throw new UnreachableError(`${what} has version ${version} until a writer of this release starts`)
    }
  }

  /** Subscribes to the channel of the schema. */
  async listen(): Promise<void> {
    await this.query(`listen ${quoted(this.schema)}`)
  }

  /** Calls `listener` at each notification, and when the connection is lost. Returns a function that stops this. */
  onNews(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#lost ??= new UnreachableError('the connection was closed')
    await this.#client.end().catch(() => undefined)
  }

  async #readVersion(): Promise<number> {
    const [row] = await this.query('select coalesce(max(version), 0) as version from migration')
    return Number(row?.version)
  }

  #lose(error: unknown): void {
    if (this.#lost !== undefined) return
    this.#lost = unreachable(error)
    void this.#client.end().catch(() => undefined)
    this.#notifyListeners()
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** Throws OperatorError if a file in the URL cannot be read, or its settings contradict each other. */
function newClient({ Client }: Pick<typeof import('pg'), 'Client'>, config: ClientConfig): Client {
  try {
    return new Client(config)
  } catch (error) {
    throw new OperatorError(`the URL of the database cannot be used: ${(error as Error).message}`)
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function unreachable(error: unknown): UnreachableError {
  if (error instanceof UnreachableError) return error
  const { message, code } = error as Error & { readonly code?: unknown }
  return new UnreachableError(message || String(code), { cause: error })
}
