/** Exchanges in a row without an answer after which a node is left alone for a while, so that it can recover. */
const failuresMax = 5
/** How long it is left alone, at first and at most; doubled, less some jitter, while the first exchange after it fails. */
const restMs = 200
const restMsMax = 5_000

/** Whether a node is in service, as the outcomes of questions say. */
export class Service {
  /** Undefined before the first outcome. */
  isAnswering: boolean | undefined
  /** How often it stopped answering. */
  outages = 0
  readonly #name: string
  readonly #notice: (text: string) => void
  #answeredAt = 0
  #outagesTold = 0
  #failures = 0
  #rests = 0
  #restedAt = 0
  #restsUntil = 0

  /** `notice` is called with a sentence when the node stops answering, and when it answers again. */
  constructor(name: string, notice: (text: string) => void) {
    this.#name = name
    this.#notice = notice
  }

  answered(): void {
    this.#answeredAt = performance.now()
    this.isAnswering = true
    if (this.outages > this.#outagesTold) this.#notice(`${this.#name} answers again`)
    this.#outagesTold = this.outages
    this.#failures = this.#rests = this.#restsUntil = 0
  }

  /** Whether it is left alone for the moment. */
  get isResting(): boolean {
    return performance.now() < this.#restsUntil
  }

  /** An exchange that began at `start` had no answer. Those from before the last rest were counted with it. */
  unanswered(start: number): void {
    if (start < this.#restedAt || ++this.#failures < failuresMax) return
    this.#restedAt = performance.now()
    const ms = Math.min(restMs * 2 ** this.#rests++, restMsMax)
    this.#restsUntil = this.#restedAt + ms * (1 - Math.random() / 2)
  }

  /** A question that was asked at `start` was not answered. Whether it is out of service: not where another one was since. */
  failed(start: number, why: string): boolean {
    if (start < this.#answeredAt) return false
    if (this.isAnswering === false) return true
    this.isAnswering = false
    this.outages++
    this.#notice(`${this.#name} does not answer (${why}); trying again`)
    return true
  }
}
