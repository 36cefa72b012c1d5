import type { Socket as TcpSocket } from 'node:net'
import { WebSocket } from 'ws'
import type { AnswerBody } from '../../rpc/answer.js'
import { lastingPieces } from '../answerBytes.js'
import type { SocketHandler, SocketPermit, SocketWire } from '../wire.js'
import { Unfinished } from './unfinished.js'

const frame = { binary: false, compress: false, fin: true }

/** A WebSocket of ws, from its opening on. */
export class NodeSocket implements SocketWire {
  readonly #ws: WebSocket
  readonly #tcp: TcpSocket
  /** Undefined once it was called for the end. */
  #handler: SocketHandler | undefined
  /** Something was left unsent when it was looked at last. */
  #hasBacklog = false

  constructor(ws: WebSocket, tcp: TcpSocket, permit: SocketPermit) {
    this.#ws = ws
    this.#tcp = tcp
    this.#handler = permit.open(this)
    const unfinished = new Unfinished()
    // Text comes as bytes as well, which the package has found to be UTF-8.
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
    // After the package's own listener, which hands over what has become whole.
    tcp.on('data', ({ length }) => this.#handler?.onUnfinished(unfinished.took(length)))
    ws.on('close', () => this.#over())
    ws.on('error', () => {
      // The package tells the client why. That takes a moment, unless much lies before it unread.
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
    // What the system does not take at once is sent later from where it is.
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
    // Without waiting for the client's close frame, which may never come.
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
