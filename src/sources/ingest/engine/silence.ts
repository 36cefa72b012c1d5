/** When a consensus client called last, and whether it still calls, as a sentence for `/health` and the log. */

/** A client calls at least once a slot of 12 s; it is silent after more than two slots. */
export const silentMs = 30_000
/** The time of silence is reported in steps, so that the state does not change each second. */
const stepSeconds = 10

export class Silence {
  readonly #report: (trouble: string | undefined) => void
  #calledMs: number
  #hasCalled = false
  #reported: string | undefined

  /**
   * `report` gets each new sentence, and undefined once the client calls again. Times are those of `performance.now()`.
   */
  constructor(nowMs: number, report: (trouble: string | undefined) => void) {
    this.#calledMs = nowMs
    this.#report = report
  }

  called(nowMs: number): void {
    this.#calledMs = nowMs
    this.#hasCalled = true
    this.look(nowMs)
  }

  /** Time of the last call, in milliseconds since 1970; undefined before the first one. */
  get calledAtMs(): number | undefined {
    return this.#hasCalled ? dateMs(this.#calledMs) : undefined
  }

  /** Time of the last call, or of the start, if that is long ago; undefined while the client calls. */
  get silentSinceMs(): number | undefined {
    return this.#reported === undefined ? undefined : dateMs(this.#calledMs)
  }

  look(nowMs: number): void {
    const silentForMs = nowMs - this.#calledMs
    const seconds = Math.floor(silentForMs / 1_000 / stepSeconds) * stepSeconds
    const since = new Date(dateMs(this.#calledMs)).toISOString()
    const trouble =
      silentForMs < silentMs
        ? undefined
        : `the consensus client has not called for ${seconds} s, since ${since}`
    if (trouble === this.#reported) return
    this.#reported = trouble
    this.#report(trouble)
  }
}

/** Milliseconds since 1970. */
function dateMs(clockMs: number): number {
  return Math.round(performance.timeOrigin + clockMs)
}
