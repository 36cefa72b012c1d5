/**
 * Load over HTTP on kept-alive connections, one request at a time on each. Owns sending, finding the end of an answer,
 * and timing. It only checks status and length of answers, so that one core of loader can saturate one core of server.
 * Contents are compared before a run.
 *
 * Each socket reads into its own buffer with a callback instead of a stream: 80,000 answers per second on one core,
 * compared with autocannon's 40,000.
 */
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

/** The endpoint under load. */
export interface Target {
  readonly host: string
  readonly port: number
  /** Path with its slash, and query. */
  readonly path: string
  /** Sent as `Accept-Encoding`. */
  readonly acceptEncoding?: string | undefined
}

/** Makes the body of the next request. It must be ASCII, because its length is counted in characters. */
export type NextBody = () => string

export interface LoadResult {
  readonly answers: number
  readonly seconds: number
}

/** Result of a run at a fixed rate. */
export interface TimedResult {
  /** Latency of each answer, in ms. */
  readonly latencies: readonly number[]
  /** The delay in ms between the due time of each request and its sending; part of its latency. */
  readonly lateness: readonly number[]
}

/** Bytes per read; larger answers need several. */
const readBytes = 65_536
const headEnd = Buffer.from('\r\n\r\n')
const chunksEnd = Buffer.from('0\r\n\r\n')
const noBytes: Buffer = Buffer.alloc(0)

/** Parses a URL. Throws RangeError for a protocol other than http. */
export function targetOf(url: string, acceptEncoding?: string): Target {
  const { hostname, port, pathname, search, protocol } = new URL(url)
  if (protocol !== 'http:') throw new RangeError(`${url}: expected an http URL`)
  const host = hostname.replace(/^\[|\]$/g, '')
  return { host, port: Number(port || 80), path: pathname + search, acceptEncoding }
}

/**
 * One connection. The run fails at any answer except 200, and if the server closes it before or within an answer.
 * Between two answers the server may close it: uWebSockets.js does so after 8 to 12 s. One connection of a round is
 * idle until all others have their last answer. A closed connection is opened again, and a request without any byte of
 * an answer is repeated.
 */
export class HttpConnection {
  /** Start of an answer with an incomplete head; for a chunked body, its last bytes so far. */
  #head: Buffer = noBytes
  #isChunked = false
  /** Remaining bytes of the answer; undefined before its head is complete. */
  #rest: number | undefined
  #onAnswer: (() => void) | undefined
  /** Body of the request whose answer is not complete. */
  #body: string | undefined
  #isClosed = false
  /** Undefined after the server has ended it between two answers. */
  #socket: Socket | undefined
  /** Whether the socket had an answer before. */
  #isUsed = false
  readonly #target: Target
  readonly #headStart: string
  readonly #onError: (error: Error) => void

  get isClosed(): boolean {
    return this.#isClosed
  }

  private constructor(target: Target, onError: (error: Error) => void) {
    this.#target = target
    this.#onError = onError
    const accepted =
      target.acceptEncoding === undefined ? '' : `accept-encoding: ${target.acceptEncoding}\r\n`
    this.#headStart =
      `POST ${target.path} HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\n` +
      `content-type: application/json\r\n${accepted}content-length: `
  }

  static async open(target: Target, onError: (error: Error) => void): Promise<HttpConnection> {
    const connection = new HttpConnection(target, onError)
    await connection.#connect()
    return connection
  }

  ask(body: string, onAnswer: () => void): void {
    this.#onAnswer = onAnswer
    this.#body = body
    if (this.#socket === undefined) this.#askAgain()
    else this.#write(this.#socket, body)
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.destroy()
  }

  #write(socket: Socket, body: string): void {
    socket.write(`${this.#headStart}${body.length}\r\n\r\n${body}`, 'latin1')
  }

  #connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const take = (length: number, buffer: Uint8Array): boolean => {
        if (this.#socket === socket) this.#take(length, buffer as Buffer)
        return true
      }
      const onread = { buffer: Buffer.allocUnsafe(readBytes), callback: take }
      const { host, port } = this.#target
      const socket = connect({ host, port, noDelay: true, onread })
      socket.once('connect', () => {
        this.#socket = socket
        this.#isUsed = false
        resolve(socket)
      })
      socket.on('error', (error) => {
        reject(error)
        this.#end(socket, error)
      })
      socket.on('close', () => this.#end(socket, new Error('the server closed a connection')))
    })
  }

  /** Takes the end of a socket by the server. */
  #end(socket: Socket, error: Error): void {
    if (this.#isClosed || this.#socket !== socket) return
    const isAmid = this.#rest !== undefined || (this.#body !== undefined && this.#head.length > 0)
    if (isAmid || !this.#isUsed) return this.#fail(error)
    this.#socket = undefined
    if (this.#body !== undefined) this.#askAgain()
  }

  #askAgain(): void {
    this.#connect().then(
      (socket) => {
        if (this.#isClosed) socket.destroy()
        else this.#write(socket, this.#body as string)
      },
      (error) => this.#fail(error),
    )
  }

  #fail(error: Error): void {
    if (this.#isClosed) return
    this.close()
    this.#onError(error)
  }

  #take(length: number, buffer: Buffer): void {
    if (this.#rest !== undefined) return this.#takeBody(length, buffer)
    let chunk = buffer.subarray(0, length)
    if (this.#head.length > 0) chunk = Buffer.concat([this.#head, chunk])
    const end = chunk.indexOf(headEnd)
    if (end === -1) {
      // The buffer is overwritten by the next read.
      this.#head = Buffer.from(chunk)
      return
    }
    this.#head = noBytes
    const head = chunk.toString('latin1', 0, end)
    if (!head.startsWith('HTTP/1.1 200')) return this.#fail(new Error(`answered ${head.split('\r\n')[0]}`))
    const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#isChunked = declared === undefined
    if (this.#isChunked && !/\r\ntransfer-encoding: *chunked/i.test(head)) {
      return this.#fail(new Error('an answer without a length'))
    }
    this.#rest = Number(declared ?? 0)
    const body = chunk.subarray(end + headEnd.length)
    this.#takeBody(body.length, body)
  }

  #takeBody(length: number, buffer: Buffer): void {
    if (this.#isChunked) {
      // One request at a time, so the end of an answer is the end of the received data.
      const tail = Buffer.concat([
        this.#head,
        buffer.subarray(Math.max(0, length - chunksEnd.length), length),
      ])
      this.#head = tail.subarray(-chunksEnd.length)
      if (!this.#head.equals(chunksEnd)) return
      this.#head = noBytes
    } else {
      this.#rest = (this.#rest as number) - length
      if (this.#rest > 0) return
    }
    this.#rest = undefined
    this.#body = undefined
    this.#isUsed = true
    const onAnswer = this.#onAnswer
    this.#onAnswer = undefined
    onAnswer?.()
  }
}

/** Opens connections, runs `load` on them and closes them. Rejects with the first error of any of them. */
export async function withConnections<T>(
  target: Target,
  count: number,
  load: (connections: readonly HttpConnection[]) => Promise<T>,
): Promise<T> {
  const connections: HttpConnection[] = []
  try {
    return await new Promise<T>((resolve, reject) => {
      const open = async () => {
        while (connections.length < count) connections.push(await HttpConnection.open(target, reject))
        return load(connections)
      }
      open().then(resolve, reject)
    })
  } finally {
    for (const connection of connections) connection.close()
  }
}

/**
 * Sends requests on every connection for `seconds`, each as soon as the previous answer has arrived. Never sleeps
 * between them. Waking a process on another core takes the kernel some 3 µs per answer, which counts as the server's
 * time. Only a server slower than the loader would pay for it.
 */
export async function saturate(
  connections: readonly HttpConnection[],
  seconds: number,
  next: NextBody,
): Promise<LoadResult> {
  const startedAtMs = performance.now()
  const endsAtMs = startedAtMs + seconds * 1000
  let answers = 0
  const lane = (connection: HttpConnection) =>
    new Promise<void>((resolve) => {
      const ask = () => {
        if (performance.now() >= endsAtMs) return resolve()
        connection.ask(next(), onAnswer)
      }
      const onAnswer = () => {
        answers++
        ask()
      }
      ask()
    })
  let isOver = false
  const stayAwake = () => {
    // {@link withConnections} closes all if one fails.
    if (!isOver && connections[0]?.isClosed === false) setImmediate(stayAwake)
  }
  stayAwake()
  await Promise.all(connections.map(lane))
  isOver = true
  return { answers, seconds: (performance.now() - startedAtMs) / 1000 }
}

/** Length of a part of a warm-up, and the number of parts without a gain that end it. */
const pieceSeconds = 0.5
const flatPieces = 3
const rateGainMin = 1.03
/** Page faults become ever rarer; below one in 50 answers they do not matter. */
const faultsGainMin = 1.1
const faultsMatterMin = 1 / 50

/**
 * Saturates until the rate stops rising and the page faults per answer stop falling, for at most `secondsMax`.
 * Compilation during execution takes from a second to half a minute; so does mapping a large store, 16 pages per
 * fault, into a new server.
 */
export async function warmUp(
  connections: readonly HttpConnection[],
  secondsMax: number,
  next: NextBody,
  pageFaults: () => number | undefined,
): Promise<void> {
  let best = 0
  let leastFaults = Number.POSITIVE_INFINITY
  let flat = 0
  // A piece lasts until its last answer, which may take seconds.
  for (let total = 0; total < secondsMax && flat < flatPieces; ) {
    const before = pageFaults() ?? 0
    const { answers, seconds } = await saturate(connections, Math.min(pieceSeconds, secondsMax), next)
    total += seconds
    const faults = Math.max(((pageFaults() ?? 0) - before) / answers, faultsMatterMin)
    const isGain = answers > best * rateGainMin || faults * faultsGainMin < leastFaults
    flat = isGain ? 0 : flat + 1
    best = Math.max(best, answers)
    leastFaults = Math.min(leastFaults, faults)
  }
}

/**
 * Sends `rate` requests per second for `seconds`, regardless of answers. Each latency is counted from the due time of
 * its request, so that a stall counts for all requests due in it (no coordinated omission).
 */
export async function askAtRate(
  connections: readonly HttpConnection[],
  rate: number,
  seconds: number,
  next: NextBody,
): Promise<TimedResult> {
  const total = Math.max(1, Math.floor(rate * seconds))
  const latencies: number[] = []
  const lateness: number[] = []
  // In rotation, so that the server closes no idle one.
  const free = [...connections]
  const startedAtMs = performance.now()
  let due = 0
  while (latencies.length < total) {
    const now = performance.now()
    while (due < total && free.length > 0) {
      const dueAtMs = startedAtMs + (due * 1000) / rate
      if (dueAtMs > now) break
      due++
      lateness.push(performance.now() - dueAtMs)
      const connection = free.shift() as HttpConnection
      connection.ask(next(), () => {
        latencies.push(performance.now() - dueAtMs)
        free.push(connection)
      })
    }
    // Busy waiting, because timers have a resolution of 1 ms; the loader has a core of its own.
    await new Promise(setImmediate)
    // A closed connection means that {@link withConnections} has already rejected.
    if (connections.some(({ isClosed }) => isClosed)) break
  }
  return { latencies, lateness }
}
