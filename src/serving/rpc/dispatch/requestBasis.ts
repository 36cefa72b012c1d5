/**
 * The block from which the calls of a request are answered. It is the head at the request's arrival, or the pinned
 * block of the request or the call. Owns the form of a pin; the network owns the views.
 */

import { bytesToHex, hexToBytes, toHash32 } from '../../../primitives/bytes.js'
import { excerpt } from '../../../primitives/excerpt.js'
import { typeName } from '../../../primitives/jsonType.js'
import type { Trust } from '../answers/answer.js'
import { Failure } from '../answers/outcome.js'
import { doAround } from '../contexts/requestSlices.js'
import type { NetworkViews, RpcNetwork } from '../method.js'

const hashPattern = /^0[xX][0-9a-fA-F]{64}$/

/** Maximum length of a pin in an error message: a hash and a little more. */
const quotedPinMax = 80

export class RequestBasis<N extends RpcNetwork> {
  /** The view at the head when the request arrived. */
  readonly arrived: N
  readonly #views: NetworkViews<N>
  readonly #at: string | undefined
  #trust: Trust | undefined
  /**
   * The view for calls without a pin of their own, after the first lookup; a failure if the request's pin is invalid.
   */
  #shared: N | Failure | undefined
  /** Pins of calls, as written → their view, so that equal pins of a batch share one view. */
  #pins: Map<string, N | Failure> | undefined

  constructor(views: NetworkViews<N>, at: string | undefined) {
    this.#views = views
    this.arrived = views.current
    this.#at = at
    if (at === undefined) this.#shared = this.arrived
  }

  /** The view for a call with this `at`. Throws NotHeldError if the block is not stored. */
  find(at: unknown): N | Failure {
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
   * Wraps `run` so that reads of data that is not proved are noted, also in its later turns. A job's other reads belong
   * to the data that `run` named.
   */
  noting<T>(run: () => T): () => T {
    const { readFaith } = this.#views
    if (readFaith === undefined) return run
    const note = <R>(piece: () => R): R => {
      readFaith()
      try {
        return piece()
      } finally {
        const faith = readFaith()
        if (faith !== 'proved') this.noteTrust(faith)
      }
    }
    return () => doAround(note, run)
  }

  /** The view from which a call with this `at` member was answered. */
  used(at: unknown): N {
    const found = at === undefined ? this.#findShared() : this.#pins?.get(at as string)
    return found === undefined || found instanceof Failure ? this.arrived : found
  }

  /** The view of the request's own pin, even if no call needed it; undefined if it cannot be read. */
  #findShared(): N | Failure | undefined {
    try {
      return this.find(undefined)
    } catch {
      return undefined
    }
  }

  /** The hash that the answer names as `at`; undefined without a pin or with an invalid one. */
  hashOf(at: unknown): string | undefined {
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
    return (hash && this.#views.pinned(hash)) ?? Failure.of({ kind: 'HeaderForHashNotFound' })
  }
}

function invalidPin(got: string): Failure {
  return Failure.of({ kind: 'InvalidPin', got })
}
