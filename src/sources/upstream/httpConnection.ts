import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, brotliDecompressSync, gunzip, gunzipSync, inflate, inflateSync } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { readRetryAfter } from '../../primitives/retryAfter.js'
import { authorization, causeOf } from '../../primitives/urls.js'
import { version } from '../../primitives/version.js'
import { UpstreamFailure } from './line.js'
import { proxyAuthorization, proxyOf } from './proxy.js'

/** Statuses of redirects that keep the method and body of a request: RFC 9110, sections 15.4.8 and 15.4.9. */
const redirects: ReadonlySet<number> = new Set([307, 308])
/** Maximum redirects in a row: from a path to the same one with a slash, or to the next version. */
const redirectsMax = 2

/** The first bytes of a gzip body. Some fronts name a coding that the body does not have. */
const gzipMagic = Buffer.of(0x1f, 0x8b)

const gzip = { later: promisify(gunzip), atOnce: gunzipSync } as const
const unpackers = {
  gzip,
  'x-gzip': gzip,
  deflate: { later: promisify(inflate), atOnce: inflateSync },
  br: { later: promisify(brotliDecompress), atOnce: brotliDecompressSync },
} as const

/**
 * Longest packed body that this thread tries to unpack at once, and the most that it unpacks then. A proof of 3 KB takes
 * 0.02 ms of CPU at once, and 0.11 ms in a thread of libuv. A longer body, or one that unpacks to more, would hold the
 * event loop.
 */
const atOnceBytes = { packedMax: 8 * 2 ** 10, unpackedMax: 256 * 2 ** 10 } as const

async function unpackBy(
  { later, atOnce }: (typeof unpackers)[keyof typeof unpackers],
  bytes: Buffer,
  bytesMax: number,
): Promise<Buffer> {
  if (bytes.length <= atOnceBytes.packedMax) {
    const maxOutputLength = Math.min(bytesMax, atOnceBytes.unpackedMax)
    try {
      return atOnce(bytes, { maxOutputLength })
    } catch (error) {
      if (!isTooLarge(error) || maxOutputLength === bytesMax) throw error
    }
  }
  return later(bytes, { maxOutputLength: bytesMax })
}

function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
}

/** The `Accept-Encoding` of requests: the codings of {@link unpack}. */
const acceptEncoding = 'gzip, deflate, br'

/**
 * The body without its `Content-Encoding`, at most `bytesMax` long: a short body may unpack to a thousand times its
 * length. Throws {@link UpstreamFailure}.
 */
async function unpack(body: Buffer, encoding: unknown, bytesMax: number): Promise<Buffer> {
  const codings = String(encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
  let bytes = body
  for (const coding of codings.reverse()) {
    // Unrequested codings are ignored: the reader of the body reports the error.
    if (!Object.hasOwn(unpackers, coding)) continue
    if (coding.endsWith('gzip') && !bytes.subarray(0, 2).equals(gzipMagic)) continue
    const unpacker = unpackers[coding as keyof typeof unpackers]
    bytes = await unpackBy(unpacker, bytes, bytesMax).catch((error: NodeJS.ErrnoException) => {
      if (isTooLarge(error)) throw tooLong(bytesMax)
      throw new UpstreamFailure('unreadable', `a body that cannot be unpacked (${error.code})`)
    })
  }
  return bytes
}

function tooLong(bytesMax: number): UpstreamFailure {
  return new UpstreamFailure('tooLong', `an answer of more than ${bytesMax} bytes`)
}

/** Connections to one node: enough to fetch ahead, few enough not to look like a flood. */
const connectionsMax = 16

/** Some fronts refuse requests without a user agent. */
export const userAgent = `Tidegate/${version}`

export interface HttpConnectionOptions {
  /** `http:` or `https:`; a user and password in it are sent as basic authorization. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Maximum bytes of one HTTP answer, packed and unpacked. */
  readonly answerBytesMax: number
  /** URL of a proxy; if absent, the environment decides. */
  readonly proxy?: string | undefined
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Sends requests to one node over keep-alive connections. */
export class HttpConnection {
  readonly #url: URL
  readonly #proxy: URL | undefined
  /** Undefined until the first request: loading the library takes a tenth of a second of CPU. */
  #pool: Promise<Dispatcher> | undefined
  #isClosed = false
  readonly #headers: Readonly<Record<string, string>>
  readonly #answerBytesMax: number

  constructor({ url, headers, answerBytesMax, proxy }: HttpConnectionOptions) {
    this.#url = url
    this.#proxy = proxyOf(url, proxy)
    const own = { 'user-agent': userAgent, 'accept-encoding': acceptEncoding }
    this.#headers = { ...own, ...authorization(url), ...lowerCased(headers) }
    this.#answerBytesMax = answerBytesMax
  }

  /** Rejects with {@link UpstreamFailure} if no complete answer came, and for the statuses 429 and 503. */
  async request(request: HttpRequest, redirected = 0): Promise<HttpAnswer> {
    const { signal, headers } = request
    try {
      if (this.#isClosed) throw new UpstreamFailure('unreachable', 'closed')
      this.#pool ??= this.#open()
      const answer = await (await this.#pool).request({
        ...request,
        origin: this.#url.origin,
        headers: { ...this.#headers, ...headers },
        signal,
      })
      const { statusCode: status } = answer
      // Read completely even if only the status counts, so that the connection can be used again.
      const body = await this.#readBounded(answer.body)
      if (status === 429 || status === 503) {
        const retryAfterMs = readRetryAfter(answer.headers['retry-after'], answer.headers.date)
        throw new UpstreamFailure('busy', `HTTP status ${status}`, retryAfterMs)
      }
      if (status >= 300 && status < 400) {
        const path = redirects.has(status) ? this.#pathOf(answer.headers.location) : undefined
        if (path !== undefined && redirected < redirectsMax)
          return await this.request({ ...request, path }, redirected + 1)
        throw new UpstreamFailure('unreadable', this.#redirect(status, answer.headers.location))
      }
      const encoding = answer.headers['content-encoding']
      return { status, headers: answer.headers, body: await unpack(body, encoding, this.#answerBytesMax) }
    } catch (error) {
      if (error instanceof UpstreamFailure) throw error
      if (signal.aborted) throw new UpstreamFailure('late', 'no answer in time')
      throw new UpstreamFailure('unreachable', causeOf(error))
    }
  }

  close(): void {
    this.#isClosed = true
    void this.#pool?.then((pool) => pool.destroy())
  }

  async #open(): Promise<Dispatcher> {
    const { Pool, ProxyAgent } = await import('undici')
    // The deadline of each exchange bounds it as a whole, so undici's own time limits are off.
    const options = { connections: connectionsMax, headersTimeout: 0, bodyTimeout: 0 }
    const proxy = this.#proxy
    if (proxy === undefined) return new Pool(this.#url.origin, options)
    // Without a tunnel: many proxies tunnel only to the ports of TLS.
    return new ProxyAgent({
      ...options,
      uri: proxy.origin,
      headers: proxyAuthorization(proxy),
      proxyTunnel: false,
    })
  }

  /** The path of a redirect to the same origin; undefined for others, which must not get the key. */
  #pathOf(location: unknown): string | undefined {
    const target = URL.canParse(String(location), this.#url.href) && new URL(String(location), this.#url)
    return target && target.origin === this.#url.origin ? target.pathname + target.search : undefined
  }

  /** Describes the target of a redirect without its path and password, which may be secrets. */
  #redirect(status: number, location: unknown): string {
    const text = String(location)
    const target = URL.canParse(text, this.#url.href) ? new URL(text, this.#url) : undefined
    if (target === undefined) return `HTTP status ${status}, a redirect to nowhere`
    const { origin } = target
    const [where, further] =
      origin === this.#url.origin ? ['another path of the same address', ' further'] : [origin, '']
    return `HTTP status ${status}, a redirect to ${where}, which is not followed${further}`
  }

  async #readBounded(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    // Leaving the loop early destroys the body and its connection.
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > this.#answerBytesMax) throw tooLong(this.#answerBytesMax)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

/** Header names in lower case, so that each header is sent once, whatever its case in the configuration. */
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Undefined for invalid JSON. */
export function parseJson(bytes: Buffer): unknown {
  try {
    // A byte order mark is not part of JSON; readers may ignore it (RFC 8259, section 8.1).
    return JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}
