import type { Rejection, SubmissionRow } from '../../data/store/node/submissions.js'

export interface WaitLimit {
  /** Time without the sequencer's verdict after which a transaction is rejected here. */
  readonly waitingMsMax: number
}

export function isOld(
  { receivedAtMs }: Pick<SubmissionRow, 'receivedAtMs'>,
  now: number,
  { waitingMsMax }: WaitLimit,
): boolean {
  return receivedAtMs <= now - waitingMsMax
}

/** The rejection of a transaction that {@link isOld}. */
export function rejectionOfOld({ waitingMsMax }: WaitLimit): Rejection {
  const seconds = Math.round(waitingMsMax / 1000)
  return { code: undefined, text: `expired: no word of the sequencer within ${seconds} s` }
}
