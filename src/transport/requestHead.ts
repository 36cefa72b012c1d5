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
  contentType = ''
  transferEncoding = ''
  origin = ''
  /** The block that the request is pinned to. */
  at = ''
  #isOld = false
  #hosts = 0
  #contentLengths = 0
  #transferEncodings = 0

  /** Begins with the next request, `isOld` for HTTP/1.0, which names no host; {@link take} gets its headers. */
  begin(method: string, path: string, isOld: boolean): void {
    this.method = method
    this.path = path
    this.#isOld = isOld
    this.host = ''
    this.contentLength = ''
    this.contentType = ''
    this.transferEncoding = ''
    this.origin = ''
    this.at = ''
    this.#hosts = 0
    this.#contentLengths = 0
    this.#transferEncodings = 0
  }

  /**
   * Why it is in doubt where this request ends or whom it is for; undefined where it is clear. uWebSockets.js lets all
   * of this pass, and a proxy in front that reads it in another way could be made to hide requests in it.
   */
  get doubt(): string | undefined {
    if (this.#contentLengths > 1) return 'more than one content length'
    if (this.#hosts > 1) return 'more than one host'
    if (this.#hosts === 0 && !this.#isOld) return 'no host'
    if (this.#transferEncodings === 0) return undefined
    if (this.#transferEncodings > 1) return 'more than one transfer encoding'
    return this.transferEncoding.toLowerCase() === 'chunked'
      ? undefined
      : 'a transfer encoding other than chunked'
  }

  /** One header, its name in lower case. */
  readonly take = (name: string, value: string): void => {
    // The names that count differ in length, which tells most others apart at once.
    switch (name.length) {
      case 4:
        if (name === 'host' && this.#hosts++ === 0) this.host = value
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
        if (name === 'content-length' && this.#contentLengths++ === 0) this.contentLength = value
        break
      case 17:
        if (name === 'transfer-encoding' && this.#transferEncodings++ === 0) this.transferEncoding = value
        break
    }
  }
}
