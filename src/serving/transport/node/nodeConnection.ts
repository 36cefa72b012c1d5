import type { Socket } from 'node:net'

interface OpenReply {
  over(): void
}

/** Maximum requests of one connection that are processed at once or whose answers wait for earlier ones. */
const repliesMax = 16

/** Unsent bytes of a connection above which no further request starts. */
const unsentBytesMax = 1024 * 1024

/**
 * One HTTP connection. Node.js starts all requests of a packet at once and sends answers in the order of the requests.
 * This class limits the concurrent ones; further ones wait, and requests that have not arrived yet are not read.
 */
export class NodeConnection {
  readonly #replies = new Set<OpenReply>()
  readonly #waiting: (() => void)[] = []
  #goingOn: NodeJS.Immediate | undefined
  #unsentBytes = 0
  /** Whether the connection ends after an answer that was given; no later request starts. */
  isEnding = false

  constructor(readonly socket: Socket) {
    socket.once('close', () => {
      this.#waiting.length = 0
      clearImmediate(this.#goingOn)
      for (const reply of this.#replies) reply.over()
    })
  }

  get isIdle(): boolean {
    return this.#replies.size === 0
  }

  /** Starts a request: at once, or when answers to earlier ones have made room. */
  begin(request: () => void): void {
    if (this.#hasRoom && this.#waiting.length === 0) return request()
    this.#waiting.push(request)
    this.socket.pause()
  }

  add(reply: OpenReply): void {
    this.#replies.add(reply)
  }

  /** Starts waiting requests in a later turn, at most {@link repliesMax}: they may be hundreds. */
  remove(reply: OpenReply): void {
    this.#replies.delete(reply)
    if (this.#waiting.length > 0) this.#goingOn ??= setImmediate(() => this.#goOn())
  }

  #goOn(): void {
    this.#goingOn = undefined
    for (let begun = 0; begun < repliesMax && this.#hasRoom; begun++) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      next()
    }
    if (this.#waiting.length === 0) this.socket.resume()
    else if (this.#replies.size === 0) this.#goingOn ??= setImmediate(() => this.#goOn())
  }

  /** Counts bytes of an answer passed to Node.js; a negative number subtracts sent ones. */
  addUnsent(bytes: number): void {
    this.#unsentBytes += bytes
  }

  get #hasRoom(): boolean {
    return this.#replies.size < repliesMax && this.#unsentBytes <= unsentBytesMax
  }
}
