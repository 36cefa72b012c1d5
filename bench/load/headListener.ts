import { setTimeout } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** A gateway may listen before it has its first block: attempts to subscribe, and the pause between two. */
const triesMax = 300
const pauseMs = 100

/** The heads that a server sends over a WebSocket, with the time of each message. */
export class HeadListener {
  /** By hash, in the order of the messages. */
  readonly heads = new Map<string, { readonly number: number; readonly atMs: number }>()
  readonly #socket: WebSocket
  readonly #waits: { readonly number: number; readonly resolve: () => void }[] = []
  #number = -1

  private constructor(socket: WebSocket) {
    this.#socket = socket
  }

  /** Resolves once it has subscribed at this URL (ws://…). */
  static async open(url: string): Promise<HeadListener> {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    const listener = new HeadListener(socket)
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    for (let tries = 1; ; tries++) {
      socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
      const answer = String(await new Promise((resolve) => socket.once('message', resolve)))
      if (/"result":"0x/.test(answer)) break
      if (tries >= triesMax) {
        socket.terminate()
        throw new Error(`${url} has no newHeads: ${answer}`)
      }
      await setTimeout(pauseMs)
    }
    socket.on('message', (data) => listener.#take(String(data)))
    return listener
  }

  /** Resolves once there was a message of a head with this number, or of a higher one. */
  reached(number: number): Promise<void> {
    if (this.#number >= number) return Promise.resolve()
    return new Promise((resolve) => this.#waits.push({ number, resolve }))
  }

  close(): void {
    this.#socket.terminate()
  }

  #take(text: string): void {
    const head = JSON.parse(text).params?.result
    if (head === undefined) return
    this.#number = Number(head.number)
    this.heads.set(head.hash, { number: this.#number, atMs: performance.now() })
    for (const { number, resolve } of this.#waits) if (this.#number >= number) resolve()
  }
}
