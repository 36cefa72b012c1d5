/** Stands between a gateway and its upstream, and counts the requests over HTTP. WebSockets pass uncounted. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

export class CountingProxy {
  requests = 0
  /** Methods of the requests, with the calls of each. */
  readonly methods = new Map<string, number>()
  readonly #server: Server
  readonly #url: string

  private constructor(url: string) {
    this.#url = url
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing))
    const { hostname, port } = new URL(url)
    this.#server.on('upgrade', (incoming, socket, head) => {
      const onward = connect(Number(port), hostname, () => {
        const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${value}`)
        onward.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
        onward.write(head)
        onward.pipe(socket).pipe(onward)
      })
      onward.on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
    })
  }

  /** Passes on to the server of this URL, with the paths of the requests. */
  static async start(url: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(url)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    this.requests++
    for (const [, method = ''] of body.toString().matchAll(/"method":"(\w+)"/g)) {
      this.methods.set(method, (this.methods.get(method) ?? 0) + 1)
    }
    const headers = { 'content-type': 'application/json' }
    const onward = request(new URL(incoming.url ?? '/', this.#url), { method: 'POST', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    onward.end(body)
  }
}
