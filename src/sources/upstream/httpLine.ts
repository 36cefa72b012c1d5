import { HttpConnection, type HttpConnectionOptions, parseJson } from './httpConnection.js'
import { type Call, type Line, probes, renderCalls, UpstreamFailure } from './line.js'

/** Calls by HTTP POST over keep-alive connections. */
export class HttpLine implements Line {
  readonly probes = probes
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
    if (json !== undefined && (status < 300 || isRpcAnswer(json))) return json
    const text = `HTTP status ${status}${status < 300 ? ', not JSON' : ''}`
    throw new UpstreamFailure(isRefusal(status) ? 'refused' : 'unreadable', text, undefined, status)
  }

  close(): void {
    this.#connection.close()
  }
}

function isRpcAnswer(json: unknown): boolean {
  const error = (each: unknown) => (each as { readonly error?: unknown } | null)?.error
  return Array.isArray(json) ? json.length > 0 : typeof error(json) === 'object' && error(json) !== null
}

/** Whether the status blames the request and not the server: 501, and 4xx except those about load. */
function isRefusal(status: number): boolean {
  return (status >= 400 && status < 500 && status !== 408 && status !== 425) || status === 501
}
