/** Wait after a node asked for fewer questions and did not say for how long, at first and at most; doubled by each in a row. */
const firstMs = 250
const msMax = 4_000
/** The longest one that is kept to: some say when the day of their quota is over, though they answer before. */
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
    if (ms === undefined && this.leftMs > 0) return
    const lastsMs = ms !== undefined ? Math.min(ms, toldMsMax) : Math.min(firstMs * 2 ** this.#times++, msMax)
    this.#until = Math.max(this.#until, performance.now() + lastsMs)
  }

  answered(): void {
    this.#times = 0
  }
}
