/**
 * WebSockets of consensus clients, on the same address as HTTP. Owns the order of messages: a connection gets one answer
 * after the other, and is not read meanwhile. The token is checked in the handshake alone, as the specification says.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import type { ConnectionPlaces } from '../../admin/connectionPlaces.js'

/** A client's machine may be switched off without a word; TCP then ends the connection some minutes later. */
const keepAliveMs = 60_000

interface EngineSocketsOptions {
  /** Bytes of one message. */
  readonly bodyBytesMax: number
  readonly places: ConnectionPlaces
  /** Returns the answer to one message. Never rejects. */
  answer(message: Buffer): Promise<string>
}

export class EngineSockets {
  readonly #server: WebSocketServer
  readonly #options: EngineSocketsOptions

  constructor(options: EngineSocketsOptions) {
    this.#options = options
    const { bodyBytesMax } = options
    this.#server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: bodyBytesMax })
  }

  /** Completes the handshake of a request with a right token. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const carrier = request.socket
    carrier.setKeepAlive(true, keepAliveMs)
    this.#server.handleUpgrade(request, socket, head, (webSocket) => this.#converse(webSocket, carrier))
  }

  /** Ends all connections. */
  close(): void {
    for (const webSocket of this.#server.clients) webSocket.terminate()
    this.#server.close()
  }

  #converse(webSocket: WebSocket, carrier: Socket): void {
    const { places, answer } = this.#options
    let last: Promise<void> = Promise.resolve()
    let waiting = 0
    const reply = async (message: Buffer) => {
      const text = await answer(message)
      // Resolves with an error, too: then the connection has ended.
      await new Promise<void>((resolve) => webSocket.send(text, () => resolve()))
      if (--waiting > 0) return
      places.end(carrier)
      webSocket.resume()
    }
    webSocket.on('message', (data: RawData) => {
      // The bytes that were read already may have further messages.
      if (waiting++ === 0) {
        places.begin(carrier)
        webSocket.pause()
      }
      last = last.then(() => reply(data as Buffer))
    })
    // A message that is too long, or no message. The connection ends with the reason.
    webSocket.on('error', () => undefined)
  }
}
