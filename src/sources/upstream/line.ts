/** One question to a node. */
export interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** A way to a node: HTTP or a WebSocket. */
export interface Line {
  /** Questions that nearly every node answers: where it refuses another, these tell whether it refuses all. */
  readonly probes: readonly string[]
  /**
   * Sends calls, as a JSON-RPC batch where there is more than one, and resolves to the parsed answer. Rejects with
   * {@link UpstreamFailure} where none came that can be read, also once `signal` is aborted.
   */
  exchange(calls: readonly Call[], signal: AbortSignal): Promise<unknown>
  close(): void
}

/**
 * - `unreachable`: no connection, or it was lost.
 * - `late`: no answer in time.
 * - `abandoned`: nobody waits any longer, though there was less time than the node may take.
 * - `busy`: the node or its front asks for fewer questions (HTTP status 429, JSON-RPC code -32005), or its budget here
 *   is spent.
 * - `unreadable`: an answer that is not JSON-RPC: an HTTP status of 5xx, HTML, half a body.
 * - `refused`: an HTTP status of 4xx: the front forbids this question, or all of them.
 * - `batchRefused`: no answer to a batch, which may be because it is one.
 * - `tooLong`: an answer of more bytes than are accepted.
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

/** A node gave no answer that can be used. The message never contains its URL. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure'
  constructor(
    readonly kind: FailureKind,
    message: string,
    /** The wait that the node asks for. */
    readonly retryAfterMs?: number,
    /** Of `refused`: the HTTP status. */
    readonly status?: number,
  ) {
    super(message)
  }
}

/** {@link Line.probes} of JSON-RPC. */
export const probes: readonly string[] = ['eth_chainId', 'net_version', 'eth_blockNumber']

/** JSON text of calls: an array where there is more than one. */
export function renderCalls(calls: readonly Call[]): string {
  const texts = calls.map(({ id, method, params }) => JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  return calls.length === 1 ? (texts[0] as string) : `[${texts.join()}]`
}
