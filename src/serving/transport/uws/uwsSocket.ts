import type { WebSocket } from 'uWebSockets.js'
import type { AnswerBody } from '../../rpc/answers/answer.js'
import { wholeBody } from '../answerBytes.js'
import type { SocketHandler, SocketPermit, SocketWire } from '../wire.js'

/** User data that uWebSockets.js stores for a WebSocket. */
export interface UwsSocketData {
  readonly permit: SocketPermit
  /** Undefined until the WebSocket is open. */
  handler: SocketHandler | undefined
}

export class UwsSocket implements SocketWire {
  readonly #ws: WebSocket<UwsSocketData>

  constructor(ws: WebSocket<UwsSocketData>) {
    this.#ws = ws
  }

  get unsentBytes(): number {
    return this.#ws.getBufferedAmount()
  }

  send(message: AnswerBody | Uint8Array): void {
    // The library copies or sends the bytes before the call returns.
    this.#ws.send(message instanceof Uint8Array ? message : wholeBody(message), false, false)
  }

  ping(): void {
    this.#ws.ping()
  }

  // The library cannot stop reading a WebSocket.
  pause(): void {}

  resume(): void {}

  end(code: number, reason: string): void {
    this.#ws.end(code, reason)
  }

  cut(): void {
    this.#ws.close()
  }
}
