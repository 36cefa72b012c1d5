import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import WebSocket, { type ClientOptions } from 'ws'
import { inTime, once } from '../library/until.js'

/** A WebSocket of the `ws` package, with waits for its messages and its end. */
export class SocketClient {
  readonly socket: WebSocket
  /** Received messages that no caller has taken yet. */
  readonly received: string[] = []
  pings = 0
  readonly #closed: Promise<{ readonly code: number; readonly reason: string }>
  #wake = () => {}

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data) => {
      this.received.push(String(data))
      this.#wake()
    })
    socket.on('ping', () => {
      this.pings++
    })
    // This package reports an aborted connection as an error; `closed` reports it as well.
    socket.on('error', () => {})
    this.#closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        this.#wake()
        resolve({ code, reason: String(reason) })
      })
    })
  }

  /** Rejects if the upgrade is refused. */
  static async connect(url: string, options: ClientOptions = {}): Promise<SocketClient> {
    const client = new SocketClient(new WebSocket(url, options))
    await once(client.socket, 'open')
    return client
  }

  /** The end of the connection from the client's side. */
  get closed() {
    return inTime('the end of a WebSocket', this.#closed)
  }

  /** Sends text as a text message, bytes as a binary one. */
  send(message: string | Uint8Array): void {
    this.socket.send(message)
  }

  /** The next message; undefined once the connection has ended and all are taken. */
  async next(): Promise<string | undefined> {
    while (this.received.length === 0 && this.socket.readyState !== WebSocket.CLOSED) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await inTime('a message on a WebSocket', woken)
    }
    return this.received.shift()
  }

  /** Sends a message and takes the next one. */
  async ask(message: string | Uint8Array): Promise<string | undefined> {
    this.send(message)
    return this.next()
  }

  /** Stops reading from the connection until it is resumed. */
  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Aborts the connection. */
  cut(): void {
    this.socket.terminate()
  }
}

export interface RefusedUpgrade {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** The answer to a refused upgrade. Rejects if it was not refused. */
export async function refusedUpgrade(url: string, options: ClientOptions = {}): Promise<RefusedUpgrade> {
  const socket = new WebSocket(url, options)
  const refused = new Promise<RefusedUpgrade>((resolve, reject) => {
    socket.on('open', () => {
      socket.terminate()
      reject(new Error(`${url} was not refused`))
    })
    socket.on('error', reject)
    socket.on('unexpected-response', async (_request, response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode, headers: response.headers, text })
    })
  })
  return inTime(`the refusal of ${url}`, refused)
}

/** A WebSocket connection as bytes, for frames that no package sends. */
export async function rawWebSocket(port: number, path: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  socket.on('error', () => {})
  const key = randomBytes(16).toString('base64')
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-key: ${key}\r\nsec-websocket-version: 13\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  if (!head.toString('latin1').startsWith('HTTP/1.1 101')) throw new Error(head.toString('latin1'))
  return socket
}

/** A client's frame. `length` may differ from the payload's length; the mask is zero. */
export function frame(
  opcode: number,
  payload: Uint8Array,
  { fin = true, length = payload.length } = {},
): Buffer {
  const first = (fin ? 0x80 : 0) | opcode
  const mask = Buffer.alloc(4)
  if (length < 126) return Buffer.concat([Uint8Array.of(first, 0x80 | length), mask, payload])
  const extended = Buffer.alloc(8)
  extended.writeBigUInt64BE(BigInt(length))
  return length < 65_536
    ? Buffer.concat([Uint8Array.of(first, 0x80 | 126), extended.subarray(6), mask, payload])
    : Buffer.concat([Uint8Array.of(first, 0x80 | 127), extended, mask, payload])
}
