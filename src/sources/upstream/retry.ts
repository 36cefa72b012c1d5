/** When nodes without an answer are asked again: one schedule for all who ask. */
import { setMaxListeners } from 'node:events'
import { pause } from '../../primitives/deferred.js'
import { UpstreamFailure } from './line.js'
import { NodeError, type Upstream } from './upstream.js'

/** Wait before nodes that all failed are asked again: the first and the maximum; doubled each second time. */
const retryMs = 50
const retryMsMax = 2_000
/** Maximum attempts if a node's front answers with HTTP statuses of 5xx, or HTML. */
const unreadableMax = 3
/** Signal of waits that nothing ends early. */
const never = new AbortController().signal
setMaxListeners(0, never)

/**
 * Milliseconds before the next attempt, after `failed` failed ones. One address may stand for several nodes, and
 * another of them may answer, so each second attempt follows at once.
 */
export function backOffMs(failed: number): number {
  if (failed % 2 === 1) return 0
  return Math.min(retryMs * 2 ** (failed / 2 - 1), retryMsMax) * (0.5 + Math.random())
}

/** The attempts at one question until a deadline, in the time of `performance.now()`. */
export class Retry {
  failed = 0
  readonly #deadline: number
  readonly #signal: AbortSignal

  constructor(deadline: number, signal = never) {
    this.#deadline = deadline
    this.#signal = signal
  }

  /**
   * Waits until the next attempt is due. `waitMs` is the time for which no node may be asked; 0 if the nodes failed.
   * Resolves to false, without a wait, if that is not before the deadline, or if the signal is aborted.
   */
  async wait(waitMs = 0): Promise<boolean> {
    const ms = waitMs > 0 ? waitMs : backOffMs(++this.failed)
    if (this.#signal.aborted || performance.now() + ms >= this.#deadline) return false
    await pause(ms, this.#signal)
    return true
  }
}

/** Like {@link Upstream.ask}, repeated until the deadline while the node is in service, and `mayRepeat` is true. */
export async function askPatiently(
  upstream: Upstream,
  method: string,
  params: readonly unknown[],
  deadline: number,
  mayRepeat = () => true,
): Promise<unknown> {
  const retry = new Retry(deadline)
  for (let tries = 1; ; tries++) {
    try {
      return await upstream.ask(method, params, deadline)
    } catch (error) {
      const mayAnswer = mayAnswerLater(upstream, error, tries) && mayRepeat()
      if (!mayAnswer || !(await retry.wait(upstream.policy.waitMs()))) throw error
    }
  }
}

/** Like {@link askPatiently}, but for a method that some nodes lack; undefined if the node refuses it in any form. */
export async function askIfKnown(
  upstream: Upstream,
  method: string,
  deadline: number,
  params: readonly unknown[] = [],
): Promise<unknown> {
  const mayHave = () => upstream.policy.mayHave(method)
  if (!mayHave()) return undefined
  try {
    return await askPatiently(upstream, method, params, deadline, mayHave)
  } catch (error) {
    // After several failures of this method alone, the method counts as refused.
    if (error instanceof NodeError || !mayHave()) return undefined
    throw error
  }
}

/** Whether a node that did not answer may still be in service: it answers other calls, or its front answers. */
function mayAnswerLater({ policy }: Upstream, error: unknown, tries: number): boolean {
  if (!(error instanceof UpstreamFailure)) return false
  const isUnreadable = error.kind === 'unreadable' && tries < unreadableMax
  return policy.isAnswering === true || error.kind === 'busy' || isUnreadable
}
