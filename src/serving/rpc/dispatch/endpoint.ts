import type { Fault } from '../../../primitives/faults.js'
import type { EdgeCounts } from '../../metrics/edgeCounts.js'
import type { Answer } from '../answers/answer.js'
import type { DefectLog } from '../answers/wireErrors.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { Method, RpcNetwork } from '../method.js'
import type { UsageCounts } from './callCounter.js'

export interface DispatchLimits {
  /** Calls of one batch. go-ethereum's default: 1,000. */
  readonly batchCallsMax: number
  /** Bytes of one call, whatever the length of its message. */
  readonly callBytesMax: number
  /** Maximum bytes of the answer to one batch. go-ethereum's default is 25,000,000. */
  readonly batchBytesMax: number
  /** Maximum time of one request on the thread before it pauses for others; see requestSlices.ts. */
  readonly turnMsMax: number
  /** Time from the arrival of a request to the last result of its jobs. */
  readonly requestMsMax: number
  /** Bytes of stored results per network. */
  readonly memoBytesMax: number
}

export interface DispatcherOptions<N extends RpcNetwork> {
  readonly methods: readonly Method<N>[]
  readonly limits: DispatchLimits
  readonly log: DefectLog
  /** Counts calls; if absent, calls are not counted. */
  readonly counts?: EdgeCounts | undefined
  /** Counts calls by key in addition; needs `counts`. */
  readonly usageOf?: ((network: string) => UsageCounts) | undefined
}

/** An endpoint that stores answers. */
export interface StoringEndpoint extends Endpoint {
  /** Removes the stored answers, and forgets which calls came before. Call it while the network has a head. */
  forgetAnswers(): void
}

/** The methods over one network. */
export interface Endpoint {
  /**
   * Answers a request body. `body` is read before the call returns, unless `ownsBody`: then the endpoint takes over
   * its memory. Never throws or rejects. Call `context.finish()` after sending the answer, or when the client leaves,
   * to end its jobs.
   *
   * `at` is the block that the whole request is pinned to, as the client wrote it: `latest` or a hash. All tags in
   * the request then mean that block; a call's own member `at` overrides it.
   */
  handle(
    body: Uint8Array,
    context?: RequestContext,
    at?: string,
    ownsBody?: boolean,
  ): Answer | Promise<Answer>
  /**
   * Answers each call of a body with `fault` and runs none; otherwise as {@link handle}. A long body is not read if the
   * caller cannot pay for it, or while others wait: it gets one answer, `fault` without an id.
   */
  refuse(body: Uint8Array, fault: Fault, context?: RequestContext): Answer
}
