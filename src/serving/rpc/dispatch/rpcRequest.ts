/**
 * A request while it is answered: its caller, the block of each call, the trust of the answers, and the data that a call
 * lacks. The block is the head at the request's arrival, or the pinned block of the request or the call. Owns the form
 * of a pin, and how often a call runs again; the network owns the views, and fetches.
 */

import { bytesToHex, hexToBytes, toHash32 } from '../../../primitives/bytes.js'
import { type FaultError, messageRefused } from '../../../primitives/faults.js'
import { excerpt, typeName } from '../../../primitives/jsonType.js'
import { NotStoredError, type WantingCall } from '../../../primitives/notStored.js'
import type { Trust } from '../answers/answer.js'
import { Failure } from '../answers/outcome.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { doAround, type RequestSlices } from '../contexts/requestSlices.js'
import type { NetworkViews, RpcNetwork } from '../method.js'

const hashPattern = /^0[xX][0-9a-fA-F]{64}$/

/** Maximum length of a pin in an error message: a hash and a little more. */
const quotedPinMax = 80

/** Maximum fetches for one call before it fails: the number of keys of the longest proof, and some more. */
export const fetchesMax = 2_000

export class RpcRequest<N extends RpcNetwork> {
  /** The view at the head when the request arrived. */
  readonly arrived: N
  /** Undefined for a short call, which begins its turns only when it waits. */
  turns: RequestSlices | undefined
  readonly #at: string | undefined
  #trust: Trust | undefined
  /**
   * The view for calls without a pin of their own, after the first lookup; a failure if the request's pin is invalid.
   */
  #shared: N | Failure | undefined
  /** Pins of calls, as written → their view, so that equal pins of a batch share one view. */
  #pins: Map<string, N | Failure> | undefined

  /** `at` is the pin of the whole request. */
  constructor(
    readonly views: NetworkViews<N>,
    readonly context: RequestContext,
    at: string | undefined,
  ) {
    this.arrived = views.current
    this.turns = undefined
    this.#at = at
    if (at === undefined) this.#shared = this.arrived
  }

  /** The view for a call with this `at`. Throws NotStoredError if the block is not stored. */
  viewAt(at: unknown): N | Failure {
    if (at === undefined) {
      this.#shared ??= this.#pin(this.#at as string)
      return this.#shared
    }
    if (typeof at !== 'string') return invalidPin(typeName(at))
    const known = this.#pins?.get(at)
    if (known !== undefined) return known
    const found = this.#pin(at)
    this.#pins ??= new Map()
    this.#pins.set(at, found)
    return found
  }

  isPinned(at: unknown): boolean {
    return this.#at !== undefined || at !== undefined
  }

  /** The weakest trust of the answers; undefined if all are proved. */
  get trust(): Trust | undefined {
    return this.#trust
  }

  noteTrust(trust: Trust): void {
    if (this.#trust !== 'none') this.#trust = trust
  }

  /**
   * Wraps `run` to note reads of unproved data, also in its later turns. A job's other reads belong to the data that
   * `run` named.
   */
  noting<T>(run: () => T): () => T {
    const { readEvidence } = this.views
    if (readEvidence === undefined) return run
    const note = <R>(piece: () => R): R => {
      readEvidence()
      try {
        return piece()
      } finally {
        const evidence = readEvidence()
        if (evidence !== 'proved') this.noteTrust(evidence)
      }
    }
    return () => doAround(note, run)
  }

  /**
   * Runs `run`, which only reads, and again each time the network has fetched data that it lacked. Throws the last error
   * of `run`.
   */
  withFetches<T>(call: WantingCall, run: () => T | Promise<T>): T | Promise<T> {
    if (this.views.fetchMissing === undefined) return run()
    const again = async (thrown: unknown, round: number): Promise<T> => {
      if (round === fetchesMax && thrown instanceof NotStoredError) throw lacksTooMuch()
      const fetched = this.context.isFinished ? undefined : this.fetch(thrown, round === 0 ? call : undefined)
      if (fetched === undefined) throw thrown
      await fetched
      try {
        return await run()
      } catch (next) {
        return again(next, round + 1)
      }
    }
    try {
      const result = run()
      return result instanceof Promise ? result.catch((thrown) => again(thrown, 0)) : result
    } catch (thrown) {
      if (!(thrown instanceof NotStoredError)) throw thrown
      return again(thrown, 0)
    }
  }

  /** Fetches missing data; undefined if `thrown` is another error, or the network cannot fetch. */
  fetch(thrown: unknown, call?: WantingCall): Promise<void> | undefined {
    if (!(thrown instanceof NotStoredError)) return undefined
    return this.views.fetchMissing?.(thrown.wanted, this.context, call)
  }

  /** The view from which a call with this `at` member was answered. */
  usedAt(at: unknown): N {
    const found = at === undefined ? this.#findShared() : this.#pins?.get(at as string)
    return found === undefined || found instanceof Failure ? this.arrived : found
  }

  /** The view of the request's own pin, even if no call needed it; undefined if it cannot be read. */
  #findShared(): N | Failure | undefined {
    try {
      return this.viewAt(undefined)
    } catch {
      return undefined
    }
  }

  /** The hash that the answer names as `at`; undefined without a pin or with an invalid one. */
  hashAt(at: unknown): string | undefined {
    if (at === undefined) return undefined
    const found = this.#pins?.get(at as string)
    return found === undefined || found instanceof Failure
      ? undefined
      : found.head.hash && bytesToHex(found.head.hash)
  }

  #pin(at: string): N | Failure {
    const isLatest = at === 'latest'
    if (!isLatest && !hashPattern.test(at)) {
      return invalidPin(JSON.stringify(excerpt(at, quotedPinMax)))
    }
    const hash = isLatest ? this.arrived.head.hash : toHash32(hexToBytes(at.slice(2)))
    return (hash && this.views.pinned(hash)) ?? Failure.of({ kind: 'HeaderForHashNotFound' })
  }
}

function invalidPin(got: string): Failure {
  return Failure.of({ kind: 'InvalidPin', got })
}

/** The fault of a call that needs more than {@link fetchesMax} fetches. */
function lacksTooMuch(): FaultError {
  const why = `this network fetches at most ${fetchesMax} accounts, slots and the like for one call, and this one needs more; ask for less at once`
  return messageRefused(why)
}
