import type { Socket } from 'node:net'

/** An answer that is not over. */
interface OpenReply {
  /** The connection is over. */
  over(): void
}

/** Requests of one connection that are worked on at the same time, and answers that wait for those before them. */
const repliesMax = 16

/** Bytes of answers that may wait in one connection when the next request is begun: what its reader takes meanwhile. */
const unsentBytesMax = 1024 * 1024

/**
 * One connection of HTTP. Node.js takes all requests in that came in one packet and leaves order alone: answers go out
 * in the order of their requests. This bounds what they take at once: beyond, requests wait, unread as far as they
 * have not come in yet.
 */
export class NodeConnection {
  /** Those that are not over. */
  readonly #replies = new Set<OpenReply>()
  readonly #waiting: (() => void)[] = []
  #unsentBytes = 0
  /** An answer has been given after which the connection ends; no request after it is begun. */
  isEnding = false

  constructor(readonly socket: Socket) {
    socket.once('close', () => {
      this.#waiting.length = 0
      for (const reply of this.#replies) reply.over()
    })
  }

  get isIdle(): boolean {
    return this.#replies.size === 0
  }

  /** Begins a request at once, or when those before it are answered as far as to make room. */
  begin(request: () => void): void {
    if (this.#hasRoom && this.#waiting.length === 0) return request()
    this.#waiting.push(request)
    this.socket.pause()
  }

  add(reply: OpenReply): void {
    this.#replies.add(reply)
  }

  remove(reply: OpenReply): void {
    this.#replies.delete(reply)
    if (this.#waiting.length === 0) return
    while (this.#hasRoom) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      next()
    }
    if (this.#waiting.length === 0) this.socket.resume()
  }

  /** Bytes that an answer hands over, and takes back when they are sent. */
  addUnsent(bytes: number): void {
    this.#unsentBytes += bytes
  }

  get #hasRoom(): boolean {
    return this.#replies.size < repliesMax && this.#unsentBytes <= unsentBytesMax
  }
}
