/**
 * HTTP and WebSockets on node:http and ws. Owns their settings, the listening socket and the connections.
 *
 * Facts about the libraries: the parser is strict and answers what it cannot read with 400 before a handler hears of
 * it; requests of one connection run side by side and are answered in order; whoever sends `Upgrade` is handed over as
 * a bare socket, also where it wants no WebSocket; an answer lies in memory until the system has taken it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { OperatorError } from '../../primitives/faults.js'
import type { Answer } from '../../rpc/answer.js'
import { refusal } from '../admission.js'
import { lastingPieces } from '../answerBytes.js'
import { RequestHead } from '../requestHead.js'
import { statusReason } from '../statusReason.js'
import {
  type Address,
  cannotListen,
  noHeaders,
  type Transport,
  tooBigBytes,
  type Wire,
  type WireHandlers,
  type WireLimits,
} from '../wire.js'
import { NodeConnection } from './nodeConnection.js'
import { headerLines, NodeReply } from './nodeReply.js'
import { NodeSocket } from './nodeSocket.js'

/** All of a request's head. Node.js' own default; a key, an origin and what proxies add take 2 KiB. */
const headBytesMax = 16 * 1024

/**
 * How long a connection may wait for its next request: longer than the 60 s for which nginx keeps those to its
 * upstreams, so that no request meets the end of its connection.
 */
const keepAliveMsMax = 65_000

/** How long a client may leave an answer unread without taking a byte of it. */
const stalledMsMax = 60_000

export const nodeTransport: Transport = {
  name: 'node',
  tellsUnfinished: true,
  async findSharedPort(address) {
    if (!canSharePorts()) {
      throw new OperatorError(
        `Several edges on one port need Node.js 22.12 or later where uWebSockets.js is not used; this is ${process.version}. Take a newer one, leave "edges" at 1, or use transport uws.`,
      )
    }
    const server = createTcpServer()
    const port = await bind(server, address, false)
    await new Promise((resolve) => server.close(resolve))
    return port
  },
  createWire: (handlers, limits) => new NodeWire(handlers, limits),
}

/** Whether `reusePort` of `server.listen` is known; an older Node.js ignores it without a word. */
function canSharePorts(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
}

class NodeWire implements Wire {
  readonly #handlers: WireHandlers
  readonly #connections = new Map<Socket, NodeConnection>()
  /** Of these, WebSockets. */
  #upgraded = 0
  /** Of the request at hand. */
  readonly #head = new RequestHead()
  readonly #server
  readonly #webSockets

  constructor(handlers: WireHandlers, { headMsMax, messageBytesMax }: WireLimits) {
    this.#handlers = handlers
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: Math.min(messageBytesMax + tooBigBytes, 2 ** 31 - 1),
      // No subprotocol is offered.
      handleProtocols: () => false,
    })
    this.#server = createServer({
      insecureHTTPParser: false,
      // It would refuse that one alone, and go on with what comes behind it.
      requireHostHeader: false,
      maxHeaderSize: headBytesMax,
      headersTimeout: headMsMax,
      // From the head on, exchange.ts looks at the time.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.max(headMsMax / 10, 100),
      keepAliveTimeout: keepAliveMsMax,
      noDelay: true,
      // Known from Node.js 24.9 on; others hand over every upgrade, and what is none is read on by #readOn.
      ...{ shouldUpgradeCallback: isHandshake },
    })
    // Bounded by the head's bytes alone: beyond its own bound Node.js drops headers without a word.
    this.#server.maxHeadersCount = 0
    this.#server.on('connection', (socket) => this.#connectionOf(socket))
    const onRequest = (req: IncomingMessage, res: ServerResponse) => this.#onRequest(req, res)
    this.#server.on('request', onRequest)
    this.#server.on('checkContinue', onRequest)
    this.#server.on('upgrade', (req, socket, rest) => this.#onUpgrade(req, socket as Socket, rest))
    this.#server.on('clientError', (error, socket) => this.#onUnreadable(error, socket as Socket))
    this.#server.setTimeout(stalledMsMax, (socket) => {
      // A job may take its time.
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
    this.#server.close()
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#connections.keys()) socket.destroy()
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
    const { method = '', url = '', rawHeaders, httpVersionMinor } = req
    const query = url.indexOf('?')
    this.#head.begin(method, query === -1 ? url : url.slice(0, query), httpVersionMinor === 0)
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

  /**
   * Has a request for another protocol, which Java's client adds to every first one, read as if it asked for none, as
   * RFC 9110 (section 7.8) wants it.
   */
  #readAsPlainHttp(req: IncomingMessage, socket: Socket, rest: Buffer): void {
    const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`]
    for (let at = 0; at < req.rawHeaders.length; at += 2) {
      const name = req.rawHeaders[at] as string
      const isHop = /^(?:upgrade|connection|http2-settings)$/i.test(name)
      if (!isHop) lines.push(`${name}: ${req.rawHeaders[at + 1]}`)
    }
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), rest]))
    this.#server.emit('connection', socket)
  }

  /** What came is no request. Answers that are still to come would be taken for those before it. */
  #onUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
    const isAnswerable = socket.writable && error.code !== 'ECONNRESET'
    const connection = this.#connectionOf(socket)
    if (!isAnswerable || !connection.isIdle || connection.isEnding) {
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

/** Whether a request asks for a WebSocket in the way that RFC 6455 has it. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[+/0-9a-z]{22}==$/i.test(headers['sec-websocket-key'] ?? '')
  )
}

/** Answers on a socket that no ServerResponse belongs to, and ends the connection. */
function endWith(socket: Socket, answer: Answer): void {
  const pieces = lastingPieces(answer.body)
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const lines = headerLines(answer, noHeaders, bytes)
  const head = [`HTTP/1.1 ${answer.status} ${statusReason(answer.status)}`, 'connection: close']
  for (let at = 0; at < lines.length; at += 2) head.push(`${lines[at]}: ${lines[at + 1]}`)
  socket.on('error', () => undefined)
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  for (const piece of pieces) socket.write(piece)
  socket.destroySoon()
}

function bind(server: Server, address: Address, isShared: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on('error', () => reject(cannotListen(address)))
    server.listen({ ...address, exclusive: true, ...(isShared && { reusePort: true }) }, () =>
      resolve((server.address() as AddressInfo).port),
    )
  })
}
