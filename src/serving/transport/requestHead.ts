/**
 * The parts of a request's head that decide its handling, read in one walk over its headers. Only a walk finds repeated
 * headers, and reading one header by name takes a call into uWebSockets.js and two new strings (scenario
 * `slot-cached`).
 *
 * One object serves all requests of a server and contains the values of the last one read. Of repeated headers the
 * first counts; an absent one is the empty text.
 */
export class RequestHead {
  /** The method in upper case. */
  method = ''
  /** The path without the query. */
  path = ''
  /** The query without its question mark; only for GET and HEAD. */
  query = ''
  host = ''
  contentLength = ''
  contentType = ''
  /** All lines of this header, joined. */
  contentEncoding = ''
  transferEncoding = ''
  origin = ''
  /** The text after `Bearer ` in Authorization; empty for another scheme. */
  bearer = ''
  apiKey = ''
  /** All lines of this header, joined; the next member has the same form. */
  acceptEncoding = ''
  ifNoneMatch = ''
  /** X-Request-Id as the client wrote it; see requestLog.ts. */
  requestId = ''
  /** All lines of traceparent, joined; several lines are thus invalid. See requestLog.ts. */
  traceParent = ''
  /** The block that the request is pinned to, as the client wrote it. */
  at = ''
  /** All lines of X-Forwarded-For, joined. */
  #forwardedFor = ''
  readonly #addressOf: (connection: unknown) => string
  readonly #clientOf: (peer: string, forwardedFor: string) => string
  #connection: unknown
  #isOld = false
  #hosts = 0
  #contentLengths = 0
  #transferEncodings = 0

  /**
   * `addressOf`: the other end of a connection; `clientOf`: the client's address; see {@link TrustedProxies.clientOf}.
   */
  constructor(
    addressOf: (connection: unknown) => string = () => '',
    clientOf: (peer: string, forwardedFor: string) => string = (peer) => peer,
  ) {
    this.#addressOf = addressOf
    this.#clientOf = clientOf
  }

  /**
   * The IP address of the client: the other end of the connection, or the address that a trusted proxy reports. An IPv4
   * address within IPv6 is given as IPv4. Read it while the request is handled; takes a microsecond.
   */
  get address(): string {
    return this.#clientOf(plainAddress(this.#addressOf(this.#connection)), this.#forwardedFor)
  }

  /** Begins a request; then pass its headers to {@link take}. `isOld`: HTTP/1.0, which has no Host header. */
  begin(method: string, path: string, isOld: boolean, query = '', connection?: unknown): void {
    this.#connection = connection
    this.#forwardedFor = ''
    this.method = method
    this.path = path
    this.query = query
    this.#isOld = isOld
    this.host = ''
    this.contentLength = ''
    this.contentType = ''
    this.contentEncoding = ''
    this.transferEncoding = ''
    this.origin = ''
    this.bearer = ''
    this.apiKey = ''
    this.acceptEncoding = ''
    this.ifNoneMatch = ''
    this.requestId = ''
    this.traceParent = ''
    this.at = ''
    this.#hosts = 0
    this.#contentLengths = 0
    this.#transferEncodings = 0
  }

  /**
   * The reason if the end or the target of this request is ambiguous; otherwise undefined. uWebSockets.js accepts such
   * requests. Behind a proxy that reads them differently they would allow request smuggling.
   */
  get ambiguity(): string | undefined {
    if (this.#contentLengths > 1) return 'more than one content length'
    if (this.#hosts > 1) return 'more than one host'
    if (this.#hosts === 0 && !this.#isOld) return 'no host'
    if (this.#transferEncodings === 0) return undefined
    // RFC 9112, section 6.1.
    if (this.#isOld) return 'a transfer encoding in HTTP/1.0'
    if (this.#transferEncodings > 1) return 'more than one transfer encoding'
    return this.transferEncoding.toLowerCase() === 'chunked'
      ? undefined
      : 'a transfer encoding other than chunked'
  }

  /** Takes one header, its name in lower case. */
  readonly take = (name: string, value: string): void => {
    // The relevant names differ in length, so most others are excluded at once.
    switch (name.length) {
      case 4:
        if (name === 'host' && this.#hosts++ === 0) this.host = value
        break
      case 6:
        if (name === 'origin') this.origin ||= value
        break
      case 9:
        if (name === 'x-api-key') this.apiKey ||= value
        break
      case 11:
        if (name === 'tidegate-at') this.at ||= value
        else if (name === 'traceparent') this.traceParent = joined(this.traceParent, value)
        break
      case 12:
        if (name === 'content-type') this.contentType ||= value
        else if (name === 'x-request-id') this.requestId ||= value
        break
      case 13:
        if (name === 'authorization') this.bearer ||= bearerPattern.exec(value)?.[1] ?? ''
        else if (name === 'if-none-match') this.ifNoneMatch = joined(this.ifNoneMatch, value)
        break
      case 14:
        if (name === 'content-length' && this.#contentLengths++ === 0) this.contentLength = value
        break
      case 15:
        if (name === 'accept-encoding') this.acceptEncoding = joined(this.acceptEncoding, value)
        else if (name === 'x-forwarded-for') this.#forwardedFor = joined(this.#forwardedFor, value)
        break
      case 16:
        if (name === 'content-encoding') this.contentEncoding = joined(this.contentEncoding, value)
        break
      case 17:
        if (name === 'transfer-encoding' && this.#transferEncodings++ === 0) this.transferEncoding = value
        break
    }
  }
}

const bearerPattern = /^bearer +(\S+) *$/i

/** IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2), in the forms of Node.js and of uWebSockets.js. */
const mappedPattern = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
const mappedLongPattern = /^(?:0000:){5}ffff:([0-9a-f]{2})([0-9a-f]{2}):([0-9a-f]{2})([0-9a-f]{2})$/i

/** The single form of an address. */
function plainAddress(address: string): string {
  const long = mappedLongPattern.exec(address)
  if (long !== null)
    return long
      .slice(1)
      .map((byte) => Number.parseInt(byte, 16))
      .join('.')
  return mappedPattern.exec(address)?.[1] ?? address
}

/** Two lines of a header whose value is a list. */
function joined(before: string, value: string): string {
  return before === '' ? value : `${before}, ${value}`
}
