/**
 * A client's copy of a chain, made from the events of subscriptions, with which it can resume after any lost
 * connection, as docs/subscriptions.md says. An event that does not fit the copy is an error.
 */

// biome-ignore lint/suspicious/noExplicitAny: results of events as they come.
type Event = any

export interface ChainCopy {
  /** Hash of the last block that is certainly complete: the `fromBlock` to resume with. */
  readonly last: string
  /** The copy since the block that it began with, one line per item. */
  readonly view: readonly string[]
  /** Takes the result of an event. Throws Error if it does not fit. */
  take(result: Event): void
  /** Drops data that may be incomplete. */
  afterCut(): void
}

/** Hashes of blocks, from `newHeads`. */
export class HeadCopy implements ChainCopy {
  readonly #heads: string[] = []
  readonly #base: string

  constructor(base: string) {
    this.#base = base
  }

  get last(): string {
    return this.#heads.at(-1) ?? this.#base
  }

  get view(): readonly string[] {
    return this.#heads
  }

  take(head: Event): void {
    if (head.removed) {
      if (this.#heads.pop() !== head.hash)
        throw new Error(`a rollback of ${head.number}, which was not the last`)
      return
    }
    if (this.last !== head.parentHash) throw new Error(`block ${head.number} does not follow`)
    this.#heads.push(head.hash)
  }

  afterCut(): void {}
}

/**
 * Logs, from `logs`. A connection may be lost within a block's logs. So those of the last block count only once a log
 * of another block comes.
 */
export class LogCopy implements ChainCopy {
  readonly #blocks: { readonly hash: string; readonly logs: readonly string[] }[] = []
  #newest: { readonly hash: string; readonly removed: boolean; readonly logs: string[] } | undefined
  readonly #base: string

  constructor(base: string) {
    this.#base = base
  }

  get last(): string {
    return this.#blocks.at(-1)?.hash ?? this.#base
  }

  get view(): readonly string[] {
    const newest = this.#newest
    const whole = newest?.removed ? this.#blocks.slice(0, -1) : this.#blocks
    return [...whole.flatMap(({ logs }) => logs), ...(newest?.removed === false ? newest.logs : [])]
  }

  take({ blockHash: hash, logIndex, removed }: Event): void {
    const line = logLine(hash, Number(logIndex))
    const newest = this.#newest
    if (newest !== undefined && newest.hash === hash && newest.removed === removed) {
      if (newest.logs.includes(line)) throw new Error(`${line} comes twice`)
      newest.logs.push(line)
    } else {
      this.#settle()
      this.#newest = { hash, removed, logs: [line] }
    }
  }

  afterCut(): void {
    this.#newest = undefined
  }

  #settle(): void {
    const newest = this.#newest
    if (newest === undefined) return
    this.#newest = undefined
    if (!newest.removed) {
      this.#blocks.push(newest)
      return
    }
    const top = this.#blocks.pop()
    if (top?.hash !== newest.hash || top.logs.join() !== newest.logs.toReversed().join()) {
      throw new Error(`the logs of ${newest.hash} are taken back otherwise than they came`)
    }
  }
}

/** A log as {@link LogCopy} keeps it. */
export function logLine(hash: string, index: number): string {
  return `${hash}:${index}`
}
