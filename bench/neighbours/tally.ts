/** Counts the answers and errors of a client, as short texts. */

/** Counts by status, error code, or end of a connection. */
export type Reported = Readonly<Record<string, number>>

/** Bytes of a body that are inspected. */
export const lookedAtBytes = 2_048

export class Tally {
  readonly #counts = new Map<string, number>()

  /** Number of all answers and errors. */
  total = 0

  add(what: string, count = 1): void {
    this.total += count
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + count)
  }

  /** Counts, the most frequent first. */
  counts(): Reported {
    return Object.fromEntries([...this.#counts].sort(([, a], [, b]) => b - a))
  }
}

/** `result`, or the code of the first error in the start of an answer. */
export function answerKind(start: string): string {
  const code = /"error":\{"code":(-?\d+)/.exec(start)?.[1]
  return code === undefined ? 'result' : `error ${code}`
}

/** Reason of a failed connection, as a short text. */
export function failureKind(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message
}
