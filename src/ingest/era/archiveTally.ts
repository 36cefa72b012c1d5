import { setImmediate } from 'node:timers/promises'
import type { IngestMessage, IngestProgress } from '../messages.js'

/** Longest time without a turn of the event loop, in which a message to stop arrives. */
const turnMs = 20
/** Time between two progress messages. */
const reportMs = 200

/** Counts what an import takes out of archives, reports it at intervals, and gives the event loop its turns. */
export class ArchiveTally {
  stored = 0
  known = 0
  gas = 0n
  /** Number of the block that was taken last. */
  number = 0
  readonly #bytesTotal: number
  readonly #report: (message: IngestMessage) => void
  readonly #shouldStop: () => boolean
  readonly #startMs = performance.now()
  #turnedMs = this.#startMs
  #reportedMs = this.#startMs
  #bytesBefore = 0
  #bytesRead = 0

  /** `bytesTotal` is the size of all archives. */
  constructor(bytesTotal: number, report: (message: IngestMessage) => void, shouldStop: () => boolean) {
    this.#bytesTotal = bytesTotal
    this.#report = report
    this.#shouldStop = shouldStop
  }

  progress(): IngestProgress {
    return {
      number: this.number,
      executed: this.stored,
      known: this.known,
      side: 0,
      gas: Number(this.gas),
      bytesRead: this.#bytesRead,
      bytesTotal: this.#bytesTotal,
      elapsedMs: performance.now() - this.#startMs,
    }
  }

  /** An archive of so many bytes is done. */
  endArchive(bytes: number): void {
    this.#bytesBefore += bytes
    this.#bytesRead = this.#bytesBefore
  }

  /** After a block, with so many bytes of its archive done; true where it is time to stop. */
  async turn(bytes: number): Promise<boolean> {
    this.#bytesRead = this.#bytesBefore + Math.floor(bytes)
    const now = performance.now()
    if (now - this.#turnedMs < turnMs) return false
    if (now - this.#reportedMs >= reportMs) {
      this.#reportedMs = now
      this.#report({ type: 'progress', progress: this.progress() })
    }
    await setImmediate()
    this.#turnedMs = performance.now()
    return this.#shouldStop()
  }
}
