/**
 * Since when each of some things has its state. States are compared when they are reported, so that a time is as exact
 * as reports are frequent.
 */

interface Entry {
  readonly state: string
  readonly sinceMs: number
}

export class SinceWhen {
  readonly #entries = new Map<string, Entry>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /**
   * The time since which `name` has this state, in milliseconds since 1970: that of the first report of the state.
   * Names come from the configuration, so that they are few.
   */
  of(name: string, state: string): number {
    const known = this.#entries.get(name)
    if (known?.state === state) return known.sinceMs
    const sinceMs = this.#nowMs()
    this.#entries.set(name, { state, sinceMs })
    return sinceMs
  }

  /** Like {@link of}, in ISO 8601. */
  textOf(name: string, state: string): string {
    return new Date(this.of(name, state)).toISOString()
  }

  /** Forgets the names with this beginning that are not among `names`: their states have ended. */
  keepOnly(beginning: string, names: readonly string[]): void {
    for (const name of this.#entries.keys()) {
      if (name.startsWith(beginning) && !names.includes(name)) this.#entries.delete(name)
    }
  }
}
