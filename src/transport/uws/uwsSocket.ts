import type { WebSocket } from 'uWebSockets.js'
import type { AnswerBody } from '../../rpc/answer.js'
import { wholeBody } from '../answerBytes.js'
import type { SocketHandler, SocketPermit, SocketWire } from '../wire.js'

/** What uWebSockets.js keeps for a connection. */
export interface UwsSocketData {
  readonly permit: SocketPermit
  /** Undefined until it is open. */
  handler: SocketHandler | undefined
}

/** A WebSocket of uWebSockets.js, from its opening on. */
export class UwsSocket implements SocketWire {
  readonly #ws: WebSocket<UwsSocketData>

  constructor(ws: WebSocket<UwsSocketData>) {
    this.#ws = ws
  }

  get unsentBytes(): number {
    return this.#ws.getBufferedAmount()
  }

  send(message: AnswerBody | Uint8Array): void {
    // The library copies or sends it before the call returns.
    this.#ws.send(message instanceof Uint8Array ? message : wholeBody(message), false, false)
  }

  ping(): void {
    this.#ws.ping()
  }

  // The library reads on whatever we do.
  pause(): void {}

  resume(): void {}

  end(code: number, reason: string): void {
    this.#ws.end(code, reason)
  }

  cut(): void {
    this.#ws.close()
  }
}
