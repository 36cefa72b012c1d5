import { isSettled } from '../../data/store/node/submissions.js'
import { setTimeout } from '../../primitives/timers.js'
import type { Waiter } from '../../primitives/waiter.js'
import type { Felt } from './felt.js'
import type { SubmissionId, SubmissionRow, SubmissionService } from './submissionService.js'

/**
 * Waits until a submitted transaction is settled. Resolves to the settled row. Resolves to undefined after `waitMs`,
 * when the waiter leaves, or at once if the queue does not have the transaction or cannot be read.
 */
export function waitForVerdict(
  queue: SubmissionService,
  { hash, key, digest }: SubmissionId,
  waitMs: number,
  waiter: Waiter,
): Promise<SubmissionRow | undefined> {
  const isIt = (row: SubmissionRow) => row.key === key && row.digest === digest
  return new Promise((resolve) => {
    const finish = (verdict: SubmissionRow | undefined): void => {
      clearTimeout(timer)
      unlisten()
      waiter.forget(giveUp)
      resolve(verdict)
    }
    const giveUp = () => finish(undefined)
    const take = (row: SubmissionRow): void => {
      if (isIt(row) && isSettled(row.state)) finish(row)
    }
    const unlisten = queue.onStatusOf(hash as Felt, take)
    const timer = setTimeout(giveUp, waitMs)
    waiter.onFinished(giveUp)
    // Read after the listener is set: the verdict may come in between.
    Promise.resolve(queue.readRows(hash as Felt, key)).then((rows) => {
      const row = rows.find(isIt)
      return row === undefined ? giveUp() : take(row)
    }, giveUp)
  })
}
