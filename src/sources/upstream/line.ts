/** One request to a node. */
export interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** A connection to a node: HTTP or a WebSocket. */
export interface Line {
  /** Methods that nearly every node supports: after a refusal they show whether the node refuses everything. */
  readonly probes: readonly string[]
  /**
   * Sends calls, as a JSON-RPC batch if there are several, and resolves to the parsed answer. Rejects with
   * {@link UpstreamFailure} if no readable answer comes, and once `signal` is aborted.
   */
  exchange(calls: readonly Call[], signal: AbortSignal): Promise<unknown>
  close(): void
}

/**
 * - `unreachable`: no connection, or it was lost.
 * - `late`: no answer in time.
 * - `abandoned`: the caller stopped waiting before the node's own time limit.
 * - `busy`: the node or its front asks for fewer requests (HTTP status 429, JSON-RPC code -32005), or its budget here
 *   is spent.
 * - `unreadable`: an answer that is not JSON-RPC: an HTTP status of 5xx, HTML, half a body.
 * - `refused`: an HTTP status of 4xx: the front forbids this request, or all of them.
 * - `batchRefused`: no answer to a batch, possibly because it is a batch.
 * - `tooLong`: an answer beyond the maximum size.
 * - `resting`: not asked, because it failed several times in a row.
 * - `quarantined`: not asked, because it lied.
 * - `otherChain`: not asked, because it has another chain id or genesis.
 */
export type FailureKind =
  | 'unreachable'
  | 'late'
  | 'abandoned'
  | 'busy'
  | 'unreadable'
  | 'refused'
  | 'batchRefused'
  | 'tooLong'
  | 'resting'
  | 'quarantined'
  | 'otherChain'

/** A node gave no usable answer. The message never contains its URL. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure'
  constructor(
    readonly kind: FailureKind,
    message: string,
    /** The wait that the node requests. */
    readonly retryAfterMs?: number,
    /** The HTTP status of `refused`. */
    readonly status?: number,
  ) {
    super(message)
  }
}

/** {@link Line.probes} of JSON-RPC. */
export const probes: readonly string[] = ['eth_chainId', 'net_version', 'eth_blockNumber']

/** JSON text of calls: an array if there are several. */
export function renderCalls(calls: readonly Call[]): string {
  const texts = calls.map(({ id, method, params }) => JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  return calls.length === 1 ? (texts[0] as string) : `[${texts.join()}]`
}
