import { setTimeout } from '../../primitives/timers.js'
import { BlockPace } from './blockPace.js'
import { NoSocketError, SocketLine } from './socketLine.js'
import type { Upstream } from './upstream.js'

/** What a node says its newest block is. Unproved. */
export interface HeadClaim {
  readonly number: number
  /** Lower-case hex, as is {@link parentHash}. */
  readonly hash: string
  readonly parentHash: string
}

/** Time between two looks whether a subscription has fallen silent, which it may without an error. */
const pollMsBesideSocket = 4_000
/** Intervals between blocks without one after which it may have. */
const silentBlocks = 1.5
/** Time between two attempts to subscribe; a socket that was lost is first tried again after a poll. */
const socketMs = 30_000

interface HeadWatchOptions {
  /** Time between two polls of a node without a WebSocket whose blocks come at no regular times. */
  readonly pollMs: number
  /** `blockMs`: see {@link BlockPace.intervalMs}. */
  readonly onHead: (claim: HeadClaim, blockMs: number | undefined) => void
  /** Takes a sentence for the operator. */
  readonly log: (text: string) => void
}

/**
 * Learns a node's head: by `eth_subscribe` where it has a WebSocket, by polling otherwise, and seldom also beside a
 * subscription.
 */
export class HeadWatch {
  readonly #upstream: Upstream
  readonly #options: HeadWatchOptions
  readonly #pace: BlockPace
  #socket: SocketLine | undefined
  #isStarted = false
  #isSubscribed = false
  /** Whether the operator was told that the node has no WebSocket that was found. */
  #isToldToPoll = false
  #isClosed = false
  /** Whether a turn is under way, which sets the timer at its end. */
  #isTurning = false
  #timer: NodeJS.Timeout | undefined
  #nextTryAt = 0
  /** When it was told of a head last, in the time of `performance.now()`. */
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(upstream: Upstream, options: HeadWatchOptions) {
    this.#upstream = upstream
    this.#options = options
    this.#pace = new BlockPace(options.pollMs)
  }

  /** Begins, unless it has. */
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
      this.#take(await this.#upstream.ask('eth_getBlockByNumber', ['latest', false], deadline))
    } catch {
      // The node's standing has it; the next poll asks again.
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#socket?.close()
  }

  async #turn(): Promise<void> {
    this.#isTurning = true
    const sentMs = performance.now()
    await this.#look()
    this.#isTurning = false
    if (this.#isClosed) return
    this.#wait(this.#isSubscribed ? pollMsBesideSocket : this.#pace.waitMs(sentMs, performance.now()))
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#turn(), ms)
  }

  /** Polls, and subscribes where that is due. Never rejects. */
  async #look(): Promise<void> {
    // A subscription that tells of heads has not fallen silent.
    const silentMs = Math.max(pollMsBesideSocket, silentBlocks * (this.#pace.intervalMs ?? 0))
    const isTold = this.#isSubscribed && performance.now() - this.#toldAt < silentMs
    if (!isTold) await this.poll()
    if (this.#isClosed || this.#isSubscribed || this.#upstream.isAnswering !== true) return
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
          this.#toldAt = performance.now()
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
        // A block may have come between the last poll and the subscription.
        return await this.poll()
      } catch (error) {
        socket.close()
        if (!(error instanceof NoSocketError)) return
      }
    }
    if (this.#isToldToPoll || this.#isClosed) return
    this.#isToldToPoll = true
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
    this.#pace.note(claim.number, performance.now())
    this.#options.onHead(claim, this.#pace.intervalMs)
  }
}

/** Addresses at which a node may have a WebSocket. geth's and hosted nodes' are known to nobody but their operator. */
function socketUrls({ options: { url, socketUrl } }: Upstream): URL[] {
  if (socketUrl !== undefined) return [new URL(socketUrl)]
  if (!url.startsWith('http')) return [new URL(url)]
  const same = new URL(url)
  same.protocol = same.protocol === 'https:' ? 'wss:' : 'ws:'
  // anvil and reth serve both at one address, Tidegate its sockets at `/ws`, and with a key, as a large host does, at
  // `/ws/v3/KEY` beside `/v3/KEY`.
  const path = same.pathname.replace(/\/$/, '')
  const keyed = /\/v3\/[^/]+$/
  const paths = [path, keyed.test(path) ? path.replace(keyed, '/ws$&') : `${path}/ws`]
  return paths.map((each) => Object.assign(new URL(same), { pathname: each }))
}

/** Undefined where it is no header. */
function readClaim(block: unknown): HeadClaim | undefined {
  const { number, hash, parentHash } = (block ?? {}) as Record<string, unknown>
  if (!isHex(number) || !isHex(hash) || !isHex(parentHash)) return undefined
  const value = Number(number)
  if (!Number.isSafeInteger(value) || hash.length !== 66 || parentHash.length !== 66) return undefined
  return { number: value, hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase() }
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value)
}
