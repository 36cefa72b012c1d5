/** Wait after a node asked for fewer questions and did not say for how long, at first and at most; doubled by each in a row. */
const firstMs = 250
const msMax = 4_000
/**
 * The longest told one that is kept to: after the first of several in a row, and after those that follow, each four times
 * as long, up to the most. Some fronts say when the day of their quota is over, and answer the next question.
 */
const toldMsFirst = 1_000
const toldMsMax = 30_000

/** How long a node or its front asked not to be asked. */
export class Pause {
  #until = 0
  /** How often in a row it asked so. */
  #times = 0

  get leftMs(): number {
    return Math.max(this.#until - performance.now(), 0)
  }

  /** It asked for a pause of so many ms, or did not say how long. */
  begin(ms?: number): void {
    // Several questions under way are told so together.
    const isOn = this.leftMs > 0
    if (ms === undefined && isOn) return
    const times = isOn ? Math.max(this.#times - 1, 0) : this.#times++
    const lastsMs =
      ms !== undefined
        ? Math.min(ms, toldMsFirst * 4 ** times, toldMsMax)
        : Math.min(firstMs * 2 ** times, msMax)
    this.#until = Math.max(this.#until, performance.now() + lastsMs)
  }

  /** It answered, which shows that what it told is not so: questions under way are answered within a pause, too. */
  answered(): void {
    this.#times = 0
    this.#until = Math.min(this.#until, performance.now() + toldMsFirst)
  }
}
