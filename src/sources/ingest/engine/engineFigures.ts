/** Counts the calls of a consensus client by method and outcome, and the time of its blocks. */
import { bucketOf, durationBuckets } from '../../../primitives/durationBuckets.js'
import type { Json } from './engineFields.js'

/** Counts of all methods that are not served. */
const otherMethod = 'other'

/** Blocks between the store and the chosen head. */
export interface GapFigures {
  /** Number of the chosen head. */
  readonly head: number
  /** Blocks that nodes have sent since this gap was found. */
  readonly fetched: number
  readonly executed: number
  /** Blocks that are not executed. */
  readonly left: number
}

/** Calls of a consensus client since the start. */
export interface EngineFigures {
  /** `outcome`: the status of a payload, `ok`, or the code of an error. */
  readonly calls: readonly { readonly method: string; readonly outcome: string; readonly count: number }[]
  /** Time of the last call, in milliseconds since 1970; undefined before the first one. */
  readonly calledAtMs: number | undefined
  /** Time since when it counts as silent, in milliseconds since 1970; undefined while it calls. */
  readonly silentSinceMs: number | undefined
  /** Calls of `newPayload` by their time (primitives/durationBuckets.ts), and its sum. */
  readonly payloads: { readonly buckets: readonly number[]; readonly seconds: number }
  /** Undefined if the chosen head is stored. */
  readonly gap: GapFigures | undefined
}

export class CallCounts {
  readonly #isServed: (method: string) => boolean
  readonly #calls = new Map<string, { method: string; outcome: string; count: number }>()
  readonly #buckets = new Array<number>(durationBuckets).fill(0)
  #seconds = 0

  /** Methods that are not served are counted together, so that a client cannot add names. */
  constructor(isServed: (method: string) => boolean) {
    this.#isServed = isServed
  }

  /** Counts a call with its answer, `result` or `error`, and the time from its arrival. */
  add(method: string, answer: Json, ms: number): void {
    const name = this.#isServed(method) ? method : otherMethod
    const outcome = outcomeOf(answer)
    const key = `${name} ${outcome}`
    const counted = this.#calls.get(key) ?? { method: name, outcome, count: 0 }
    counted.count++
    this.#calls.set(key, counted)
    if (!name.startsWith('engine_newPayload')) return
    ;(this.#buckets[bucketOf(ms * 1_000)] as number) += 1
    this.#seconds += ms / 1_000
  }

  read(): Pick<EngineFigures, 'calls' | 'payloads'> {
    return {
      calls: [...this.#calls.values()].map(({ method, outcome, count }) => ({ method, outcome, count })),
      payloads: { buckets: [...this.#buckets], seconds: this.#seconds },
    }
  }
}

function outcomeOf({ result, error }: Json): string {
  if (error !== undefined) return String((error as { readonly code: number }).code)
  const { status, payloadStatus } = (result ?? {}) as {
    readonly status?: string
    readonly payloadStatus?: { readonly status: string }
  }
  return payloadStatus?.status ?? status ?? 'ok'
}
