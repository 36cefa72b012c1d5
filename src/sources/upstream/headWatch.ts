import { pause } from '../../primitives/deferred.js'
import { setTimeout } from '../../primitives/timers.js'
import { BlockPace } from './blockPace.js'
import { NoSocketError, SocketLine } from './socketLine.js'
import type { Upstream } from './upstream.js'

/** The newest block that a node reports. Unproved. */
export interface HeadClaim {
  readonly number: number
  /** Lower-case hex, as is {@link parentHash}. */
  readonly hash: string
  readonly parentHash: string
}

/** Time between two checks whether a subscription has fallen silent, which happens without an error. */
const pollMsBesideSocket = 4_000
/** After this number of block intervals without a head, a subscription may have fallen silent. */
const silentBlocks = 1.5
/**
 * Maximum time without a poll because a head is being fetched: a newer head would have to wait for it. A node that is
 * not polled for longer loses its vote.
 */
const takingMsMax = 4_000
/** Time between two attempts to subscribe; a lost socket is first retried after a poll. */
const socketMs = 30_000

interface HeadWatchOptions {
  /** Time between two polls of a node without a WebSocket, if its blocks do not come at regular times. */
  readonly pollMs: number
  /** `blockMs`: see {@link BlockPace.intervalMs}. Resolves once the head is stored, or failed to be. */
  readonly onHead: (claim: HeadClaim, blockMs: number | undefined) => Promise<void>
  /** Takes a sentence for the operator. */
  readonly log: (text: string) => void
}

/**
 * Learns a node's head: by `eth_subscribe` if it has a WebSocket, otherwise by polling. It also polls beside a
 * subscription, but rarely.
 */
export class HeadWatch {
  readonly #upstream: Upstream
  readonly #options: HeadWatchOptions
  readonly #pace: BlockPace
  #socket: SocketLine | undefined
  #isStarted = false
  #isSubscribed = false
  /** Whether the operator was informed that no WebSocket of the node was found. */
  #isAskedToPoll = false
  #isClosed = false
  /** Whether a turn is running; it sets the timer at its end. */
  #isTurning = false
  #timer: NodeJS.Timeout | undefined
  #nextTryAt = 0
  /** The result of {@link HeadWatchOptions.onHead} for the last claim. */
  #taking: Promise<void> | undefined
  /** Ends the wait for it. */
  readonly #ending = new AbortController()
  /** Time of the last event of the subscription, in the time of `performance.now()`. */
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(upstream: Upstream, options: HeadWatchOptions) {
    this.#upstream = upstream
    this.#options = options
    this.#pace = new BlockPace(options.pollMs)
  }

  /** Starts once; later calls do nothing. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    void this.#turn()
  }

  /** Polls now. Resolves when the poll is done, with an answer or without. */
  async poll(): Promise<void> {
    const { timeoutMs } = this.#upstream.options
    try {
      const deadline = performance.now() + timeoutMs
      this.#take(await this.#upstream.askUnchecked('eth_getBlockByNumber', ['latest', false], deadline))
    } catch {
      // The node's score counts the failure; the next poll asks again.
    }
  }

  close(): void {
    this.#isClosed = true
    this.#ending.abort()
    clearTimeout(this.#timer)
    this.#socket?.close()
  }

  async #turn(): Promise<void> {
    this.#isTurning = true
    const sentMs = performance.now()
    await this.#look()
    await this.#untilTaken()
    this.#isTurning = false
    if (this.#isClosed) return
    this.#wait(this.#isSubscribed ? pollMsBesideSocket : this.#pace.waitMs(sentMs, performance.now()))
  }

  async #untilTaken(): Promise<void> {
    const waiting = new AbortController()
    const signal = AbortSignal.any([waiting.signal, this.#ending.signal])
    await Promise.race([this.#taking, pause(takingMsMax, signal)])
    waiting.abort()
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#turn(), ms)
  }

  /** Polls, and subscribes if that is due. Never rejects. */
  async #look(): Promise<void> {
    // A subscription with recent events has not fallen silent.
    const silentMs = Math.max(pollMsBesideSocket, silentBlocks * (this.#pace.intervalMs ?? 0))
    const isReported = this.#isSubscribed && performance.now() - this.#reportedAt < silentMs
    if (!isReported) await this.poll()
    if (this.#isClosed || this.#isSubscribed || this.#upstream.policy.isAnswering !== true) return
    if (performance.now() < this.#nextTryAt) return
    this.#nextTryAt = performance.now() + socketMs
    await this.#subscribe()
  }

  async #subscribe(): Promise<void> {
    for (const url of socketUrls(this.#upstream)) {
      const { headers = {}, answerBytesMax, timeoutMs, proxy } = this.#upstream.options
      const socket = new SocketLine({
        url,
        headers,
        answerBytesMax,
        proxy,
        onNotification: (params) => {
          this.#reportedAt = performance.now()
          this.#take((params as { readonly result?: unknown } | undefined)?.result)
        },
        onLost: () => this.#lose(),
      })
      try {
        await socket.open()
        const call = { id: 1, method: 'eth_subscribe', params: ['newHeads'] }
        const answer = await socket.exchange([call], AbortSignal.timeout(timeoutMs))
        if (typeof (answer as { readonly result?: unknown }).result !== 'string') throw new NoSocketError()
        if (this.#isClosed) return socket.close()
        this.#socket = socket
        this.#isSubscribed = true
        // A block may have arrived between the last poll and the subscription.
        return await this.poll()
      } catch (error) {
        socket.close()
        if (!(error instanceof NoSocketError)) return
      }
    }
    if (this.#isAskedToPoll || this.#isClosed) return
    this.#isAskedToPoll = true
    this.#options.log(
      `upstream ${this.#upstream.name} has no WebSocket where one was looked for, so it is asked for its heads again and again; if it has one, name it as socketUrl of this upstream`,
    )
  }

  #lose(): void {
    this.#isSubscribed = false
    this.#nextTryAt = 0
    if (!this.#isClosed && !this.#isTurning) this.#wait(this.#options.pollMs)
  }

  #take(block: unknown): void {
    if (this.#isClosed) return
    const claim = readClaim(block)
    if (claim === undefined) return
    this.#pace.note(claim.number, performance.now(), readTimestamp(block))
    this.#taking = this.#options.onHead(claim, this.#pace.intervalMs)
  }
}

/** Possible addresses of a node's WebSocket. Only their operators know those of geth and of hosted nodes. */
function socketUrls({ options: { url, socketUrl } }: Upstream): URL[] {
  if (socketUrl !== undefined) return [new URL(socketUrl)]
  if (!url.startsWith('http')) return [new URL(url)]
  const same = new URL(url)
  same.protocol = same.protocol === 'https:' ? 'wss:' : 'ws:'
  // anvil and reth serve both at one address, Tidegate its sockets at `/ws`. With a key, Tidegate and a large hosted
  // service use `/ws/v3/KEY` beside `/v3/KEY`.
  const path = same.pathname.replace(/\/$/, '')
  const keyed = /\/v3\/[^/]+$/
  const paths = [path, keyed.test(path) ? path.replace(keyed, '/ws$&') : `${path}/ws`]
  return paths.map((each) => Object.assign(new URL(same), { pathname: each }))
}

/** The claim of a header; undefined if the block is no header. */
function readClaim(block: unknown): HeadClaim | undefined {
  const { number, hash, parentHash } = (block ?? {}) as Record<string, unknown>
  if (!isHex(number) || !isHex(hash) || !isHex(parentHash)) return undefined
  const value = Number(number)
  if (!Number.isSafeInteger(value) || hash.length !== 66 || parentHash.length !== 66) return undefined
  return { number: value, hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase() }
}

/** The timestamp of a block in seconds; undefined if it has none. */
function readTimestamp(block: unknown): number | undefined {
  const { timestamp } = (block ?? {}) as Record<string, unknown>
  return isHex(timestamp) ? Number(timestamp) : undefined
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value)
}
