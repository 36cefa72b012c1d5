import { connect, type Socket } from 'node:net'
import { defer } from '../../../../src/primitives/deferred.js'
import { inTime, once } from '../../../library/until.js'

export interface RawResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Writes a POST request as bytes would come from a client, headers in the order given. */
export function rawPost(path: string, body: string, headers: Record<string, string> = {}): string {
  const all = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** A TCP connection that reads HTTP/1.1 answers one after another, for requests that fetch would not send. */
export class RawClient {
  readonly socket: Socket
  #buffer = Buffer.alloc(0)
  /** Chunks after those in the buffer; joined only once an answer may be complete. */
  #chunks: Buffer[] = []
  #unread = 0
  /** Bytes of the next answer, by its head so far. */
  #wanted = 1
  #ended = false
  #wake = () => {}

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (data) => {
      this.#chunks.push(data)
      this.#unread += data.length
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#ended = true
      this.#wake()
    })
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    const client = new RawClient(socket)
    await once(socket, 'connect')
    return client
  }

  /** Bytes of an answer that is not whole. */
  get unread(): number {
    return this.#unread
  }

  write(text: string | Uint8Array): void {
    this.socket.write(text)
  }

  /** The next answer; undefined if the connection ends before it is whole. `head`: it has no body. */
  async read({ head = false } = {}): Promise<RawResponse | undefined> {
    for (;;) {
      const response = this.#take(head)
      if (response !== undefined || this.#ended) return response
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await inTime('an answer on a connection', woken)
    }
  }

  /** Resolves when the connection is over. */
  async closed(): Promise<void> {
    // A write to a connection that has ended is an error, and no other end.
    const { promise, resolve } = defer<void>()
    if (this.socket.closed) resolve()
    this.socket.once('close', () => resolve())
    await inTime('the end of a connection', promise)
  }

  #take(head: boolean): RawResponse | undefined {
    if (this.#unread < this.#wanted) return undefined
    if (this.#chunks.length > 0) this.#buffer = Buffer.concat([this.#buffer, ...this.#chunks.splice(0)])
    const end = this.#buffer.indexOf('\r\n\r\n')
    if (end === -1) return undefined
    const [statusLine = '', ...lines] = this.#buffer.toString('latin1', 0, end).split('\r\n')
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const length = head ? 0 : Number(headers.get('content-length') ?? 0)
    this.#wanted = end + 4 + length
    if (this.#unread < this.#wanted) return undefined
    const body = this.#buffer.toString('utf8', end + 4, end + 4 + length)
    this.#buffer = this.#buffer.subarray(this.#wanted)
    this.#unread = this.#buffer.length
    this.#wanted = 1
    return { status: Number(statusLine.split(' ')[1]), headers, body }
  }
}
