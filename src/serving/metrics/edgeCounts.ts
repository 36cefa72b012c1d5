/**
 * Counts of one edge, in memory that all threads share. Only the edge writes its part. The main thread reads all parts
 * when metrics are read. Owns the layout. A count is one addition to an array of numbers, so that a stored answer is
 * counted in some nanoseconds. `metrics.ts` makes names, labels and samples.
 */
import { bucketOf, durationBuckets } from '../../primitives/durationBuckets.js'
import { type RefusalReason, refusalReasonNames } from '../../primitives/refusalReasons.js'

/** Upper bounds of answers are powers of four, from 64 bytes to 64 MiB, and one bucket for longer ones. */
const firstSizePower = 3
const lastSizePower = 13
export const sizeBuckets = lastSizePower - firstSizePower + 2

/** Upper bound of a bucket of sizes, in bytes; undefined for the last one, which has none. */
export function bucketBytes(bucket: number): number | undefined {
  return bucket === sizeBuckets - 1 ? undefined : 4 ** (firstSizePower + bucket)
}

function sizeBucketOf(bytes: number): number {
  const power = bytes <= 1 ? 0 : (33 - Math.clz32(bytes - 1)) >> 1
  return Math.min(Math.max(power - firstSizePower, 0), sizeBuckets - 1)
}

/**
 * One in this many calls without a job is timed, and counts as this many. Two readings of the clock take up to a tenth
 * of the time of such a call. Calls that wait for a job are all timed.
 */
const timedOneIn = 16
/**
 * Like {@link timedOneIn}, but for stored answers to single calls, which take still less (scenario `slot-cached`).
 * Stored answers in a batch are looked up before any call of it runs, and not timed.
 */
export const storedTimedOneIn = 64

/** Unknown method names share one slot; so do error codes that are not listed. */
export const other = 'other'

/** Codes of JSON-RPC errors; a sequencer may send further ones. */
export const errorCodes: readonly number[] = [
  -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004, -32005, 3, 29, 4444,
]

/** Names of {@link MethodCounts.errors}, in their order. */
export const errorNames: readonly string[] = [...errorCodes.map(String), other]

const figureNames = [
  /** Time of publishing, in milliseconds since 1970. */
  'atMs',
  /** CPU time of the edge's thread; 0 if the system does not report it. */
  'cpuSeconds',
  'heapBytes',
  'connections',
  'subscriptions',
  /** Events skipped for slow readers since the start. */
  'skippedEvents',
  /** Caches of rendered blocks and receipts, and of proofs, of all networks: lookups since the start, and bytes. */
  'blockHits',
  'blockMisses',
  'blockBytes',
  'proofHits',
  'proofMisses',
  'proofBytes',
  'copyBytes',
] as const

/** Figures that an edge publishes from time to time; see {@link EdgeCounts.publish}. */
export type EdgeFigures = Readonly<Record<(typeof figureNames)[number], number>>

/** Counts of one method on one network. */
export interface MethodCounts {
  readonly network: string
  readonly method: string
  readonly calls: number
  /** Number of calls that got a stored answer. */
  readonly repeated: number
  readonly failed: number
  readonly durationSeconds: number
  /** Durations by bucket, not cumulative. */
  readonly durations: readonly number[]
  readonly answerBytes: number
  readonly sizes: readonly number[]
  /** Errors by {@link errorCodes}, other codes last. */
  readonly errors: readonly number[]
}

const callsAt = 0
const repeatedAt = 1
const usAt = 2
const bytesAt = 3
const failedAt = 4
const durationsAt = 5
const sizesAt = durationsAt + durationBuckets
const errorsAt = sizesAt + sizeBuckets
/** Words of one method on one network: half a kilobyte, so that ten networks take 1 MB for each edge. */
const methodWords = errorsAt + errorCodes.length + 1

/** Names of networks if usage does not distinguish them. */
const oneNetwork: readonly string[] = ['']

export class EdgeCounts {
  readonly #methods: readonly string[]
  readonly #slots: ReadonlyMap<string, number>
  readonly #otherSlot: number
  readonly #networks: readonly string[]
  /** Words of all methods on one network. */
  readonly #networkWords: number
  readonly #words: Float64Array
  readonly #rejectionsAt: number
  readonly #delaysAt: number
  readonly #figuresAt: number
  /** The last method looked up, because it often repeats. */
  #lastMethod: string | undefined
  #lastSlot = 0
  #untimed = 0
  #untimedStored = 0

  /**
   * Counts of edge number `edge`, from 0, in memory from {@link allotCounts}; `methods` and `networks` are the same on
   * every edge.
   */
  constructor(
    memory: SharedArrayBuffer,
    methods: readonly string[],
    edge: number,
    networks: readonly string[] = oneNetwork,
  ) {
    this.#methods = methods
    this.#slots = new Map(methods.map((name, index) => [name, index * methodWords]))
    this.#otherSlot = methods.length * methodWords
    this.#networks = networks
    this.#networkWords = this.#otherSlot + methodWords
    this.#rejectionsAt = this.#networkWords * networks.length
    this.#delaysAt = this.#rejectionsAt + refusalReasonNames.length
    this.#figuresAt = this.#delaysAt + durationBuckets + 1
    const words = this.#figuresAt + figureNames.length
    this.#words = new Float64Array(memory, edge * words * 8, words)
  }

  static bytesFor(methods: number, networks = 1): number {
    const rest = refusalReasonNames.length + durationBuckets + 1
    return ((methods + 1) * methodWords * networks + rest + figureNames.length) * 8
  }

  /** Offset of this network's slots of methods; an unlisted network counts as the first. */
  slotsFrom(network: string): number {
    return Math.max(this.#networks.indexOf(network), 0) * this.#networkWords
  }

  /** The slot that counts a method on the first network; one slot for all unknown ones. */
  slotOf(method: string): number {
    if (method !== this.#lastMethod) {
      this.#lastMethod = method
      this.#lastSlot = this.#slots.get(method) ?? this.#otherSlot
    }
    return this.#lastSlot
  }

  methodAt(slot: number): string {
    return this.#methods[(slot % this.#networkWords) / methodWords] ?? other
  }

  /** The start time of a request with a possibly stored answer, for {@link repeated}; 0 if it is not timed. */
  beginStored(): number {
    return this.#untimedStored < storedTimedOneIn - 1 ? 0 : performance.now()
  }

  /** Counts a call that a stored answer answered. `startedMs` is that of {@link beginStored}; undefined in a batch. */
  repeated(slot: number, bytes: number, startedMs?: number): void {
    const words = this.#words
    ;(words[slot + callsAt] as number) += 1
    ;(words[slot + repeatedAt] as number) += 1
    ;(words[slot + bytesAt] as number) += bytes
    ;(words[slot + sizesAt + sizeBucketOf(bytes)] as number) += 1
    if (startedMs === undefined) return
    if (startedMs === 0) this.#untimedStored++
    else {
      this.#untimedStored = 0
      this.#timed(slot, performance.now() - startedMs, storedTimedOneIn)
    }
  }

  /** The start time of a call, for {@link ended}; 0 if it is not timed. */
  begin(isJob: boolean): number {
    if (isJob) return performance.now()
    if (++this.#untimed < timedOneIn) return 0
    this.#untimed = 0
    return performance.now()
  }

  /**
   * Counts a call that began at `startedMs` and ended with a result of this many bytes (undefined if unknown), or with
   * an error code. Returns its duration in milliseconds, 0 if it was not timed.
   */
  ended(
    slot: number,
    isJob: boolean,
    startedMs: number,
    bytes: number | undefined,
    errorCode?: number | undefined,
  ): number {
    const words = this.#words
    ;(words[slot + callsAt] as number) += 1
    const ms = startedMs === 0 ? 0 : performance.now() - startedMs
    if (startedMs !== 0) this.#timed(slot, ms, isJob ? 1 : timedOneIn)
    if (bytes !== undefined) {
      ;(words[slot + bytesAt] as number) += bytes
      ;(words[slot + sizesAt + sizeBucketOf(bytes)] as number) += 1
    }
    if (errorCode === undefined) return ms
    ;(words[slot + failedAt] as number) += 1
    const at = errorCodes.indexOf(errorCode)
    ;(words[slot + errorsAt + (at === -1 ? errorCodes.length : at)] as number) += 1
    return ms
  }

  /** Counts a request that was refused before a method was called. */
  rejected(reason: RefusalReason): void {
    ;(this.#words[this.#rejectionsAt + refusalReasonNames.indexOf(reason)] as number) += 1
  }

  /** Counts a timer of the event loop that was late by `ms`. */
  delayed(ms: number): void {
    ;(this.#words[this.#delaysAt + bucketOf(ms * 1_000)] as number) += 1
    ;(this.#words[this.#delaysAt + durationBuckets] as number) += ms / 1_000
  }

  /** Sets all counts and figures to zero. */
  clear(): void {
    this.#words.fill(0)
    this.#untimed = 0
    this.#untimedStored = 0
  }

  publish(figures: EdgeFigures): void {
    for (const [index, name] of figureNames.entries()) this.#words[this.#figuresAt + index] = figures[name]
  }

  get figures(): EdgeFigures {
    const read = (name: keyof EdgeFigures) => this.#word(this.#figuresAt + figureNames.indexOf(name))
    return Object.fromEntries(figureNames.map((name) => [name, read(name)])) as EdgeFigures
  }

  readMethods(): MethodCounts[] {
    return this.#networks.flatMap((network) => this.#readNetwork(network))
  }

  #readNetwork(network: string): MethodCounts[] {
    const from = this.slotsFrom(network)
    return [...this.#methods, other].flatMap((method, index) => {
      const slot = from + index * methodWords
      const calls = this.#word(slot + callsAt)
      if (calls === 0) return []
      return {
        network,
        method,
        calls,
        repeated: this.#word(slot + repeatedAt),
        failed: this.#word(slot + failedAt),
        durationSeconds: this.#word(slot + usAt) / 1e6,
        durations: this.#range(slot + durationsAt, durationBuckets),
        answerBytes: this.#word(slot + bytesAt),
        sizes: this.#range(slot + sizesAt, sizeBuckets),
        errors: this.#range(slot + errorsAt, errorCodes.length + 1),
      }
    })
  }

  /** Error code, or `other` → number of errors, of all networks and methods. */
  readErrors(): Map<string, number> {
    const cells = this.readMethods()
    const countOf = (at: number) => cells.reduce((sum, { errors }) => sum + (errors[at] ?? 0), 0)
    return new Map(errorNames.map((code, at) => [code, countOf(at)]))
  }

  /** Reason → number of requests. */
  readRejections(): Map<string, number> {
    return new Map(refusalReasonNames.map((reason, at) => [reason, this.#word(this.#rejectionsAt + at)]))
  }

  /** Delays of the event loop by bucket, not cumulative, and their sum in seconds. */
  readDelays(): { readonly buckets: readonly number[]; readonly seconds: number } {
    return {
      buckets: this.#range(this.#delaysAt, durationBuckets),
      seconds: this.#word(this.#delaysAt + durationBuckets),
    }
  }

  /** Counts a duration that represents this many calls. */
  #timed(slot: number, ms: number, calls: number): void {
    const us = ms * 1_000
    ;(this.#words[slot + usAt] as number) += us * calls
    ;(this.#words[slot + durationsAt + bucketOf(us)] as number) += calls
  }

  #word(at: number): number {
    return this.#words[at] as number
  }

  #range(at: number, length: number): number[] {
    return [...this.#words.subarray(at, at + length)]
  }
}

/** Memory for the counts of this many edges that serve these methods on these networks. */
export function allotCounts(
  methods: readonly string[],
  edges: number,
  networks: readonly string[] = oneNetwork,
): SharedArrayBuffer {
  return new SharedArrayBuffer(edges * EdgeCounts.bytesFor(methods.length, networks.length))
}
