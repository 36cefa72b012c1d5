import { WebSocket } from 'ws'

/** The new heads that a server tells over a WebSocket, and when each was told. */
export class HeadListener {
  /** Hash → when its head came, in the order of their coming. */
  readonly heads = new Map<string, number>()
  readonly #socket: WebSocket
  readonly #waits: { readonly number: number; readonly resolve: () => void }[] = []
  #number = -1

  private constructor(socket: WebSocket) {
    this.#socket = socket
  }

  /** Resolves once it is subscribed at this URL, ws://… */
  static async open(url: string): Promise<HeadListener> {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    const listener = new HeadListener(socket)
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
    const answer = await new Promise((resolve) => socket.once('message', resolve))
    if (!/"result":"0x/.test(String(answer))) throw new Error(`${url} has no newHeads: ${String(answer)}`)
    socket.on('message', (data) => listener.#take(String(data)))
    return listener
  }

  /** Of the head that came last; -1 before the first. */
  get number(): number {
    return this.#number
  }

  /** Resolves once a head with this number, or a higher one, came. */
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
    this.heads.set(head.hash, performance.now())
    this.#number = Number(head.number)
    for (const { number, resolve } of this.#waits) if (this.#number >= number) resolve()
  }
}
