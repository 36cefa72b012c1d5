import type { IncomingHttpHeaders } from 'node:http'
import type { Pool } from 'undici'
import { causeOf } from '../primitives/causeOf.js'
import { readRetryAfter } from '../primitives/retryAfter.js'
import { authorization } from '../primitives/urlCredentials.js'
import { UpstreamFailure } from './line.js'

/** Connections to one node: enough to fetch ahead, few enough not to be taken for a flood. */
const connectionsMax = 16

export interface HttpConnectionOptions {
  /** `http:` or `https:`; a user and password in it are sent as basic authorization. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Most bytes of one HTTP answer. */
  readonly answerBytesMax: number
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

/** Requests to one node over connections that are kept alive. */
export class HttpConnection {
  readonly #origin: string
  /** Undefined until the first request: to load the library takes a tenth of a second of CPU. */
  #pool: Promise<Pool> | undefined
  #isClosed = false
  readonly #headers: Readonly<Record<string, string>>
  readonly #answerBytesMax: number

  constructor({ url, headers, answerBytesMax }: HttpConnectionOptions) {
    this.#origin = url.origin
    this.#headers = { ...authorization(url), ...headers }
    this.#answerBytesMax = answerBytesMax
  }

  /** Rejects with {@link UpstreamFailure} where no whole answer came, and for the statuses 429 and 503. */
  async request({ signal, headers, ...request }: HttpRequest): Promise<HttpAnswer> {
    try {
      if (this.#isClosed) throw new UpstreamFailure('unreachable', 'closed')
      this.#pool ??= this.#open()
      const answer = await (await this.#pool).request({
        ...request,
        headers: { ...this.#headers, ...headers },
        signal,
      })
      const { statusCode: status } = answer
      // Read whole even where only the status counts, so that the connection can be used again.
      const body = await this.#readBounded(answer.body)
      if (status === 429 || status === 503) {
        const retryAfterMs = readRetryAfter(answer.headers['retry-after'], answer.headers.date)
        throw new UpstreamFailure('busy', `HTTP status ${status}`, retryAfterMs)
      }
      return { status, headers: answer.headers, body }
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

  async #open(): Promise<Pool> {
    const { Pool } = await import('undici')
    // The deadline of each exchange bounds it as a whole, so undici's own time limits are off.
    return new Pool(this.#origin, { connections: connectionsMax, headersTimeout: 0, bodyTimeout: 0 })
  }

  async #readBounded(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    // Leaving the loop early destroys the body and its connection.
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > this.#answerBytesMax) {
        throw new UpstreamFailure('tooLong', `an answer of more than ${this.#answerBytesMax} bytes`)
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

/** Undefined where it is none. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
