/**
 * A JSON-RPC node for tests, over HTTP and WebSocket on one port, with configurable failures (weather). A function
 * gives its answers, and may forward calls to a real node. On request, the node damages answers.
 */
import { createServer, globalAgent, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { post } from '../service/httpClient.js'

export interface NodeCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** The member of an answer besides its id. */
export type NodeAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

/** The fate of an HTTP answer. */
export type Weather =
  | { readonly kind: 'fine' }
  /** The node sends this status and body instead of the answer. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Record<string, string>
      readonly body?: string
    }
  /** The node sends the first half of the answer, and then ends the connection. */
  | { readonly kind: 'half' }
  /** The node sends the first bytes of the answer, one by one, and never all. */
  | { readonly kind: 'drip' }
  /** The connection ends without an answer. */
  | { readonly kind: 'drop' }
  /** No answer, and the connection stays. */
  | { readonly kind: 'silent' }

export const fine: Weather = { kind: 'fine' }

const day = (second: number) => `Fri, 01 Jan 2100 00:00:0${second} GMT`

/** All kinds of failures to answer. */
export const badWeathers: readonly Weather[] = [
  { kind: 'status', status: 429, headers: { 'retry-after': '1' } },
  // A node with a wrong clock also requests a delay of one second.
  { kind: 'status', status: 429, headers: { date: day(0), 'retry-after': day(1) } },
  { kind: 'status', status: 500, body: 'Internal Server Error' },
  { kind: 'status', status: 200, body: '<html><body>Welcome</body></html>' },
  { kind: 'half' },
  { kind: 'drip' },
  { kind: 'drop' },
  { kind: 'silent' },
]

interface RequestCall extends NodeCall {
  readonly id: unknown
}

export class WeatherNode {
  /** Answers a call; tests may replace it. */
  answer: (call: NodeCall) => NodeAnswer | Promise<NodeAnswer>
  /** The weather of the next HTTP request, which has these calls. */
  weather: (calls: readonly NodeCall[]) => Weather = () => fine
  /** Text that replaces the answer to these calls, over HTTP and WebSocket. */
  refuse: (calls: readonly RequestCall[]) => string | undefined = () => undefined
  /** Whether WebSockets are accepted. */
  hasSockets = true
  /** The only path for WebSockets; if absent, any path. */
  socketPath: string | undefined
  /** Calls received so far, over HTTP and WebSocket. */
  readonly calls: NodeCall[] = []
  /** HTTP requests received so far, each with its calls. */
  readonly requests: (readonly NodeCall[])[] = []
  #server: Server | undefined
  #sockets: WebSocketServer | undefined
  readonly #subscribers = new Set<WebSocket>()
  #port = 0

  constructor(answer: (call: NodeCall) => NodeAnswer | Promise<NodeAnswer>) {
    this.answer = answer
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get subscribers(): number {
    return this.#subscribers.size
  }

  /** Listens; after {@link stop}, on the same port. */
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response))
    const sockets = new WebSocketServer({ noServer: true })
    server.on('upgrade', (request, socket, head) => {
      const { hasSockets, socketPath = request.url } = this
      if (!hasSockets || request.url !== socketPath)
        return socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
      sockets.handleUpgrade(request, socket, head, (client) => this.#attach(client))
    })
    this.#server = server
    this.#sockets = sockets
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
  }

  /** Ends all connections and stops listening. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    this.dropSockets()
    this.#subscribers.clear()
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  /** Sends a new head to every subscriber. */
  tell(header: unknown): void {
    for (const client of this.#subscribers) {
      const params = { subscription: '0x1', result: header }
      client.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as RequestCall | RequestCall[]
    const calls = Array.isArray(body) ? body : [body]
    this.requests.push(calls)
    const refused = this.refuse(calls)
    if (refused !== undefined) return void response.end(refused)
    const weather = this.weather(calls)
    if (weather.kind === 'drop') return void request.socket.destroy()
    if (weather.kind === 'silent') return
    if (weather.kind === 'status') {
      response.writeHead(weather.status, weather.headers)
      return void response.end(weather.body ?? '')
    }
    const text = await this.#answerAll(body)
    if (weather.kind === 'fine') return void response.end(text)
    response.writeHead(200, { 'content-length': Buffer.byteLength(text) })
    if (weather.kind === 'half') {
      response.write(text.slice(0, text.length >> 1), () => request.socket.destroy())
    } else response.write(text.slice(0, 1))
  }

  async #answerAll(body: RequestCall | readonly RequestCall[]): Promise<string> {
    const one = async ({ id, method, params }: RequestCall) => {
      this.calls.push({ method, params })
      return { jsonrpc: '2.0', id, ...(await this.answer({ method, params })) }
    }
    return JSON.stringify(
      Array.isArray(body) ? await Promise.all(body.map(one)) : await one(body as RequestCall),
    )
  }

  #attach(client: WebSocket): void {
    client.on('close', () => this.#subscribers.delete(client))
    client.on('message', async (data) => {
      const call = JSON.parse(String(data)) as RequestCall
      if (call.method === 'eth_subscribe') {
        client.send(JSON.stringify({ jsonrpc: '2.0', id: call.id, result: '0x1' }))
        this.#subscribers.add(client)
      } else client.send(this.refuse([call].flat()) ?? (await this.#answerAll(call)))
    })
  }

  /** Ends all WebSockets. */
  dropSockets(): void {
    for (const client of this.#sockets?.clients ?? []) client.terminate()
  }
}

/** An answer function that forwards to the node at `url`; `change` may change the answers. */
export function forwardTo(
  url: string,
  change: (call: NodeCall, answer: NodeAnswer) => NodeAnswer = (_call, answer) => answer,
): (call: NodeCall) => Promise<NodeAnswer> {
  return async (call) => {
    try {
      const { text } = await post(url, JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }), {}, globalAgent)
      const { result, error } = JSON.parse(text) as { result?: unknown; error?: never }
      return change(call, error === undefined ? { result } : { error })
    } catch {
      return { error: { code: -32603, message: 'the node behind the proxy does not answer' } }
    }
  }
}
