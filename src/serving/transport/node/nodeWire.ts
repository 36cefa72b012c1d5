/**
 * HTTP and WebSockets on node:http and ws. Owns their settings, the listening socket and the connections.
 *
 * Facts about the libraries: The strict parser answers unreadable requests with 400 before a handler is called.
 * Requests of one connection run concurrently and are answered in order. A request with `Upgrade` arrives as a bare
 * socket, even for a protocol other than WebSocket. An answer stays in memory until the operating system has accepted
 * it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, Server, type Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { WebSocket, WebSocketServer } from 'ws'
import { OperatorError } from '../../../primitives/faults.js'
import type { Answer } from '../../rpc/answers/answer.js'
import { refusal } from '../admission.js'
import { lastingPieces, lengthOf } from '../answerBytes.js'
import { RequestHead } from '../requestHead.js'
import { closeCodes } from '../socket.js'
import { readTlsFiles, type TlsFiles, tlsVersionMin } from '../tlsFiles.js'
import {
  type Address,
  cannotListen,
  noHeaders,
  queuedConnectionsMax,
  statusReason,
  type Transport,
  tooBigBytes,
  type Wire,
  type WireHandlers,
  type WireLimits,
} from '../wire.js'
import { NodeConnection } from './nodeConnection.js'
import { headerLines, NodeReply } from './nodeReply.js'
import { NodeSocket } from './nodeSocket.js'

/** Maximum bytes of a request's head: Node's default. A key, an origin and proxies' headers take 2 KiB. */
const headBytesMax = 16 * 1024

/**
 * Maximum wait of a connection for its next request; answers announce it. Front servers close their connections earlier
 * (nginx and AWS's balancer 60 s, Google's fixed 600 s). So none uses a connection that is being closed.
 */
const keepAliveMsMax = 620_000

/** Maximum time that a client may read nothing of an answer. */
const stalledMsMax = 60_000

export const nodeTransport: Transport = {
  name: 'node',
  reportsUnfinished: true,
  async findPort(address, isShared) {
    if (isShared && !canSharePorts()) {
      throw new OperatorError(
        `Several edges on one port need Node.js 22.12 or later where uWebSockets.js is not used; this is ${process.version}. Take a newer one, leave "edges" at 1, or use transport uws.`,
      )
    }
    const server = createTcpServer()
    const port = await bind(server, address, false)
    await new Promise((resolve) => server.close(resolve))
    return port
  },
  createWire: (handlers, limits, tls) => new NodeWire(handlers, limits, tls),
}

/** Whether `server.listen` supports `reusePort`; older versions of Node.js ignore it silently. */
function canSharePorts(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
}

class NodeWire implements Wire {
  readonly #handlers: WireHandlers
  readonly #connections = new Map<Socket, NodeConnection>()
  /** Number of {@link #connections} that are WebSockets. */
  #upgraded = 0
  readonly #head: RequestHead
  readonly #server
  /** The event of {@link #server} for a new connection that speaks HTTP. */
  readonly #arrival: 'connection' | 'secureConnection'
  /** Connections below TLS; some have not finished the handshake. */
  readonly #carriers = new Set<Socket>()
  readonly #webSockets

  constructor(
    handlers: WireHandlers,
    { headMsMax, messageBytesMax, connectionsMax }: WireLimits,
    tls?: TlsFiles,
  ) {
    this.#handlers = handlers
    this.#head = new RequestHead((socket) => (socket as Socket).remoteAddress ?? '', handlers.clientOf)
    this.#webSockets = new WebSocketServer({
      noServer: true,
      WebSocket: reasonedWebSocket(messageBytesMax),
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: Math.min(messageBytesMax + tooBigBytes, 2 ** 31 - 1),
      // No subprotocol is offered.
      handleProtocols: () => false,
    })
    const options = {
      insecureHTTPParser: false,
      // Off, because Node.js would refuse only that request and continue with the next on the same connection;
      // {@link RequestHead.ambiguity} refuses both.
      requireHostHeader: false,
      maxHeaderSize: headBytesMax,
      headersTimeout: headMsMax,
      // exchange.ts checks the time for a body.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.max(headMsMax / 10, 100),
      keepAliveTimeout: keepAliveMsMax,
      noDelay: true,
      // Used from Node.js 24.9 on. Older versions deliver every upgrade; those that are not a WebSocket go to
      // {@link #readAsPlainHttp}.
      shouldUpgradeCallback: isHandshake,
    }
    this.#server =
      tls === undefined
        ? createServer(options)
        : createTlsServer({
            ...options,
            ...readTlsFiles(tls),
            minVersion: tlsVersionMin,
            handshakeTimeout: headMsMax,
          })
    this.#arrival = tls === undefined ? 'connection' : 'secureConnection'
    if (Number.isFinite(connectionsMax)) this.#server.maxConnections = connectionsMax
    this.#server.on('drop', () => handlers.onFull())
    // Unlimited, because above this limit Node.js drops headers silently; the head's bytes are limited.
    this.#server.maxHeadersCount = 0
    this.#server.on(this.#arrival, (socket: Socket) => this.#connectionOf(socket))
    if (tls !== undefined) {
      this.#server.on('connection', (socket) => {
        this.#carriers.add(socket)
        socket.once('close', () => this.#carriers.delete(socket))
      })
    }
    const onRequest = (req: IncomingMessage, res: ServerResponse) => this.#onRequest(req, res)
    this.#server.on('request', onRequest)
    this.#server.on('checkContinue', onRequest)
    this.#server.on('upgrade', (req, socket, rest) => this.#onUpgrade(req, socket as Socket, rest))
    this.#server.on('clientError', (error, socket) => this.#onUnreadable(error, socket as Socket))
    this.#server.setTimeout(stalledMsMax, (socket) => {
      // Not while a request waits for its answer: a job may take longer.
      if (socket.writableLength > 0 || this.#connectionOf(socket).isIdle) socket.destroy()
    })
  }

  get connections(): number {
    return this.#connections.size - this.#upgraded
  }

  listen(address: Address, isShared: boolean): Promise<number> {
    return bind(this.#server, address, isShared)
  }

  stopListening(): void {
    // The HTTP server's own `close` would also end idle connections, on which requests may have arrived.
    Server.prototype.close.call(this.#server)
  }

  close(): void {
    this.#server.close()
    for (const socket of [...this.#connections.keys(), ...this.#carriers]) socket.destroy()
  }

  async renewTls(files: TlsFiles): Promise<void> {
    if (this.#server instanceof TlsServer)
      this.#server.setSecureContext({ ...readTlsFiles(files), minVersion: tlsVersionMin })
  }

  #connectionOf(socket: Socket): NodeConnection {
    const known = this.#connections.get(socket)
    if (known !== undefined) return known
    const connection = new NodeConnection(socket)
    this.#connections.set(socket, connection)
    socket.once('close', () => this.#connections.delete(socket))
    return connection
  }

  #read(req: IncomingMessage): RequestHead {
    const { method = '', url = '', rawHeaders, httpVersionMinor, socket } = req
    const query = url.indexOf('?')
    const isOld = httpVersionMinor === 0
    if (query === -1) this.#head.begin(method, url, isOld, '', socket)
    else this.#head.begin(method, url.slice(0, query), isOld, url.slice(query + 1), socket)
    for (let at = 0; at < rawHeaders.length; at += 2) {
      this.#head.take((rawHeaders[at] as string).toLowerCase(), rawHeaders[at + 1] as string)
    }
    return this.#head
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#connectionOf(req.socket)
    connection.begin(() => {
      if (connection.isEnding) return
      this.#handlers.onRequest(this.#read(req), new NodeReply(req, res, connection))
    })
  }

  #onUpgrade(req: IncomingMessage, socket: Socket, rest: Buffer): void {
    const connection = this.#connectionOf(socket)
    if (connection.isEnding || !connection.isIdle) socket.destroy()
    else if (!isHandshake(req)) this.#readAsPlainHttp(req, socket, rest)
    else {
      const permit = this.#handlers.onUpgrade(this.#read(req))
      if (permit instanceof Promise) return this.#endLater(socket, permit)
      if ('body' in permit) return endWith(socket, permit)
      socket.setTimeout(0)
      let isOpen = false
      this.#webSockets.handleUpgrade(req, socket, rest, (ws) => {
        isOpen = true
        this.#upgraded++
        socket.once('close', () => this.#upgraded--)
        new NodeSocket(ws, socket, permit)
      })
      if (!isOpen) permit.release()
    }
  }

  #endLater(socket: Socket, refusal: Promise<Answer>): void {
    this.#connectionOf(socket).isEnding = true
    socket.on('error', () => undefined)
    void refusal.then((answer) => endWith(socket, answer))
  }

  /** Treats an upgrade to another protocol, which Java's client tries first, as none (RFC 9110, section 7.8). */
  #readAsPlainHttp(req: IncomingMessage, socket: Socket, rest: Buffer): void {
    const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`]
    for (let at = 0; at < req.rawHeaders.length; at += 2) {
      const name = req.rawHeaders[at] as string
      const isHop = /^(?:upgrade|connection|http2-settings)$/i.test(name)
      if (!isHop) lines.push(`${name}: ${req.rawHeaders[at + 1]}`)
    }
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), rest]))
    this.#server.emit(this.#arrival, socket)
  }

  /**
   * Answers bytes that are no HTTP request. While an answer is due, the client would confuse the two, so the connection
   * is closed.
   */
  #onUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
    const isAnswerable = socket.writable && error.code !== 'ECONNRESET'
    const connection = this.#connections.get(socket)
    // A socket without a connection has not finished the TLS handshake.
    if (connection === undefined || !isAnswerable || !connection.isIdle || connection.isEnding) {
      socket.destroy()
      return
    }
    connection.isEnding = true
    const isLong = error.code === 'HPE_HEADER_OVERFLOW'
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    endWith(socket, isLong ? headTooLong : isLate ? headTooLate : unreadable)
  }
}

const unreadable = refusal(400, -32600, 'this is no HTTP request')
const headTooLong = refusal(431, -32600, `the headers of a request may have ${headBytesMax} bytes`)
const headTooLate = refusal(408, -32600, 'the headers of this request took too long to arrive')

/** WebSockets that give a close reason for a message that is too long; the library alone gives only the code. */
function reasonedWebSocket(messageBytesMax: number): typeof WebSocket {
  return class extends WebSocket {
    override close(code?: number, reason?: string): void {
      super.close(
        code,
        code === closeCodes.tooBig ? (reason ?? `message too big (>${messageBytesMax})`) : reason,
      )
    }
  }
}

/** Whether a request is a WebSocket handshake of RFC 6455. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[+/0-9a-z]{22}==$/i.test(headers['sec-websocket-key'] ?? '')
  )
}

/** Answers on a bare socket, without a ServerResponse, and ends the connection. */
function endWith(socket: Socket, answer: Answer): void {
  const pieces = lastingPieces(answer.body)
  const lines = headerLines(answer, noHeaders, lengthOf(pieces))
  const head = [`HTTP/1.1 ${answer.status} ${statusReason(answer.status)}`, 'connection: close']
  for (let at = 0; at < lines.length; at += 2) head.push(`${lines[at]}: ${lines[at + 1]}`)
  socket.on('error', () => undefined)
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  for (const piece of pieces) socket.write(piece)
  socket.destroySoon()
}

function bind(server: Server, address: Address, isShared: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on('error', ({ code }: NodeJS.ErrnoException) => reject(cannotListen(address, code)))
    server.listen(
      { ...address, backlog: queuedConnectionsMax, exclusive: true, ...(isShared && { reusePort: true }) },
      () => resolve((server.address() as AddressInfo).port),
    )
  })
}
