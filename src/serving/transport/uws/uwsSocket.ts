import type { WebSocket as LibraryWebSocket, RecognizedString } from 'uWebSockets.js'
import type { AnswerBody } from '../../rpc/answers/answer.js'
import { wholeBody } from '../answerBytes.js'
import type { SocketHandler, SocketPermit, SocketWire } from '../wire.js'

/** User data that uWebSockets.js stores for a WebSocket. */
export interface UwsSocketData {
  readonly permit: SocketPermit
  /** Undefined until the WebSocket is open. */
  handler: SocketHandler | undefined
}

/** Methods that the package's types lack; both builds have them. */
interface WebSocket<UserData> extends LibraryWebSocket<UserData> {
  sendFirstFragment(part: RecognizedString, isBinary: boolean, compress: boolean): number
  sendFragment(part: RecognizedString, compress: boolean): number
  sendLastFragment(part: RecognizedString, compress: boolean): number
}

export class UwsSocket implements SocketWire {
  readonly #ws: WebSocket<UwsSocketData>

  constructor(ws: LibraryWebSocket<UwsSocketData>) {
    this.#ws = ws as WebSocket<UwsSocketData>
  }

  get unsentBytes(): number {
    return this.#ws.getBufferedAmount()
  }

  send(message: AnswerBody | Uint8Array): void {
    // The library copies or sends the bytes before the call returns.
    this.#ws.send(message instanceof Uint8Array ? message : wholeBody(message), false, false)
  }

  sendFragment(part: Uint8Array, isFirst: boolean, isLast: boolean): void {
    if (isFirst) this.#ws.sendFirstFragment(part, false, false)
    else if (isLast) this.#ws.sendLastFragment(part, false)
    else this.#ws.sendFragment(part, false)
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
