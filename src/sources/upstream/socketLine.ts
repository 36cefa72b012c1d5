import type { WebSocket } from 'ws'
import { type Deferred, defer } from '../../primitives/deferred.js'
import { setInterval } from '../../primitives/timers.js'
import { authorization, causeOf, withoutCredentials } from '../../primitives/urls.js'
import { userAgent } from './httpConnection.js'
import { type Call, type Line, probes, renderCalls, UpstreamFailure } from './line.js'
import { proxyOf, tunnel } from './proxy.js'

/** Time between two pings; a connection that is silent for one interval is lost. */
const pingMs = 10_000
/** Maximum time to open a connection. */
const handshakeMsMax = 10_000

/** A node answered the request for a WebSocket with an HTTP status: there is no WebSocket at this address. */
export class NoSocketError extends Error {}

/** A node's answer to a call, or a notification; any member may be missing. */
interface Member {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
  readonly error?: unknown
}

interface SocketLineOptions {
  /** `ws:` or `wss:`. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Maximum bytes of one message. */
  readonly answerBytesMax: number
  /** URL of a proxy; if absent, the environment decides. */
  readonly proxy?: string | undefined
  /** Called with the parameters of each notification. */
  readonly onNotification: (params: unknown) => void
  /** Called once when an open connection is lost, not after {@link SocketLine.close}. */
  readonly onLost: () => void
}

/** Calls over a WebSocket, which opens when first needed and again after a loss. */
export class SocketLine implements Line {
  readonly probes = probes
  /** Running exchanges, by the id of each of their calls. */
  readonly #pending = new Map<number, Deferred<unknown>>()
  readonly #options: SocketLineOptions
  #socket: Promise<WebSocket> | undefined
  #isClosed = false

  constructor(options: SocketLineOptions) {
    this.#options = options
  }

  /** Resolves once connected. Rejects with NoSocketError or {@link UpstreamFailure}. */
  async open(): Promise<void> {
    await this.#connected()
  }

  async exchange(calls: readonly Call[], signal: AbortSignal): Promise<unknown> {
    const answer = defer<unknown>()
    const abort = () => answer.reject(new UpstreamFailure('late', 'no answer in time'))
    signal.addEventListener('abort', abort)
    for (const { id } of calls) this.#pending.set(id, answer)
    try {
      const connected = this.#connected().then((socket) => socket.send(renderCalls(calls)))
      connected.catch((error: Error) => {
        answer.reject(
          error instanceof UpstreamFailure ? error : new UpstreamFailure('unreachable', causeOf(error)),
        )
      })
      return await answer.promise
    } finally {
      signal.removeEventListener('abort', abort)
      for (const { id } of calls) this.#pending.delete(id)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.then(
      (socket) => socket.terminate(),
      () => undefined,
    )
  }

  #connected(): Promise<WebSocket> {
    if (this.#isClosed) return Promise.reject(new UpstreamFailure('unreachable', 'closed'))
    this.#socket ??= this.#connect()
    return this.#socket
  }

  async #connect(): Promise<WebSocket> {
    // Most nodes use only HTTP, and loading this library takes as long as everything else here.
    const { WebSocket } = await import('ws')
    const { url, headers, answerBytesMax } = this.#options
    const proxy = proxyOf(url, this.#options.proxy)
    const through = proxy && (await tunnel(proxy, url, handshakeMsMax))
    const socket = new WebSocket(withoutCredentials(url), {
      headers: { 'user-agent': userAgent, ...authorization(url), ...headers },
      ...(through !== undefined && { createConnection: () => through }),
      maxPayload: answerBytesMax,
      handshakeTimeout: handshakeMsMax,
    })
    const opened = defer<WebSocket>()
    let isOpen = false
    let isAlive = true
    let beat: NodeJS.Timeout | undefined
    socket.on('open', () => {
      isOpen = true
      beat = setInterval(() => {
        if (!isAlive) return socket.terminate()
        isAlive = false
        socket.ping()
      }, pingMs)
      if (this.#isClosed) socket.terminate()
      opened.resolve(socket)
    })
    socket.on('unexpected-response', (_request, response) => {
      opened.reject(new NoSocketError(`HTTP status ${response.statusCode}`))
      socket.terminate()
    })
    socket.on('pong', () => {
      isAlive = true
    })
    socket.on('message', (data) => {
      isAlive = true
      this.#take(String(data))
    })
    socket.on('error', (error) => opened.reject(new UpstreamFailure('unreachable', causeOf(error))))
    socket.on('close', () => {
      clearInterval(beat)
      this.#socket = undefined
      const lost = new UpstreamFailure('unreachable', 'the connection was lost')
      opened.reject(lost)
      for (const answer of this.#pending.values()) answer.reject(lost)
      if (isOpen && !this.#isClosed) this.#options.onLost()
    })
    return opened.promise
  }

  #take(text: string): void {
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      return
    }
    const members: readonly (Member | null)[] = Array.isArray(message) ? message : [message]
    const [first] = members
    if (first?.method === 'eth_subscription') return this.#options.onNotification(first.params)
    const known = members.find((member) => this.#pending.has(member?.id as number))
    if (known) return this.#pending.get(known.id as number)?.resolve(message)
    // An error without an id belongs to a whole batch: only if a single exchange is running, it is known which one.
    const [only, ...others] = new Set(this.#pending.values())
    if (first?.error !== undefined && (first.id ?? null) === null && others.length === 0)
      only?.resolve(message)
  }
}
