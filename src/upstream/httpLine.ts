import { HttpConnection, type HttpConnectionOptions, parseJson } from './httpConnection.js'
import { type Call, type Line, renderCalls, UpstreamFailure } from './line.js'

/** Calls by HTTP POST over connections that are kept alive. */
export class HttpLine implements Line {
  readonly #connection: HttpConnection
  readonly #path: string

  constructor(options: HttpConnectionOptions) {
    this.#connection = new HttpConnection(options)
    this.#path = options.url.pathname + options.url.search
  }

  async exchange(calls: readonly Call[], signal: AbortSignal): Promise<unknown> {
    const { status, body } = await this.#connection.request({
      method: 'POST',
      path: this.#path,
      headers: { 'content-type': 'application/json' },
      body: renderCalls(calls),
      signal,
    })
    const json = parseJson(body)
    // Some servers send JSON-RPC errors with a status of 4xx or 5xx.
    if (json === undefined || (status >= 300 && !isRpcAnswer(json))) {
      const what = json === undefined ? ', not JSON' : ''
      throw new UpstreamFailure('unreadable', `HTTP status ${status}${what}`)
    }
    return json
  }

  close(): void {
    this.#connection.close()
  }
}

function isRpcAnswer(json: unknown): boolean {
  return Array.isArray(json) || (typeof json === 'object' && json !== null && 'error' in json)
}
