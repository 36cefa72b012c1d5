import { HttpConnection, type HttpConnectionOptions, parseJson } from './httpConnection.js'
import { type Call, type Line, UpstreamFailure } from './line.js'

/** The body of an answer of the Beacon API: SSZ, or parsed JSON. */
export type BeaconBody = { readonly ssz: Uint8Array } | { readonly json: unknown }

/** SSZ is half as long; not every node supports it for every path. */
const accept = 'application/octet-stream;q=1.0,application/json;q=0.9'
const acceptJson = 'application/json'

export interface BeaconLineOptions extends HttpConnectionOptions {
  /** Whether SSZ is not wanted, for answers whose SSZ is not read here. */
  readonly isJsonOnly?: boolean | undefined
}

/** GET requests of the Beacon API. The method of a call is its path, and the result a {@link BeaconBody}. */
export class BeaconLine implements Line {
  readonly probes = ['/eth/v1/beacon/genesis']
  readonly #connection: HttpConnection
  readonly #base: string
  /** Query parameters of the URL: some services take a key there. */
  readonly #search: URLSearchParams
  readonly #accept: string

  constructor(options: BeaconLineOptions) {
    this.#connection = new HttpConnection(options)
    this.#base = options.url.pathname.replace(/\/$/, '')
    this.#search = options.url.searchParams
    this.#accept = options.isJsonOnly === true ? acceptJson : accept
  }

  exchange(calls: readonly Call[], signal: AbortSignal): Promise<unknown> {
    return Promise.all(calls.map((call) => this.#get(call, signal)))
  }

  close(): void {
    this.#connection.close()
  }

  /**
   * The answer in the form of JSON-RPC. If the node does not have the data, it is an error with the HTTP status as its
   * code.
   */
  async #get({ id, method: path }: Call, signal: AbortSignal): Promise<unknown> {
    const { status, headers, body } = await this.#connection.request({
      method: 'GET',
      path: this.#withSearch(`${this.#base}${path}`),
      headers: { accept: this.#accept },
      signal,
    })
    if (status >= 400 && status < 500)
      return { id, error: { code: status, message: `HTTP status ${status}` } }
    if (status !== 200) throw new UpstreamFailure('unreadable', `HTTP status ${status}`)
    if (headers['content-type']?.startsWith('application/octet-stream')) return { id, result: { ssz: body } }
    const json = parseJson(body)
    // Fronts of other interfaces have answers of a different form.
    if (!Array.isArray(json) && (json as { readonly data?: unknown } | undefined)?.data === undefined)
      throw new UpstreamFailure('unreadable', 'no answer of the Beacon API')
    return { id, result: { json } }
  }

  #withSearch(path: string): string {
    if (this.#search.size === 0) return path
    return `${path}${path.includes('?') ? '&' : '?'}${this.#search}`
  }
}
