/**
 * Of the processes that share a queue, one sends to the sequencer: the holder of the lease. Owns the lease and its
 * epoch, and begins and ends this process's forwarder with it.
 *
 * The epoch grows with each holder, and PostgreSQL refuses writes of a former one. A transaction is written as SENT
 * before it is sent. So a process that was paused, and resumes after another took over, sends nothing.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { FencedError, PostgresLease } from '../../data/postgres/lease.js'
import { FaultError } from '../../primitives/faults.js'
import type { Forwarder } from './forwarder.js'
import type { SharedDatabase } from './sharedDatabase.js'
import type { SharedSubmissions } from './sharedSubmissions.js'
import { type SubmissionWriter, sendingRole } from './submissionStore.js'

interface ForwardingLeaseOptions {
  readonly database: SharedDatabase
  readonly submissions: SharedSubmissions
  /** Time for which a dead holder prevents others from sending. */
  readonly leaseMs: number
  /** Makes the forwarder for the time of the lease. */
  readonly forward: (writer: SubmissionWriter) => Forwarder
  /** Takes sentences for the operator. */
  readonly log: (message: string) => void
}

export class ForwardingLease {
  readonly #options: ForwardingLeaseOptions
  readonly #lease: PostgresLease
  readonly #holder = randomUUID()
  readonly #ending = new AbortController()
  #forwarder: Forwarder | undefined
  readonly #running: Promise<void>

  /** Begins to ask for the lease. */
  constructor(options: ForwardingLeaseOptions) {
    this.#options = options
    this.#lease = new PostgresLease((text, values) => options.database.read(text, values), {
      table: 'lease',
      lockedTable: 'queue',
      role: sendingRole,
    })
    this.#running = this.#run()
  }

  /** The forwarder of this process; undefined while another process has the lease. */
  get forwarder(): Forwarder | undefined {
    return this.#forwarder
  }

  /** Ends open deliveries and gives the lease back. */
  async stop(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      try {
        const askedMs = performance.now()
        const epoch = await this.#lease.acquire(this.#holder, this.#options.leaseMs)
        if (epoch !== undefined) await this.#hold(epoch, askedMs)
      } catch (error) {
        // A lost database is reported by its own connection.
        if (error instanceof FencedError) this.#options.log(error.message)
        else if (!(error instanceof FaultError)) throw error
      }
      await this.#pause()
    }
  }

  /** Forwards until the lease is lost or the process ends. */
  async #hold(epoch: number, acquiredMs: number): Promise<void> {
    const { submissions, leaseMs, forward } = this.#options
    // End of the lease by this process's clock, which continues while the process is paused; the database counts from a
    // later moment.
    let leasedUntilMs = acquiredMs + leaseMs
    const forwarder = forward(submissions.fencedBy(epoch, () => performance.now() < leasedUntilMs))
    this.#forwarder = forwarder
    try {
      forwarder.serve(await submissions.readWaitingLanes())
      for (;;) {
        await this.#pause()
        if (this.#ending.signal.aborted) break
        const askedMs = performance.now()
        await this.#lease.renew(epoch, this.#holder, leaseMs)
        leasedUntilMs = askedMs + leaseMs
      }
    } finally {
      this.#forwarder = undefined
      await forwarder.stop()
    }
    await this.#lease.release(epoch)
  }

  async #pause(): Promise<void> {
    await sleep(this.#options.leaseMs / 3, undefined, { signal: this.#ending.signal }).catch(() => undefined)
  }
}
