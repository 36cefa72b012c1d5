import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamFailure } from './line.js'
import { NodeError, type Upstream } from './upstream.js'

/** Wait before a node that gave no answer is asked again, at first and at most; doubled each time. */
const retryMs = 50
const retryMsMax = 2_000

/** As {@link Upstream.ask}, and again until the deadline as long as the node is in service. */
export async function askPatiently(
  upstream: Upstream,
  method: string,
  params: readonly unknown[],
  deadline: number,
): Promise<unknown> {
  for (let ms = retryMs; ; ms = Math.min(2 * ms, retryMsMax)) {
    try {
      return await upstream.ask(method, params, deadline)
    } catch (error) {
      const waitMs = Math.max(upstream.waitMs(), ms)
      if (!mayAnswerLater(upstream, error) || performance.now() + waitMs >= deadline) throw error
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
  while (upstream.mayHave(method)) {
    try {
      return await upstream.ask(method, params, deadline)
    } catch (error) {
      if (error instanceof NodeError) return undefined
      // One that fails alone, again and again, counts as refused then.
      if (!mayAnswerLater(upstream, error) || performance.now() >= deadline) throw error
      await sleep(Math.max(upstream.waitMs(), retryMs))
    }
  }
  return undefined
}

/** Whether a node that gave no answer is in service: it answers others, or asks for a pause. */
function mayAnswerLater({ isAnswering }: Upstream, error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false
  return isAnswering ?? error.kind === 'busy'
}
