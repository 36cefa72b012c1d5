import type { Socket as TcpSocket } from 'node:net'
import { WebSocket } from 'ws'
import type { AnswerBody } from '../../rpc/answers/answer.js'
import { lastingPieces } from '../answerBytes.js'
import type { SocketHandler, SocketPermit, SocketWire } from '../wire.js'
import { Unfinished } from './unfinished.js'

const frame = { binary: false, compress: false, fin: true }

export class NodeSocket implements SocketWire {
  readonly #ws: WebSocket
  readonly #tcp: TcpSocket
  /** Undefined once its `onClose` was called. */
  #handler: SocketHandler | undefined
  /** Whether data was unsent at the last look. */
  #hasBacklog = false

  constructor(ws: WebSocket, tcp: TcpSocket, permit: SocketPermit) {
    this.#ws = ws
    this.#tcp = tcp
    this.#handler = permit.open(this)
    const unfinished = new Unfinished()
    // Text messages also arrive as bytes, which ws has checked to be UTF-8.
    ws.on('message', (message: Uint8Array, isBinary) => {
      unfinished.handled(message.length, true)
      this.#handler?.onUnfinished(0)
      this.#handler?.onMessage(message, isBinary)
    })
    ws.on('ping', (payload) => {
      unfinished.handled(payload.length, false)
      if (ws.readyState === WebSocket.OPEN) ws.pong(payload, false, this.#onSent)
      this.#handler?.onPing()
    })
    ws.on('pong', (payload) => {
      unfinished.handled(payload.length, false)
      this.#handler?.onActivity()
    })
    // Runs after the listener of ws, which first delivers the messages that are complete.
    tcp.on('data', ({ length }) => this.#handler?.onUnfinished(unfinished.took(length)))
    ws.on('close', () => this.#over())
    ws.on('error', () => {
      // ws sends the client the reason. That ends soon, unless much unsent data lies before it.
      if (ws.bufferedAmount > tcp.writableHighWaterMark) ws.terminate()
      this.#over()
    })
  }

  get unsentBytes(): number {
    const unsent = this.#ws.bufferedAmount
    this.#hasBacklog ||= unsent > 0
    return unsent
  }

  send(message: AnswerBody | Uint8Array): void {
    // Copied, because ws sends later, from the same memory, what the operating system does not accept at once.
    if (message instanceof Uint8Array) this.#send(Buffer.from(message))
    else {
      const pieces = lastingPieces(message)
      this.#send(pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces))
    }
  }

  ping(): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.ping()
  }

  pause(): void {
    if (!this.#ws.isPaused) this.#ws.pause()
  }

  resume(): void {
    if (this.#ws.isPaused) this.#ws.resume()
  }

  end(code: number, reason: string): void {
    this.#ws.close(code, reason)
    // Does not wait for the client's close frame, which may never come.
    this.#tcp.end()
  }

  cut(): void {
    this.#ws.terminate()
  }

  #send(message: Uint8Array): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.send(message, frame, this.#onSent)
  }

  readonly #onSent = (): void => {
    if (!this.#hasBacklog) return
    this.#hasBacklog = false
    this.#handler?.onDrain()
  }

  #over(): void {
    const handler = this.#handler
    this.#handler = undefined
    handler?.onClose()
  }
}
