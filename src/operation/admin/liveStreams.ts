import type { ServerResponse } from 'node:http'
import { setInterval } from '../../primitives/timers.js'

const intervalMs = 1_000

/** Streams at once, far fewer than connections, so that scrapers and probes always find room. */
const streamsMax = 32

/** Server-sent events: the same text to all listeners, each second. */
export class LiveStreams {
  readonly #streams = new Set<ServerResponse>()
  readonly #read: () => unknown
  readonly #timer: NodeJS.Timeout

  /** `tick` is called each second, with or without listeners; `read` returns the data of an event. Neither throws. */
  constructor(tick: () => void, read: () => unknown) {
    this.#read = read
    this.#timer = setInterval(() => {
      tick()
      this.#send(this.#streams)
    }, intervalMs)
    this.#timer.unref()
  }

  /** Begins a stream with an event; false if there are too many. */
  open(response: ServerResponse): boolean {
    if (this.#streams.size >= streamsMax) return false
    this.#streams.add(response)
    response.on('close', () => this.#streams.delete(response))
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    this.#send([response])
    return true
  }

  close(): void {
    clearInterval(this.#timer)
    for (const response of this.#streams) response.end()
  }

  #send(streams: Iterable<ServerResponse>): void {
    // A slow reader skips events until it has read the last one.
    const waiting = [...streams].filter(({ writableNeedDrain }) => !writableNeedDrain)
    if (waiting.length === 0) return
    const event = `event: state\ndata: ${JSON.stringify(this.#read())}\n\n`
    for (const response of waiting) response.write(event)
  }
}
