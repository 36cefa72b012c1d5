import type { HttpRequest } from 'uWebSockets.js'

/**
 * The headers of a request that decide what becomes of it, all taken in one walk: repeated lengths are found only by
 * walking, and each header asked for by name costs a call into the server beneath and two strings of its own
 * (0.15 µs; a cached read is answered in 7 µs).
 *
 * One object serves all requests of a server: what it holds is that of the request read last. Of repeated headers
 * the first counts, and an absent one is empty.
 */
export class RequestHead {
  contentLength = ''
  /** How many there are. */
  contentLengths = 0
  contentType = ''
  origin = ''
  /** The block that the request is pinned to. */
  at = ''

  read(req: HttpRequest): void {
    this.contentLength = ''
    this.contentLengths = 0
    this.contentType = ''
    this.origin = ''
    this.at = ''
    req.forEach(this.#take)
  }

  readonly #take = (name: string, value: string): void => {
    // The names that count differ in length, which tells most others apart at once.
    switch (name.length) {
      case 6:
        if (name === 'origin') this.origin ||= value
        break
      case 11:
        if (name === 'tidegate-at') this.at ||= value
        break
      case 12:
        if (name === 'content-type') this.contentType ||= value
        break
      case 14:
        if (name === 'content-length' && this.contentLengths++ === 0) this.contentLength = value
        break
    }
  }
}
