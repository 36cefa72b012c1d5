/**
 * What decides what becomes of a request, taken in one walk over its headers: repeated ones are found only by walking,
 * and each header asked for by name costs a call into uWebSockets.js and two strings of its own (0.15 µs; a cached
 * read is answered in 7 µs).
 *
 * One object serves all requests of a server: what it holds is that of the request read last. Of repeated headers
 * the first counts, and an absent one is empty.
 */
export class RequestHead {
  /** In upper case. */
  method = ''
  /** Without the query. */
  path = ''
  host = ''
  contentLength = ''
  /** How many there are. */
  contentLengths = 0
  contentType = ''
  transferEncoding = ''
  origin = ''
  /** The block that the request is pinned to. */
  at = ''

  /** Begins with the next request; {@link take} gets its headers. */
  begin(method: string, path: string): void {
    this.method = method
    this.path = path
    this.host = ''
    this.contentLength = ''
    this.contentLengths = 0
    this.contentType = ''
    this.transferEncoding = ''
    this.origin = ''
    this.at = ''
  }

  /** One header, its name in lower case. */
  readonly take = (name: string, value: string): void => {
    // The names that count differ in length, which tells most others apart at once.
    switch (name.length) {
      case 4:
        if (name === 'host') this.host ||= value
        break
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
      case 17:
        if (name === 'transfer-encoding') this.transferEncoding ||= value
        break
    }
  }
}
