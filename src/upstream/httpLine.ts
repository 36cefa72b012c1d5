import { Pool } from 'undici'
import { readRetryAfter } from '../primitives/retryAfter.js'
import { type Call, causeOf, type Line, renderCalls, UpstreamFailure } from './line.js'

/** Connections to one node: enough to fetch ahead, few enough not to be taken for a flood. */
const connectionsMax = 16

export interface HttpLineOptions {
  /** `http:` or `https:`; a user and password in it are sent as basic authorization. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Most bytes of one HTTP answer. */
  readonly answerBytesMax: number
}

/** Calls by HTTP POST over connections that are kept alive. */
export class HttpLine implements Line {
  readonly #pool: Pool
  readonly #path: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #answerBytesMax: number

  constructor({ url, headers, answerBytesMax }: HttpLineOptions) {
    // The deadline of each exchange bounds it as a whole, so undici's own time limits are off.
    this.#pool = new Pool(url.origin, { connections: connectionsMax, headersTimeout: 0, bodyTimeout: 0 })
    this.#path = url.pathname + url.search
    this.#headers = { 'content-type': 'application/json', ...authorization(url), ...headers }
    this.#answerBytesMax = answerBytesMax
  }

  async exchange(calls: readonly Call[], signal: AbortSignal): Promise<unknown> {
    try {
      const { statusCode, headers, body } = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers: this.#headers,
        body: renderCalls(calls),
        signal,
      })
      // Read whole even where only the status counts, so that the connection can be used again.
      const json = parseJson(await this.#readBounded(body))
      if (statusCode === 429 || statusCode === 503) {
        throw new UpstreamFailure(
          'busy',
          `HTTP status ${statusCode}`,
          readRetryAfter(headers['retry-after'], headers.date),
        )
      }
      // Some servers send JSON-RPC errors with a status of 4xx or 5xx.
      if (json === undefined || (statusCode >= 300 && !isRpcAnswer(json))) {
        const what = json === undefined ? ', not JSON' : ''
        throw new UpstreamFailure('unreadable', `HTTP status ${statusCode}${what}`)
      }
      return json
    } catch (error) {
      if (error instanceof UpstreamFailure) throw error
      if (signal.aborted) throw new UpstreamFailure('late', 'no answer in time')
      throw new UpstreamFailure('unreachable', causeOf(error))
    }
  }

  close(): void {
    void this.#pool.destroy()
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

/** The `Authorization` header of the user and password in a URL. */
export function authorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { authorization: `Basic ${Buffer.from(plain).toString('base64')}` }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function isRpcAnswer(json: unknown): boolean {
  return Array.isArray(json) || (typeof json === 'object' && json !== null && 'error' in json)
}
