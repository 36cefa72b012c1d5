import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamFailure } from './line.js'
import { NodeError, type Upstream } from './upstream.js'

/** Wait before a node without an answer is asked again: the first and the maximum; doubled each time. */
const retryMs = 50
const retryMsMax = 2_000
/** Maximum attempts if a node's front answers with HTTP statuses of 5xx, or HTML. */
const triesMax = 3

/** As {@link Upstream.ask}, repeated until the deadline while the node is in service. */
export async function askPatiently(
  upstream: Upstream,
  method: string,
  params: readonly unknown[],
  deadline: number,
): Promise<unknown> {
  for (let ms = retryMs, tries = 1; ; ms = Math.min(2 * ms, retryMsMax), tries++) {
    try {
      return await upstream.ask(method, params, deadline)
    } catch (error) {
      const waitMs = Math.max(upstream.waitMs(), ms)
      if (!mayAnswerLater(upstream, error, tries) || performance.now() + waitMs >= deadline) throw error
      await sleep(waitMs)
    }
  }
}

/** As {@link askPatiently}, for a method that some nodes lack; undefined if the node refuses it in any form. */
export async function askIfKnown(
  upstream: Upstream,
  method: string,
  deadline: number,
  params: readonly unknown[] = [],
): Promise<unknown> {
  for (let tries = 1; upstream.mayHave(method); tries++) {
    try {
      return await upstream.ask(method, params, deadline)
    } catch (error) {
      if (error instanceof NodeError) return undefined
      // After several failures of this method alone, the method counts as refused.
      if (!mayAnswerLater(upstream, error, tries) || performance.now() >= deadline) throw error
      await sleep(Math.max(upstream.waitMs(), retryMs))
    }
  }
  return undefined
}

/** Whether a node that did not answer may still be in service: it answers other calls, or its front answers. */
function mayAnswerLater({ isAnswering }: Upstream, error: unknown, tries: number): boolean {
  if (!(error instanceof UpstreamFailure)) return false
  return isAnswering === true || error.kind === 'busy' || (error.kind === 'unreadable' && tries < triesMax)
}
