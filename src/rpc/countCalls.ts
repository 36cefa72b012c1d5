/** Counting calls by method, time, size and error code; see `metrics/edgeCounts.ts`. */
import type { EdgeCounts } from '../metrics/edgeCounts.js'
import type { Member } from './batch.js'
import { JsonStream } from './jsonStream.js'
import { Failure, type Outcome, type Streamed } from './outcome.js'

/**
 * Runs a call and counts it when its outcome is there; of a stream that is its first part, and its bytes are not
 * counted. `isJob`: whether the pool does its work.
 */
export function countedCall(
  counts: EdgeCounts | undefined,
  call: Member,
  isJob: boolean,
  run: () => Outcome | Promise<Streamed>,
): Outcome | Promise<Streamed> {
  if (counts === undefined) return run()
  const isStored = call.kind === 'known'
  const slot = isStored ? call.known.slot : counts.slotOf(call.kind === 'call' ? call.method : '')
  const startedMs = isStored ? 0 : counts.begin(isJob)
  const count = (outcome: Streamed): void => {
    if (outcome instanceof Failure) counts.ended(slot, isJob, startedMs, undefined, outcome.error.code)
    else if (isStored) counts.repeated(slot, call.known.json.length)
    else counts.ended(slot, isJob, startedMs, outcome instanceof JsonStream ? undefined : outcome.length)
  }
  const outcome = run()
  if (outcome instanceof Promise) void outcome.then(count)
  else count(outcome)
  return outcome
}

/** Counts a call that failed before it was begun. */
export function countFailure(
  counts: EdgeCounts | undefined,
  slot: number | undefined,
  { error }: Failure,
): void {
  counts?.ended(slot ?? counts.slotOf(''), false, 0, undefined, error.code)
}
