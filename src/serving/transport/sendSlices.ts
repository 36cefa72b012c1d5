/**
 * Turns for sending long answers: limits the bytes passed to the operating system in one turn of the event loop, and
 * keys take turns. Passing on 4 MiB takes 2 to 10 ms, and jobs of the pool end several at a time.
 */
import { type Place, Share, TimeSlices } from '../../primitives/timeSlices.js'

/** Maximum bytes passed on at once: a block of 200 full transactions has 169 KB, which is sent whole. */
export const sentBytesMax = 256 * 1024

/** Bytes of long answers in one turn: 1 ms. */
export const sentBytesPerTurn = 1024 * 1024

/** Milliseconds of a turn after which no further part is sent, even if there is room. */
const sendMsMax = 1

/** An answer with a part to send. */
export interface LongSend {
  /** Set by the slices. */
  place: Place | undefined
  /** The key id of its caller; '' for pages. */
  readonly flow: string
  /** Sends the next part, of at most {@link sentBytesMax}. */
  sendOn(): void
}

/** Exported for tests; other callers share {@link sendSlices}. */
export class SendSlices {
  readonly #share = new Share()
  readonly #slices = new TimeSlices<LongSend>({
    goOn: (send) => send.sendOn(),
    flowOf: ({ flow }) => flow,
    msMaxOf: () => sendMsMax,
    tasksMax: sentBytesPerTurn / sentBytesMax,
    share: { tasksMax: Number.POSITIVE_INFINITY, costMax: sentBytesPerTurn },
  })

  /** Sends a part now if this turn has room for it and no other answer waits; otherwise in a later turn. */
  send(send: LongSend, bytes: number): void {
    if (this.take(bytes)) send.sendOn()
    else this.#slices.wait(send)
  }

  /**
   * Counts a part that is about to be sent. Returns false, without counting, if another answer waits or the turn has no
   * room.
   */
  take(bytes: number): boolean {
    return this.#slices.isEmpty && this.#slices.take(this.#share, Math.min(bytes, sentBytesMax))
  }

  /** Sends a part in a later turn. */
  sendLater(send: LongSend): void {
    this.#slices.wait(send)
  }

  /** Removes an answer that waits. */
  forget(send: LongSend): void {
    this.#slices.forget(send)
  }
}

/** The slices of this thread. */
export const sendSlices = new SendSlices()
