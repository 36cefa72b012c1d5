/**
 * A lease: one of the processes that share a schema has it, for a time that the database counts. Owns the statements on
 * the columns `epoch`, `holder` and `lease_until` of a table with one row.
 *
 * The epoch grows with each holder. Each write of a holder names its epoch, and is refused once there is a newer one.
 */
import type { QueryResultRow } from 'pg'

/** Another process has a newer epoch: this one may no longer write. */
export class FencedError extends Error {
  override readonly name = 'FencedError'

  /** `role`: what the other process does now, as in "sends submissions". */
  constructor(role: string, epoch: number) {
    super(`another process ${role}: epoch ${epoch} is over`)
  }
}

type Query = (text: string, values: readonly unknown[]) => Promise<readonly QueryResultRow[]>

interface LeaseTable {
  /** Name of the table with the row of the lease. */
  readonly table: string
  /** Locked before a lease begins: transactions of the epoch before that lock it, too, are over then. */
  readonly lockedTable?: string
  /** The role, for {@link FencedError}. */
  readonly role: string
}

export class PostgresLease {
  readonly #query: Query
  readonly #table: LeaseTable

  constructor(query: Query, table: LeaseTable) {
    this.#query = query
    this.#table = table
  }

  /** The new epoch; undefined while another holder has the lease. Lasts `leaseMs` unless it is renewed. */
  async acquire(holder: string, leaseMs: number): Promise<number | undefined> {
    const { table, lockedTable } = this.#table
    const isFree = '(lease_until < clock_timestamp() or holder = $1)'
    const locked =
      lockedTable === undefined
        ? ''
        : `from (select from ${lockedTable} where exists (select from ${table} where ${isFree}) for update) as locked`
    const [row] = await this.#query(
      `update ${table} set epoch = epoch + 1, holder = $1, lease_until = clock_timestamp() + $2 * interval '1 ms'
      ${locked} where ${isFree} returning epoch`,
      [holder, leaseMs],
    )
    return row && Number(row.epoch)
  }

  /** Prolongs the lease. Rejects with {@link FencedError} once there is a newer epoch. */
  async renew(epoch: number, holder: string, leaseMs: number): Promise<void> {
    const rows = await this.#query(
      // Also compares the holder: in a database that was set back, epochs repeat.
      `update ${this.#table.table} set lease_until = clock_timestamp() + $2 * interval '1 ms'
      where epoch = $1 and holder = $3 returning epoch`,
      [epoch, leaseMs, holder],
    )
    if (rows.length === 0) throw new FencedError(this.#table.role, epoch)
  }

  /** Gives the lease back, and notifies the schema, so that the next holder need not wait. */
  async release(epoch: number): Promise<void> {
    await this.#query(
      `update ${this.#table.table} set lease_until = 'epoch', holder = null where epoch = $1
      returning pg_notify(current_schema(), 'released')`,
      [epoch],
    )
  }
}
