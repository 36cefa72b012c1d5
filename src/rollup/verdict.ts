import { isSettled } from '../store/submissions.js'
import type { Felt } from './felt.js'
import type { StatusChange, SubmissionService } from './submissionService.js'

/** A caller that waits for a verdict and may leave. */
interface Waiter {
  onGone(listener: () => void): void
  forget(listener: () => void): void
}

/**
 * Waits until a submitted transaction is settled. Resolves to the change that settled it; to undefined after
 * `waitMs`, when the waiter leaves, or at once where the queue does not have it.
 */
export function waitForVerdict(
  queue: SubmissionService,
  hash: Felt,
  waitMs: number,
  waiter: Waiter,
): Promise<Pick<StatusChange, 'state' | 'rejection'> | undefined> {
  const row = queue.readRow(hash)
  if (row === undefined) return Promise.resolve(undefined)
  if (isSettled(row.state)) return Promise.resolve(row)
  return new Promise((resolve) => {
    const finish = (change: StatusChange | undefined): void => {
      clearTimeout(timer)
      unlisten()
      waiter.forget(giveUp)
      resolve(change)
    }
    const giveUp = () => finish(undefined)
    const unlisten = queue.onStatusOf(hash, (change) => {
      if (isSettled(change.state)) finish(change)
    })
    const timer = setTimeout(giveUp, waitMs)
    waiter.onGone(giveUp)
  })
}
