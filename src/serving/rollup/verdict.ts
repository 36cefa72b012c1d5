import { isSettled } from '../../data/store/submissions.js'
import { setTimeout } from '../../primitives/timers.js'
import type { Waiter } from '../../primitives/waiter.js'
import type { Felt } from './felt.js'
import type { StatusChange, SubmissionService } from './submissionService.js'

type Verdict = Pick<StatusChange, 'state' | 'rejection'>

/**
 * Waits until a submitted transaction is settled. Resolves to the change that settled it; to undefined after
 * `waitMs`, when the waiter leaves, or at once where the queue does not have it or cannot say.
 */
export function waitForVerdict(
  queue: SubmissionService,
  hash: Felt,
  waitMs: number,
  waiter: Waiter,
): Promise<Verdict | undefined> {
  return new Promise((resolve) => {
    const finish = (verdict: Verdict | undefined): void => {
      clearTimeout(timer)
      unlisten()
      waiter.forget(giveUp)
      resolve(verdict)
    }
    const giveUp = () => finish(undefined)
    const take = (verdict: Verdict): void => {
      if (isSettled(verdict.state)) finish(verdict)
    }
    const unlisten = queue.onStatusOf(hash, take)
    const timer = setTimeout(giveUp, waitMs)
    waiter.onFinished(giveUp)
    // Read after the listener is there: the verdict may come between.
    Promise.resolve(queue.readRow(hash)).then((row) => (row === undefined ? giveUp() : take(row)), giveUp)
  })
}
