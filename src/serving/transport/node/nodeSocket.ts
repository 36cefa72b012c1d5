import type { Socket as TcpSocket } from 'node:net'
import { WebSocket } from 'ws'
import type { AnswerBody } from '../../rpc/answers/answer.js'
import { lastingPieces } from '../answerBytes.js'
import type { SocketHandler, SocketPermit, SocketWire } from '../wire.js'

/** Memory that Node.js and ws take for one received part of a message, besides its bytes. */
const pieceBytes = 256

/**
 * Memory of ws for an incomplete message, computed from the received and the handled bytes. For a message in several
 * frames only one frame head is subtracted. The excess is dropped when the next message ends, and never exceeds the
 * bytes received last.
 */
class Unfinished {
  #bytes = 0
  #pieces = 0
  #handledBytes = 0
  #isEnd = false

  /** Call this when a frame was handled, before {@link took}; `isEnd`: it was the last of its message. */
  handled(payloadBytes: number, isEnd: boolean): void {
    this.#handledBytes += payloadBytes + headBytes(payloadBytes)
    this.#isEnd ||= isEnd
  }

  /** Call this when `bytes` arrived and all frames that they completed were handled. Returns the memory still used. */
  took(bytes: number): number {
    const left = Math.max(this.#bytes + bytes - this.#handledBytes, 0)
    this.#bytes = this.#isEnd ? Math.min(left, bytes) : left
    this.#pieces = this.#bytes === 0 ? 0 : this.#isEnd ? 1 : this.#pieces + 1
    this.#handledBytes = 0
    this.#isEnd = false
    return this.#bytes + this.#pieces * pieceBytes
  }
}

/** Length of the head of a client's frame; RFC 6455, section 5.2. */
function headBytes(payloadBytes: number): number {
  return payloadBytes < 126 ? 6 : payloadBytes < 65_536 ? 8 : 14
}

const frame = { binary: false, compress: false, fin: true }
/** A part of a message that is not its last one. */
const openFrame = { ...frame, fin: false }

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
    // Runs after the listener of ws, which first delivers the complete messages.
    tcp.on('data', ({ length }) => this.#handler?.onUnfinished(unfinished.took(length)))
    ws.on('close', () => this.#over())
    ws.on('error', () => {
      // ws sends the reason to the client. That ends soon, unless much unsent data comes before it.
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
    // Copied: ws later sends from the same memory the bytes that the operating system does not accept at once.
    if (message instanceof Uint8Array) this.#send(Buffer.from(message))
    else {
      const pieces = lastingPieces(message)
      this.#send(pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces))
    }
  }

  sendFragment(part: Uint8Array, _isFirst: boolean, isLast: boolean): void {
    this.#send(part, isLast ? frame : openFrame)
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

  #send(message: Uint8Array, options = frame): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.send(message, options, this.#onSent)
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
