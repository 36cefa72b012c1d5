/** Unanswered exchanges in a row after which a node is left alone for a while, so that it can recover. */
const failuresMax = 5
/**
 * Length of that rest: the first and the maximum; doubled, less some jitter, while the first exchange after it fails.
 */
const restMs = 200
const restMsMax = 5_000

/** The newest failure of a node. */
export interface LastError {
  /** In milliseconds since 1970. */
  readonly atMs: number
  readonly why: string
}

/** Whether a node is in service, judged by the outcomes of requests. */
export class Service {
  /** Undefined before the first outcome. */
  isAnswering: boolean | undefined
  /** How often it stopped answering. */
  outages = 0
  /** Undefined before the first failure. */
  lastError: LastError | undefined
  readonly #name: string
  readonly #notice: (text: string) => void
  #answeredAt = 0
  #outagesReported = 0
  #failures = 0
  #rests = 0
  #restedAt = 0
  #restsUntil = 0

  /** `notice` gets a sentence when the node stops answering, and when it answers again. */
  constructor(name: string, notice: (text: string) => void) {
    this.#name = name
    this.#notice = notice
  }

  answered(): void {
    this.#answeredAt = performance.now()
    this.isAnswering = true
    if (this.outages > this.#outagesReported) this.#notice(`${this.#name} answers again`)
    this.#outagesReported = this.outages
    this.#failures = this.#rests = this.#restsUntil = 0
  }

  /** Whether the node currently rests. */
  get isResting(): boolean {
    return performance.now() < this.#restsUntil
  }

  /** Records an unanswered exchange that began at `start`. Exchanges from before the last rest were counted with it. */
  unanswered(start: number): void {
    if (start < this.#restedAt || ++this.#failures < failuresMax) return
    this.#restedAt = performance.now()
    const ms = Math.min(restMs * 2 ** this.#rests++, restMsMax)
    this.#restsUntil = this.#restedAt + ms * (1 - Math.random() / 2)
  }

  /**
   * Records an unanswered request from `start`. Returns whether the node is out of service; false if it answered since.
   */
  failed(start: number, why: string): boolean {
    if (start < this.#answeredAt) return false
    this.lastError = { atMs: Date.now(), why }
    if (this.isAnswering === false) return true
    this.isAnswering = false
    this.outages++
    this.#notice(`${this.#name} does not answer (${why}); trying again`)
    return true
  }
}
