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
