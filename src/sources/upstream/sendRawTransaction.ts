import { UpstreamFailure } from './line.js'
import { NodeError, type Upstream } from './upstream.js'
import type { Upstreams } from './upstreams.js'

const method = 'eth_sendRawTransaction'

/**
 * Refusals of a transaction that the node already has: geth, Reth and Erigon ("already known"), Nethermind
 * ("AlreadyKnown"), Besu ("Known transaction"), anvil ("transaction already imported").
 */
const knownPattern = /already[ _]?(known|imported)|\bknown transaction\b/i

/**
 * Sends a signed transaction to every node that answers. If none does, tries one after the other until the deadline, in
 * the time of `performance.now()`. `hash` is the transaction's, in lower-case hex. Resolves once a node accepts the
 * transaction or already has it. Rejects with {@link NodeError}, the best node's refusal, or as {@link Upstreams.ask}
 * if there is no answer.
 */
export async function sendRawTransaction(
  upstreams: Upstreams,
  raw: string,
  hash: string,
  deadline: number,
): Promise<void> {
  const sent = upstreams.askEach(method, [raw], deadline)
  try {
    return await Promise.any(sent.map(({ upstream, answer }) => accepted(answer, upstream, hash)))
  } catch (error) {
    const refusal = (error as AggregateError).errors.find((each) => each instanceof NodeError)
    if (refusal !== undefined) throw refusal
  }
  const { upstream, result } = await upstreams.ask(method, [raw], { deadline }).catch((error) => {
    if (isKnown(error)) return { upstream: undefined, result: hash }
    throw error
  })
  if (upstream !== undefined) await accepted(Promise.resolve(result), upstream, hash)
}

/** Like {@link sendRawTransaction}, to one node, once. */
export function sendTo(upstream: Upstream, raw: string, hash: string, deadline: number): Promise<void> {
  return accepted(upstream.ask(method, [raw], deadline), upstream, hash)
}

/** Resolves if the node accepted the transaction or already had it. */
async function accepted(answer: Promise<unknown>, upstream: Upstream, hash: string): Promise<void> {
  try {
    const result = await answer
    if (typeof result === 'string' && result.toLowerCase() === hash) return
  } catch (error) {
    if (isKnown(error)) return
    throw error
  }
  const lie = 'the hash of a transaction that it was sent is another'
  upstream.policy.accuse(lie)
  throw new UpstreamFailure('quarantined', `${upstream.name} lied: ${lie}`)
}

function isKnown(error: unknown): boolean {
  return error instanceof NodeError && knownPattern.test(error.message)
}
