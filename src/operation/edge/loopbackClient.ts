/** A client of a server in this process: POST requests on one connection, one after the other. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Deferred, defer } from '../../primitives/deferred.js'

const headEnd = '\r\n\r\n'
const lengthPattern = /\r\ncontent-length: *(\d+)/i

const ended = 'the server ended a connection of its own'

export class LoopbackClient {
  /** Number of answers so far. */
  answers = 0
  readonly #socket: Socket
  #answer: Deferred<Buffer> | undefined
  #chunks: Buffer[] = []
  #bytes = 0
  /** Bytes of the whole answer; undefined before its head has arrived. */
  #bytesWanted: number | undefined

  constructor(host: string, port: number, isSecure: boolean) {
    // The certificate names the host of clients. This process itself listens on the port, so no other process answers.
    const socket = isSecure ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port })
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => this.#answer?.reject(error))
    socket.on('close', () => this.#answer?.reject(new Error(ended)))
  }

  /** Resolves to the body of the answer. Rejects if the connection ends, or the answer has no length. */
  ask(path: string, body: string): Promise<Buffer> {
    if (this.#socket.destroyed) return Promise.reject(new Error(ended))
    this.#answer = defer<Buffer>()
    this.#chunks = []
    this.#bytes = 0
    this.#bytesWanted = undefined
    const { promise } = this.#answer
    this.#socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    return promise
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#bytesWanted ??= this.#readHead()
    if (this.#bytesWanted === undefined || this.#bytes < this.#bytesWanted) return
    const whole = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    this.answers++
    this.#answer?.resolve(whole.subarray(whole.indexOf(headEnd) + headEnd.length))
  }

  #readHead(): number | undefined {
    const start = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)
    const end = start.indexOf(headEnd)
    if (end === -1) return undefined
    const length = lengthPattern.exec(start.toString('latin1', 0, end))?.[1]
    if (length === undefined) this.#socket.destroy(new Error('an answer of the server has no length'))
    return end + headEnd.length + Number(length)
  }
}
