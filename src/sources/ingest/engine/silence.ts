/** Whether a consensus client still calls, as a sentence for `/health` and the log. */

/** A client calls at least once a slot of 12 s; it is silent after more than two slots. */
export const silentMs = 30_000
/** The time of silence is reported in steps, so that the state does not change each second. */
const stepSeconds = 10

export class Silence {
  readonly #tell: (trouble: string | undefined) => void
  #calledMs: number
  #reported: string | undefined

  /** `tell` gets each new sentence, and undefined once the client calls again. Times are of one clock, in milliseconds. */
  constructor(nowMs: number, tell: (trouble: string | undefined) => void) {
    this.#calledMs = nowMs
    this.#tell = tell
  }

  called(nowMs: number): void {
    this.#calledMs = nowMs
    this.look(nowMs)
  }

  look(nowMs: number): void {
    const silentForMs = nowMs - this.#calledMs
    const seconds = Math.floor(silentForMs / 1_000 / stepSeconds) * stepSeconds
    const trouble =
      silentForMs < silentMs ? undefined : `the consensus client has not called for ${seconds} s`
    if (trouble === this.#reported) return
    this.#reported = trouble
    this.#tell(trouble)
  }
}
