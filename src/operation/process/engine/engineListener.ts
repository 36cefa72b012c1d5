/**
 * The listener for the consensus client of a network: JSON-RPC over HTTP and WebSocket with tokens, on an address of
 * its own. Owns the checks of requests, and who answers them. The source of the network answers the methods of the
 * Engine API, the endpoint of the public listener those of `eth_`. Uses node:http on the main thread, because a client
 * makes only a few calls a slot.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { FaultError, OperatorError } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import { httpOrigin } from '../../../primitives/urls.js'
import { RequestContext } from '../../../serving/rpc/contexts/requestContext.js'
import type { Endpoint } from '../../../serving/rpc/dispatch/endpoint.js'
import { ConnectionPlaces } from '../../admin/connectionPlaces.js'
import { EngineSockets } from './engineSockets.js'
import { whyRefused } from './engineToken.js'

export interface EngineListenerOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  readonly secret: Uint8Array
  readonly limits: EngineLimits
  /** Answers the methods of `eth_`. */
  readonly endpoint: Endpoint
  /** Answers a method of the Engine API: parameters and the object with `result` or `error` are JSON. */
  call(method: string, params: string): Promise<string>
  /** Answers a whole request for the Engine API, JSON. */
  callWhole(request: string): Promise<string>
  logDefect(error: unknown): void
}

interface EngineLimits {
  readonly bodyBytesMax: number
  readonly connectionsMax: number
  /** Time for a body to arrive. */
  readonly bodyMsMax: number
  readonly batchCallsMax: number
}

/**
 * The source's thread parses longer bodies. This one has callers to answer: a parse of 2 MiB takes some 10 ms of CPU,
 * of 32 MiB 400 ms. Only payloads are that long, so a longer batch is refused.
 */
export const parsedBytesMax = 2 * 1024 * 1024
/** Time for the request's head: the client is near. */
const headMsMax = 5_000
/** Bytes of headers; a token is short. */
const headerBytesMax = 16 * 1024
/** Clients that call once a slot keep their connections between two calls. */
const idleMsMax = 60_000

class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

export class EngineListener {
  readonly #options: EngineListenerOptions
  readonly #server: Server
  readonly #sockets: EngineSockets

  constructor(options: EngineListenerOptions) {
    this.#options = options
    const { bodyMsMax, connectionsMax } = options.limits
    // Silent connections, which need no token, keep no client away.
    const places = new ConnectionPlaces(connectionsMax)
    this.#server = createServer(
      {
        requestTimeout: bodyMsMax + headMsMax,
        headersTimeout: headMsMax,
        keepAliveTimeout: idleMsMax,
        maxHeaderSize: headerBytesMax,
      },
      (request, response) => {
        const { socket } = request
        places.begin(socket)
        void this.#serve(request, response).then(() => places.end(socket))
      },
    )
    this.#server.on('connection', (socket) => places.take(socket))
    const { bodyBytesMax } = options.limits
    this.#sockets = new EngineSockets({ bodyBytesMax, places, answer: (message) => this.#reply(message) })
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
  }

  /** `http://HOST:PORT`, once it listens. */
  get url(): string {
    return httpOrigin(this.#options.host, (this.#server.address() as AddressInfo).port)
  }

  /** Rejects with OperatorError if it cannot listen on the address. */
  async listen(): Promise<void> {
    const { host, port } = this.#options
    this.#server.listen({ host, port, exclusive: true })
    try {
      await once(this.#server, 'listening')
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message
      throw new OperatorError(
        `the listener for the consensus client cannot listen on ${host}:${port} (${why})`,
      )
    }
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    this.#sockets.close()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.#admit(request)
      const body = await readBody(request, this.#options.limits.bodyBytesMax)
      send(response, 200, 'application/json', await this.#answer(body))
    } catch (error) {
      // The client left before its body was complete; no answer is needed.
      if (request.errored !== null && request.errored === error) return
      if (error instanceof Refusal) return send(response, error.status, 'text/plain', error.message)
      this.#options.logDefect(error)
      send(response, 500, 'text/plain', 'internal error; see the log')
    }
  }

  /** Begins a WebSocket, or answers why not. */
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const { headers } = request
    const why = whyRefused(headers.authorization, this.#options.secret, Date.now() / 1_000)
    if (why !== undefined) return refuseUpgrade(socket, '401 Unauthorized', why)
    if (headers.upgrade?.toLowerCase() !== 'websocket')
      return refuseUpgrade(socket, '426 Upgrade Required', 'the only other protocol is websocket')
    this.#sockets.take(request, socket, head)
  }

  /** The answer to a message of a WebSocket. */
  async #reply(message: Buffer): Promise<string> {
    try {
      return await this.#answer(message)
    } catch (error) {
      this.#options.logDefect(error)
      return errorText(null, -32603, 'internal error; see the log')
    }
  }

  /** Throws Refusal. The token is looked at first: others learn nothing of this listener. */
  #admit({ method, headers }: IncomingMessage): void {
    const why = whyRefused(headers.authorization, this.#options.secret, Date.now() / 1_000)
    if (why !== undefined) throw new Refusal(401, why)
    if (method !== 'POST') throw new Refusal(405, 'method not allowed: use POST')
    const [type] = (headers['content-type'] ?? '').split(';')
    if (type?.trim().toLowerCase() !== 'application/json')
      throw new Refusal(415, 'invalid content type, only application/json is supported')
    if (Number(headers['content-length'] ?? 0) > this.#options.limits.bodyBytesMax)
      throw new Refusal(413, `the body is longer than ${this.#options.limits.bodyBytesMax} bytes`)
  }

  async #answer(body: Buffer): Promise<string> {
    if (body.length > parsedBytesMax)
      return this.#relayed(null, this.#options.callWhole(body.toString('utf8')))
    let read: unknown
    try {
      read = JSON.parse(body.toString('utf8'))
    } catch {
      return errorText(null, -32700, 'parse error')
    }
    if (!Array.isArray(read)) return this.#call(read, () => body)
    if (read.length === 0) return errorText(null, -32600, 'empty batch')
    if (read.length > this.#options.limits.batchCallsMax) return errorText(null, -32600, 'batch too large')
    const answers: string[] = []
    for (const call of read) answers.push(await this.#call(call, () => Buffer.from(JSON.stringify(call))))
    return `[${answers.filter((answer) => answer !== '').join(',')}]`
  }

  /** `bytes` returns the call as it was sent. */
  async #call(call: unknown, bytes: () => Buffer): Promise<string> {
    const { id = null, method, params = [] } = isObject(call) ? call : {}
    if (typeof method !== 'string') return errorText(id, -32600, 'invalid request')
    if (method.startsWith('eth_')) return this.#callEndpoint(bytes())
    if (!method.startsWith('engine_'))
      return errorText(id, -32601, `the method ${method} does not exist/is not available`)
    const called = this.#options.call(method, JSON.stringify(params))
    return this.#relayed(
      id,
      called.then((answer) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer.slice(1)}`),
    )
  }

  async #relayed(id: unknown, answered: Promise<string>): Promise<string> {
    try {
      return await answered
    } catch (error) {
      if (error instanceof FaultError) return errorText(id, -32000, error.message)
      throw error
    }
  }

  async #callEndpoint(call: Buffer): Promise<string> {
    const context = new RequestContext()
    try {
      const { body } = await this.#options.endpoint.handle(call, context)
      return typeof body === 'string'
        ? body
        : Buffer.concat(body.map((piece) => Buffer.from(piece))).toString()
    } finally {
      context.finish()
    }
  }
}

function errorText(id: unknown, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })
}

/** Rejects with Refusal for a longer body. The rest of it is read and dropped, so that the client gets the answer. */
function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let bytes = 0
    request.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes <= bytesMax) parts.push(part)
      else {
        parts.length = 0
        reject(new Refusal(413, `the body is longer than ${bytesMax} bytes`))
      }
    })
    request.on('end', () => resolve(Buffer.concat(parts)))
    request.on('error', reject)
  })
}

function refuseUpgrade(socket: Duplex, status: string, why: string): void {
  const head = ['content-type: text/plain', `content-length: ${Buffer.byteLength(why)}`, 'connection: close']
  socket.end([`HTTP/1.1 ${status}`, ...head, '', why].join('\r\n'))
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
