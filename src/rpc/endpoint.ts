import type { EdgeCounts } from '../metrics/edgeCounts.js'
import type { Fault } from '../primitives/faults.js'
import type { Answer } from './answer.js'
import type { UsageCounts } from './callCounter.js'
import type { Caller } from './caller.js'
import type { DispatchLimits } from './dispatchLimits.js'
import type { Method, RpcNetwork } from './method.js'
import type { DefectLog } from './wireErrors.js'

export interface DispatcherOptions<N extends RpcNetwork> {
  readonly methods: readonly Method<N>[]
  readonly limits: DispatchLimits
  readonly log: DefectLog
  /** Where calls are counted; absent: nowhere. */
  readonly counts?: EdgeCounts | undefined
  /** Where calls are counted by key, besides; needs `counts`. */
  readonly usageOf?: ((network: string) => UsageCounts) | undefined
}

/** The methods over one network. */
export interface Endpoint {
  /**
   * Answers a request body. `body` is read before the call returns, unless `isGiven`: then the endpoint takes over
   * its memory. Never throws or rejects. Call `caller.leave()` after sending the answer, or when the client leaves,
   * to end its jobs.
   *
   * `at` is the block that the whole request is pinned to, as the client wrote it: `latest` or a hash. All tags in
   * the request then mean that block; a call's own member `at` overrides it.
   */
  handle(body: Uint8Array, caller?: Caller, at?: string, isGiven?: boolean): Answer | Promise<Answer>
  /**
   * Answers each call of a body with `fault` and runs none; otherwise as {@link handle}. A long body that cannot be
   * paid, or while others wait, is not read: it gets one answer, `fault` without an id.
   */
  refuse(body: Uint8Array, fault: Fault, caller?: Caller): Answer
}
