/**
 * Follows the changes of a database: wakes the waiters, connects again after each loss, and reports an outage once. A
 * notification is a hint, because it is lost with its connection. So each wait has a longest time, and a number in a
 * table counts the changes.
 */
import { type Deferred, defer, pause, waitFor } from '../../primitives/deferred.js'

/** Wakes one waiter. It does not miss an event between {@link expect} and {@link wait}. */
export class News {
  #next: Deferred<void> = defer()

  arrive(): void {
    this.#next.resolve()
  }

  /** Call it before looking for changes: later news ends the next wait at once. */
  expect(): void {
    this.#next = defer()
  }

  /** Resolves with the next news, after `ms` at the latest. */
  async wait(ms: number): Promise<void> {
    await waitFor(this.#next.promise, ms)
  }
}

/** Sentences for the operator at the beginning and the end of an outage. The reason is appended to the first one. */
interface OutageTexts {
  readonly begins: string
  readonly ends: string
}

/** Reports an outage once, and its end. */
export class Outage {
  readonly #texts: OutageTexts
  readonly #say: (text: string) => void
  #isOn = false

  constructor(texts: OutageTexts, say: (text: string) => void) {
    this.#texts = texts
    this.#say = say
  }

  get isOn(): boolean {
    return this.#isOn
  }

  begin(reason: string): void {
    if (!this.#isOn) this.#say(`${this.#texts.begins}: ${reason}`)
    this.#isOn = true
  }

  end(): void {
    if (this.#isOn) this.#say(this.#texts.ends)
    this.#isOn = false
  }
}

interface Closable {
  close(): Promise<void>
}

export interface KeepConnectedOptions<C extends Closable> {
  readonly connect: () => Promise<C>
  /** Works with a connection. Resolves when no other one is needed; rejects when the connection is lost. */
  readonly use: (connection: C) => Promise<void>
  /** Called when `connect` or `use` rejects. Throws an error that another connection cannot remove. */
  readonly onLost: (error: Error) => void
  /** Wait before the next attempt. */
  readonly retryMs: number
  /** No attempt begins once it is aborted. */
  readonly signal: AbortSignal
}

/** Keeps one connection, until `use` resolves or the signal is aborted. Rejects with the errors of `onLost`. */
export async function keepConnected<C extends Closable>(options: KeepConnectedOptions<C>): Promise<void> {
  const { connect, use, onLost, retryMs, signal } = options
  do {
    let connection: C | undefined
    try {
      connection = await connect()
      return await use(connection)
    } catch (error) {
      onLost(error as Error)
    } finally {
      await connection?.close()
    }
    await pause(retryMs, signal)
  } while (!signal.aborted)
}
