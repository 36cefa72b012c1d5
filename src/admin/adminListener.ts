/**
 * The listener for operators, on an address of its own: `/live`, `/ready` and `/metrics`. Owns paths, methods and the
 * token. Does not own what they show. It is node:http on the main thread, whatever serves the public.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { OperatorError } from '../primitives/faults.js'
import { type Admitted, TokenGate } from './adminToken.js'
import type { Readiness } from './readiness.js'

export interface AdminOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  readonly token: string
  /** Parts of the process whose event loops have not turned for long; none where all is well. */
  stuck(): readonly string[]
  ready(): Readiness | Promise<Readiness>
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>
  logDefect(error: unknown): void
}

interface Page {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** Time for a request to arrive, headers and body: nobody here is slow. */
const requestMsMax = 10_000
/** Bytes of headers; a token is short. */
const headerBytesMax = 8 * 1024
/** Connections at once: scrapers, probes and a few people. */
const connectionsMax = 100

export class AdminListener {
  readonly #server: Server
  readonly #options: AdminOptions

  constructor(options: AdminOptions) {
    this.#options = options
    const gate = new TokenGate(options.token)
    const limits = { requestTimeout: requestMsMax, maxHeaderSize: headerBytesMax }
    this.#server = createServer(limits, (request, response) => {
      void this.#answer(request, response, gate).catch((error) => {
        options.logDefect(error)
        response.destroy()
      })
    })
    this.#server.maxConnections = connectionsMax
    this.#server.unref()
  }

  /** Resolves to the port. Rejects with OperatorError where the address cannot be listened on. */
  listen(): Promise<number> {
    const { host, port } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', ({ code }: NodeJS.ErrnoException) => {
        const why = code === 'EADDRINUSE' ? 'another process listens there' : code
        reject(new OperatorError(`the admin listener cannot listen on ${host}:${port} (${why})`))
      })
      this.#server.listen({ host, port, exclusive: true }, () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : port)
      })
    })
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse, gate: TokenGate): Promise<void> {
    const { method = '', headers, socket } = request
    const [path = ''] = (request.url ?? '').split('?')
    const isOpen = path === '/live' || path === '/ready'
    const admitted = isOpen ? 'yes' : gate.admit(socket.remoteAddress ?? '', headers.authorization)
    const page = await this.#page(path, method, admitted)
    if (page.status === 401) response.setHeader('www-authenticate', 'Bearer')
    if (page.status === 405) response.setHeader('allow', 'GET, HEAD')
    if (typeof admitted === 'object') response.setHeader('retry-after', Math.ceil(admitted.lockedMs / 1_000))
    response.writeHead(page.status, {
      'content-type': page.contentType,
      'content-length': Buffer.byteLength(page.body),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    response.end(method === 'HEAD' ? undefined : page.body)
  }

  async #page(path: string, method: string, admitted: Admitted): Promise<Page> {
    const { ready, stuck, metrics } = this.#options
    if (typeof admitted === 'object')
      return problem(429, 'too many wrong tokens from this address; try again later')
    if (admitted === 'no') {
      return problem(
        401,
        'the admin token is required: Authorization: Bearer TOKEN, from node/admin-token in the data folder',
      )
    }
    if (path !== '/live' && path !== '/ready' && path !== '/metrics') {
      return problem(404, 'no such path: use /live, /ready or /metrics')
    }
    if (method !== 'GET' && method !== 'HEAD') return problem(405, 'method not allowed: use GET or HEAD')
    if (path === '/live') {
      const found = stuck()
      return json(found.length === 0 ? 200 : 503, { live: found.length === 0, stuck: found })
    }
    if (path === '/ready') {
      const readiness = await ready()
      return json(readiness.ready ? 200 : 503, readiness)
    }
    const { contentType, text } = await metrics()
    return { status: 200, contentType, body: text }
  }
}

function json(status: number, value: unknown): Page {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` }
}

function problem(status: number, error: string): Page {
  return json(status, { error })
}
