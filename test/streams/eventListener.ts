import { setTimeout } from 'node:timers/promises'
import WebSocket from 'ws'
import { inTime, once } from '../library/until.js'

/** Parameters of eth_subscribe. */
export type StreamParams = readonly [kind: string, options?: object]

const beforeId = '{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"'
const idLength = 2 + 32
const resultAt = beforeId.length + idLength + '","result":'.length
const skippedMark = '{"skipped":'

/** Counts the events of one subscription. Each block must come once: no reorganisation is expected. */
export class StreamTally {
  events = 0
  /** Number of events that the server reported as skipped, and of these reports. */
  skipped = 0
  notices = 0
  /** Lowest and highest block that was received or skipped. */
  from = Number.POSITIVE_INFINITY
  to = 0
  /** Whether sequence numbers came without a gap or a repeat. */
  isGapless = true
  #sequence = 0

  /** Whether all events of the blocks from `from` to `to`, `perBlock` each, were received or reported as skipped. */
  isComplete(perBlock: number, from: number, to: number): boolean {
    const isAll = this.events + this.skipped === perBlock * (to - from + 1)
    return this.isGapless && isAll && this.from === from && this.to === to
  }

  /** Counts an event; returns the number of its block. Undefined for a notice of skipped events. */
  take(message: Buffer, numberMark: string): number | undefined {
    const sequence = Number(message.toString('latin1', message.lastIndexOf(':') + 1, message.length - 2))
    if (sequence !== ++this.#sequence) this.isGapless = false
    if (message.toString('latin1', resultAt, resultAt + skippedMark.length) === skippedMark) {
      const { from, to, count } = JSON.parse(message.toString()).params.result.skipped
      this.notices++
      this.skipped += count
      this.#reach(Number(from), Number(to))
      return undefined
    }
    const at = message.indexOf(numberMark, resultAt) + numberMark.length
    const block = Number(message.toString('latin1', at, message.indexOf('"', at)))
    this.events++
    this.#reach(block, block)
    return block
  }

  #reach(from: number, to: number): void {
    this.from = Math.min(this.from, from)
    this.to = Math.max(this.to, to)
  }
}

/** A WebSocket of the `ws` package that counts its events and stores none, so that one process can have thousands. */
export class EventListener {
  readonly heads = new StreamTally()
  readonly logs = new StreamTally()
  /** Close code and reason, as the client saw them. */
  end: { readonly code: number; readonly reason: string } | undefined
  readonly #socket: WebSocket
  readonly #tallies = new Map<string, StreamTally>()
  readonly #onHead: (number: number) => void
  #onAnswer = (_text: string) => {}

  private constructor(socket: WebSocket, onHead: (number: number) => void) {
    this.#socket = socket
    this.#onHead = onHead
    socket.on('message', (data: Buffer) => {
      if (data.indexOf(beforeId) === 0) this.#take(data)
      else this.#onAnswer(data.toString())
    })
    // The package also reports a lost connection as an error; `end` has its close code.
    socket.on('error', () => {})
    socket.on('close', (code, reason) => {
      this.end = { code, reason: String(reason) }
    })
  }

  /**
   * Connects, and subscribes once to each of `streams`: to `newHeads`, `logs` or both. Rejects if that is refused.
   * `onHead` is called with the number of each head that comes.
   */
  static async open(
    url: string,
    streams: readonly StreamParams[],
    onHead: (number: number) => void = () => {},
  ): Promise<EventListener> {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    const listener = new EventListener(socket, onHead)
    await once(socket, 'open')
    for (const params of streams) await listener.#subscribe(params)
    return listener
  }

  /** Reads nothing more until it is resumed. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Cuts the connection off. */
  cut(): void {
    this.#socket.terminate()
  }

  #subscribe(params: StreamParams): Promise<void> {
    const tally = params[0] === 'newHeads' ? this.heads : this.logs
    const answered = new Promise<void>((resolve, reject) => {
      this.#socket.once('close', (code) => reject(new Error(`closed with ${code} before it was subscribed`)))
      this.#onAnswer = (text) => {
        const { result, error } = JSON.parse(text)
        if (result === undefined) return reject(new Error(error.message))
        this.#tallies.set(result, tally)
        resolve()
      }
    })
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params }))
    return inTime('the answer to eth_subscribe', answered)
  }

  #take(message: Buffer): void {
    const tally = this.#tallies.get(message.toString('latin1', beforeId.length, beforeId.length + idLength))
    if (tally === this.heads) {
      const number = tally.take(message, '"number":"')
      if (number !== undefined) this.#onHead(number)
    } else tally?.take(message, '"blockNumber":"')
  }
}

/**
 * Connections that are opened at the same time, well below the system's limit of connections that wait for `accept`.
 */
const openingMax = 100

/** Opens as many listeners as `count`, each to the same streams. */
export async function openListeners(
  count: number,
  open: (index: number) => Promise<EventListener>,
): Promise<EventListener[]> {
  const listeners: EventListener[] = []
  while (listeners.length < count) {
    const first = listeners.length
    const some = Array.from({ length: Math.min(openingMax, count - first) }, (_, i) => open(first + i))
    listeners.push(...(await Promise.all(some)))
    await setTimeout()
  }
  return listeners
}
