import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

/** One connection that asks one thing at a time; of answers it reads no more than where they end. */
export class KeepAliveClient {
  readonly #socket: Socket
  #buffer: Buffer = Buffer.alloc(0)
  #onAnswer: ((status: number) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('close', () => {
      if (this.#onAnswer !== undefined)
        throw new Error('the server ended a connection that waited for an answer')
    })
  }

  static async open(origin: URL): Promise<KeepAliveClient> {
    const socket = connect(Number(origin.port), origin.hostname)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return new KeepAliveClient(socket)
  }

  get isFree(): boolean {
    return this.#onAnswer === undefined
  }

  /** Sends a body; `onAnswer` is called with the HTTP status once the whole answer is here. */
  ask(body: string, onAnswer: (status: number) => void): void {
    this.#onAnswer = onAnswer
    this.#socket.write(
      `POST / HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
  }

  close(): void {
    this.#onAnswer = undefined
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk])
    const end = this.#buffer.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = this.#buffer.toString('latin1', 0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (this.#buffer.length < end + 4 + length) return
    this.#buffer = this.#buffer.subarray(end + 4 + length)
    const onAnswer = this.#onAnswer
    this.#onAnswer = undefined
    onAnswer?.(Number(head.slice(9, 12)))
  }
}

const nothing = new Int32Array(new SharedArrayBuffer(4))

/** Rest between two looks at what is due and what has come: a tenth of the latencies that are of interest. */
const restMs = 0.1

/**
 * Asks `rate` times a second for `seconds`, whatever the answers do, and returns the latencies in ms, each counted
 * from the moment at which its request was due, so that a stall counts for all that would have come in it.
 */
export async function askAtRate(
  clients: readonly KeepAliveClient[],
  rate: number,
  seconds: number,
  nextBody: () => string,
): Promise<number[]> {
  const total = Math.floor(rate * seconds)
  const latencies: number[] = []
  const startedAtMs = performance.now()
  let due = 0
  // In turns, because the server ends a connection that has been idle for some seconds.
  let next = 0
  while (latencies.length < total) {
    const now = performance.now()
    for (let tried = 0; tried < clients.length; tried++) {
      if (due === total || startedAtMs + (due * 1000) / rate > now) break
      const client = clients[next++ % clients.length] as KeepAliveClient
      if (!client.isFree) continue
      const dueAtMs = startedAtMs + (due++ * 1000) / rate
      client.ask(nextBody(), () => latencies.push(performance.now() - dueAtMs))
    }
    await new Promise(setImmediate)
    // Waiting without turning keeps the loader from taking a core from the server it measures.
    Atomics.wait(nothing, 0, 0, restMs)
  }
  return latencies
}

/** Asks again as soon as an answer is there, on every connection, for `seconds`; returns the latencies in ms. */
export async function askInTurns(
  clients: readonly KeepAliveClient[],
  seconds: number,
  nextBody: () => string,
): Promise<number[]> {
  const endsAtMs = performance.now() + seconds * 1000
  const latencies: number[] = []
  const lane = (client: KeepAliveClient) =>
    new Promise<void>((resolve) => {
      const next = () => {
        const askedAtMs = performance.now()
        if (askedAtMs >= endsAtMs) return resolve()
        client.ask(nextBody(), () => {
          latencies.push(performance.now() - askedAtMs)
          next()
        })
      }
      next()
    })
  await Promise.all(clients.map(lane))
  return latencies
}
