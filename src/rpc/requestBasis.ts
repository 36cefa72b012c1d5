/**
 * Which block the calls of a request are answered from: the head at the request's arrival, or a block that the
 * request or one of its calls is pinned to. Owns how a pin is written; the views themselves are the network's.
 */

import { bytesToHex, hexToBytes, toHash32 } from '../primitives/bytes.js'
import { excerpt } from '../primitives/excerpt.js'
import type { NetworkViews, RpcNetwork } from './method.js'
import { Failure } from './outcome.js'
import { typeName } from './params.js'

const hashPattern = /^0[xX][0-9a-fA-F]{64}$/

/** Longest part of a pin that a fault repeats: a hash and a little more. */
const quotedPinMax = 80

export class RequestBasis<N extends RpcNetwork> {
  /** As of the head when the request arrived, for as long as it runs. */
  readonly arrived: N
  readonly #views: NetworkViews<N>
  /** The pin of the whole request. */
  readonly #at: string | undefined
  /** For calls without a pin of their own, once it was looked for; a failure where the request's pin is no good. */
  #shared: N | Failure | undefined
  /** What calls have been pinned to so far, by what they wrote, so that equal pins of a batch share one view. */
  #pins: Map<string, N | Failure> | undefined

  /** `at` pins the whole request; undefined where it names no block. */
  constructor(views: NetworkViews<N>, at: string | undefined) {
    this.#views = views
    this.arrived = views.current
    this.#at = at
    if (at === undefined) this.#shared = this.arrived
  }

  /**
   * What a call with this `at` member is to be answered from. Throws what the store throws, and NotHeldError for a block
   * that is not held; where that was got, it may be asked again.
   */
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

  /** What a call with this `at` member was answered from, once it was run. */
  used(at: unknown): N {
    const found = at === undefined ? this.#findShared() : this.#pins?.get(at as string)
    return found === undefined || found instanceof Failure ? this.arrived : found
  }

  /** The request's own pin, also where no call came as far as to need it; undefined where it cannot be had. */
  #findShared(): N | Failure | undefined {
    try {
      return this.find(undefined)
    } catch {
      return undefined
    }
  }

  /** The hash that the answer to such a call names as `at`; undefined without one, or where it was no good. */
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
