/** Stands between a gateway and its upstream, and counts what passes. */
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

interface RpcCall {
  method: string
  readonly params: readonly unknown[]
}

/** Which head there is, and after an answer failed to come, whether the node still is of the right chain. */
function isCheck({ method, params }: RpcCall): boolean {
  return method === 'eth_chainId' || params[0] === 'latest' || params[0] === '0x0'
}

/**
 * Counts HTTP requests, and their bytes, but not those that ask which chain and head there are; names methods that the
 * upstream shall lack otherwise.
 */
export class CountingProxy {
  /** Requests that ask for new blocks. */
  heads = 0
  /** All others. */
  reads = 0
  /** Of these, requests for nothing but proofs of what was proved before. */
  again = 0
  bytes = 0
  readonly #proved = new Set<string>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(url: string, lacks: RegExp): Promise<CountingProxy> {
    const { hostname, port } = new URL(url)
    const server = createServer(async (incoming, outgoing) => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const body = JSON.parse(Buffer.concat(chunks).toString())
      const calls: RpcCall[] = Array.isArray(body) ? body : [body]
      proxy.#count(calls)
      for (const call of calls) if (lacks.test(call.method)) call.method = 'bench_unknown'
      const headers = { 'content-type': 'application/json' }
      const onward = request(url, { method: 'POST', headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, headers)
        answer.on('data', (chunk: Buffer) => {
          proxy.bytes += chunk.length
        })
        answer.pipe(outgoing)
      })
      onward.on('error', () => outgoing.destroy())
      onward.end(JSON.stringify(body))
    })
    server.on('upgrade', (incoming, socket, head) => {
      const onward = connect(Number(port), hostname, () => {
        const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${value}`)
        onward.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
        onward.write(head)
        onward.pipe(socket).pipe(onward)
      })
      onward.on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
    })
    const proxy = new CountingProxy(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  #count(calls: readonly RpcCall[]): void {
    if (calls.some(({ method }) => method === 'debug_getRawBlock')) {
      this.heads++
    } else if (calls.every(({ method }) => method === 'eth_getProof')) {
      this.reads++
      const keys = calls.flatMap(({ params: [address, slots] }) => {
        return [`${address}`, ...(slots as readonly string[]).map((slot) => `${address} ${slot}`)]
      })
      if (keys.every((key) => this.#proved.has(key))) this.again++
      for (const key of keys) this.#proved.add(key)
    } else if (!calls.every(isCheck)) {
      this.reads++
    }
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
