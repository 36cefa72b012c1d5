/**
 * HTTP and WebSockets on uWebSockets.js. Owns its routes, its settings and the listening socket.
 *
 * Facts about the library. Requests of one connection are answered in order. A request that arrives while an earlier
 * one waits for a job or sends a long answer ends the connection. `Expect: 100-continue` is answered before a handler
 * is called. All requests of one read are handled without a pause.
 *
 * Some WebSockets end without a close code. Causes are text that is not UTF-8, frames that break the protocol, messages
 * over the library's own limit, and silence for the idle time. An unfinished message stays in the library's memory, up
 * to that limit, and is not reported. Data left unsent in the drain handler is never sent. A connection that was ended
 * counts as closed once the close frame is sent. The library waits at most 16 s for the client's close frame.
 */

import type {
  HttpRequest,
  HttpResponse,
  ListenOptions,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
} from 'uWebSockets.js'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { RequestHead } from '../requestHead.js'
import { readTlsFiles, type TlsFiles } from '../tlsFiles.js'
import {
  type Address,
  cannotListen,
  noHeaders,
  queuedConnectionsMax,
  type Transport,
  tooBigBytes,
  type Wire,
  type WireHandlers,
  type WireLimits,
} from '../wire.js'
import { uWS } from './library.js'
import { UwsReply } from './uwsReply.js'
import { UwsSocket, type UwsSocketData } from './uwsSocket.js'

/** The library's reason for the end of a connection whose message is longer than `maxPayloadLength`. */
const tooBigReason = 'Received too big message'

/** Idle times that the library accepts, in seconds. */
const deadSecondsMin = 8
const deadSecondsMax = 960

export const uwsTransport: Transport = {
  name: 'uws',
  reportsUnfinished: false,
  async findPort(address) {
    const app = uWS.App()
    try {
      return uWS.us_socket_local_port(await bind(app, address, exclusivePort))
    } finally {
      app.close()
    }
  },
  createWire: (handlers, limits, tls) => new UwsWire(handlers, limits, tls),
}

/** An app of the library, and the number of its open connections, including WebSockets. */
interface CountedApp {
  readonly app: TemplatedApp
  open: number
}

class UwsWire implements Wire {
  readonly #head: RequestHead
  readonly #handlers: WireHandlers
  readonly #limits: WireLimits
  readonly #isSecure: boolean
  #current: CountedApp
  /** Apps with former certificates; their connections continue. */
  readonly #former = new Set<CountedApp>()
  /** Listening sockets; none while the wire does not listen. */
  #listenSockets: readonly us_listen_socket[] = []
  #host = ''
  /** Connections of all apps, WebSockets included. */
  #open = 0
  connections = 0

  constructor(handlers: WireHandlers, limits: WireLimits, tls?: TlsFiles) {
    this.#handlers = handlers
    this.#head = new RequestHead(
      (res) => Buffer.from((res as HttpResponse).getRemoteAddressAsText()).toString('latin1'),
      handlers.clientOf,
    )
    this.#limits = limits
    this.#isSecure = tls !== undefined
    this.#current = this.#createApp(tls)
  }

  #createApp(tls: TlsFiles | undefined): CountedApp {
    if (tls !== undefined) readTlsFiles(tls)
    const app =
      tls === undefined ? uWS.App() : uWS.SSLApp({ cert_file_name: tls.cert, key_file_name: tls.key })
    const counted: CountedApp = { app, open: 0 }
    const closed = () => {
      counted.open--
      this.#open--
      // In a later turn, because this runs inside the library's callback.
      if (counted.open === 0 && this.#former.has(counted)) setImmediate(() => this.#closeFormer(counted))
    }
    const count = (res: HttpResponse, change: number) => {
      this.connections += change
      if (change < 0) return closed()
      counted.open++
      if (++this.#open <= this.#limits.connectionsMax) return
      this.#handlers.onFull()
      res.close()
    }
    app.filter(count as (res: HttpResponse, change: unknown) => void)
    const { messageBytesMax, idleMsMax } = this.#limits
    // Requests that open no WebSocket go to the routes after this one.
    app.ws<UwsSocketData>('/*', {
      compression: uWS.DISABLED,
      maxPayloadLength: Math.min(messageBytesMax + tooBigBytes, 2 ** 32 - 1),
      // Unlimited: above a limit the library drops messages silently.
      maxBackpressure: 0,
      // Later than the limit of {@link Socket.sweep}, which sends a reason.
      idleTimeout: Math.min(Math.ceil(idleMsMax / 1000) + deadSecondsMin, deadSecondsMax),
      sendPingsAutomatically: false,
      upgrade: (res, req, context) => this.#onUpgrade(res, req, context),
      open: (ws) => {
        const data = ws.getUserData()
        // The library reports the end of a connection only if it never became a WebSocket.
        this.connections--
        data.handler = data.permit.open(new UwsSocket(ws))
      },
      message: (ws, message, isBinary) =>
        ws.getUserData().handler?.onMessage(new Uint8Array(message), isBinary),
      drain: (ws) => ws.getUserData().handler?.onDrain(),
      ping: (ws) => ws.getUserData().handler?.onPing(),
      pong: (ws) => ws.getUserData().handler?.onActivity(),
      close: (ws, _code, reason) => {
        ws.getUserData().handler?.onClose(Buffer.from(reason).toString('latin1') === tooBigReason)
        closed()
      },
    })
    app.post('/*', (res, req) => this.#onRequest(res, req, 'POST'))
    app.any('/*', (res, req) => this.#onRequest(res, req, req.getMethod().toUpperCase()))
    return counted
  }

  async listen(address: Address, isShared: boolean): Promise<number> {
    const { host } = address
    const queues = queuesOf(address)
    const isJoined = isShared || this.#isSecure || queues > 1
    // Fails if another program listens on the port. The library would not share a port that the system chose.
    const port = isJoined && !isShared ? await uwsTransport.findPort(address, false) : address.port
    this.#host = host
    const options = isJoined ? sharedPort : exclusivePort
    this.#listenSockets = await bindAll(this.#current.app, { host, port }, options, queues)
    return port === 0 ? uWS.us_socket_local_port(this.#listenSockets[0] as us_listen_socket) : port
  }

  /** An app keeps its certificate, so another app with the new one listens on the same port. */
  async renewTls(files: TlsFiles): Promise<void> {
    const [first] = this.#listenSockets
    if (first === undefined) return
    const next = this.#createApp(files)
    const port = uWS.us_socket_local_port(first)
    const address = { host: this.#host, port }
    const listeners = await bindAll(next.app, address, sharedPort, queuesOf(address)).catch((error) => {
      next.app.close()
      throw error
    })
    const former = this.#current
    const formerListeners = this.#listenSockets
    // The wire stopped listening meanwhile.
    if (formerListeners.length === 0) return void next.app.close()
    this.#listenSockets = listeners
    this.#current = next
    this.#former.add(former)
    for (const listener of formerListeners) uWS.us_listen_socket_close(listener)
    if (former.open === 0) this.#closeFormer(former)
  }

  #closeFormer(former: CountedApp): void {
    if (this.#former.delete(former)) former.app.close()
  }

  stopListening(): void {
    for (const listener of this.#listenSockets) uWS.us_listen_socket_close(listener)
    this.#listenSockets = []
  }

  close(): void {
    this.#listenSockets = []
    for (const former of this.#former) this.#closeFormer(former)
    this.#current.app.close()
  }

  #read(res: HttpResponse, req: HttpRequest, method: string): RequestHead {
    const head = this.#head
    head.begin(method, req.getUrl(), false, method === 'POST' ? '' : (req.getQuery() ?? ''), res)
    req.forEach(head.take)
    return head
  }

  #onRequest(res: HttpResponse, req: HttpRequest, method: string): void {
    const head = this.#read(res, req, method)
    this.#handlers.onRequest(head, new UwsReply(res, method === 'HEAD'))
  }

  #onUpgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const permit = this.#handlers.onUpgrade(this.#read(res, req, 'GET'))
    if (permit instanceof Promise) {
      const reply = new UwsReply(res, false)
      reply.wait()
      void permit.then((answer) => reply.send(answer, noHeaders, true))
      return
    }
    if ('body' in permit) return new UwsReply(res, false).send(permit, noHeaders, true)
    // Offers neither a subprotocol nor an extension.
    res.upgrade<UwsSocketData>(
      { permit, handler: undefined },
      req.getHeader('sec-websocket-key'),
      '',
      '',
      context,
    )
  }
}

/** The overload that is missing in the package's types: a host with options. */
interface AppWithListenOptions {
  listen(
    host: string,
    port: number,
    options: ListenOptions,
    callback: (socket: us_listen_socket | false) => void,
  ): void
}

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`: without it two processes started by mistake would share the port's connections. */
const exclusivePort = 1 as ListenOptions
/** `LIBUS_LISTEN_DEFAULT`: with SO_REUSEPORT, so that the operating system spreads connections over all listeners. */
const sharedPort = 0 as ListenOptions

/** Connections that wait on one listening socket of the library: a constant of its code. */
const libraryQueueMax = 512

/**
 * Listening sockets of a port, over which Linux spreads new connections. Together they have room for
 * {@link queuedConnectionsMax}. A port that the system chose has one: such ports get no bursts of connections.
 */
function queuesOf({ port }: Address): number {
  return process.platform === 'linux' && port !== 0 ? queuedConnectionsMax / libraryQueueMax : 1
}

/** Opens this number of listening sockets on one port. */
async function bindAll(
  app: TemplatedApp,
  address: Address,
  listenOptions: ListenOptions,
  count: number,
): Promise<us_listen_socket[]> {
  const listeners: us_listen_socket[] = []
  try {
    while (listeners.length < count) listeners.push(await bind(app, address, listenOptions))
    return listeners
  } catch (error) {
    for (const listener of listeners) uWS.us_listen_socket_close(listener)
    throw error
  }
}

function bind(
  app: TemplatedApp,
  { host, port }: Address,
  listenOptions: ListenOptions,
): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listener = app as unknown as AppWithListenOptions
    listener.listen(host, port, listenOptions, (socket) => {
      if (socket !== false) return resolve(socket)
      void whyNotListening({ host, port }).then((code) => reject(cannotListen({ host, port }, code)))
    })
  })
}

/** The reason why an address cannot be used. The library gives none, so Node.js tries to listen. */
async function whyNotListening(address: Address): Promise<string | undefined> {
  const server = createServer()
  try {
    await once(server.listen({ ...address, exclusive: true }), 'listening')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  } finally {
    server.close()
  }
  return undefined
}
