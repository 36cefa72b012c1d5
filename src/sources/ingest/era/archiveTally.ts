import { OperatorError } from '../../../primitives/faults.js'
import type { IngestProgress } from '../thread/messages.js'
import { Turns } from '../thread/pace.js'
import type { SourceHost } from '../thread/runSource.js'
import { EraFileError } from './e2store.js'
import { EraFile } from './eraFile.js'

/** Time between two progress messages. */
const reportMs = 200

/**
 * Opens the archives of an import, counts the blocks taken from them, reports progress at intervals, and yields to the
 * event loop.
 */
export class ArchiveTally {
  stored = 0
  known = 0
  gas = 0n
  /** Number of the last block that was taken. */
  number = 0
  readonly #bytesTotal: number
  readonly #host: SourceHost
  readonly #startMs = performance.now()
  readonly #turns = new Turns()
  #reportedMs = this.#startMs
  #bytesBefore = 0
  #bytesRead = 0

  /** `bytesTotal` is the size of all archives. */
  constructor(bytesTotal: number, host: SourceHost) {
    this.#bytesTotal = bytesTotal
    this.#host = host
  }

  /**
   * Calls `take` with one archive after the other, until it resolves to false; resolves to whether it never did.
   * Rejects with OperatorError for a file that is no archive, or is damaged.
   */
  async take(paths: readonly string[], take: (archive: EraFile) => Promise<boolean>): Promise<boolean> {
    for (const path of paths) {
      let archive: EraFile | undefined
      try {
        archive = new EraFile(path)
        if (!(await take(archive))) return false
        this.#bytesBefore += archive.file.bytes
        this.#bytesRead = this.#bytesBefore
      } catch (error) {
        throw error instanceof EraFileError ? new OperatorError(error.message) : error
      } finally {
        archive?.close()
      }
    }
    return true
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

  /** Call it after each block, with the finished bytes of its archive. Resolves to true if the import must stop. */
  async turn(bytes: number): Promise<boolean> {
    this.#bytesRead = this.#bytesBefore + Math.floor(bytes)
    if (!this.#turns.isDue) return false
    const now = performance.now()
    if (now - this.#reportedMs >= reportMs) {
      this.#reportedMs = now
      this.#host.report({ type: 'progress', progress: this.progress() })
    }
    await this.#turns.take()
    return this.#host.signal.aborted
  }
}
