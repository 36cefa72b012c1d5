import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamFailure } from './line.js'
import { NodeError, type Upstream } from './upstream.js'

/** Wait before a node that gave no answer is asked again, at first and at most; doubled each time. */
const retryMs = 50
const retryMsMax = 2_000
/** Times that it is asked where its front answers in its place, by HTTP statuses of 5xx or HTML. */
const triesMax = 3

/** As {@link Upstream.ask}, and again until the deadline as long as the node is in service. */
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

/** The same of a method that not every node has; undefined where it refuses the question, in whatever manner. */
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
      // One that fails alone, again and again, counts as refused then.
      if (!mayAnswerLater(upstream, error, tries) || performance.now() >= deadline) throw error
      await sleep(Math.max(upstream.waitMs(), retryMs))
    }
  }
  return undefined
}

/** Whether a node that gave no answer so often may be in service: it answers others, or its front has answers. */
function mayAnswerLater({ isAnswering }: Upstream, error: unknown, tries: number): boolean {
  if (!(error instanceof UpstreamFailure)) return false
  return isAnswering === true || error.kind === 'busy' || (error.kind === 'unreadable' && tries < triesMax)
}
