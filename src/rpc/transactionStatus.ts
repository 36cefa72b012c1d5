import type { InvokeErrorCode } from '../primitives/faults.js'
import type { Rejection, SubmissionState } from '../rollup/submissionQueue.js'
import { invokeErrorMessages } from './wireErrors.js'

/** The status of a submitted transaction as JSON; see `rollupx_getTransactionStatus`. */
export function renderStatus(state: SubmissionState, rejection: Rejection | undefined): string {
  return JSON.stringify({
    finality_status: state === 'REJECTED' ? 'REJECTED' : 'RECEIVED',
    ...(rejection && { failure_reason: reasonText(rejection) }),
    queue_status: state,
  })
}

function reasonText({ code, text }: Rejection): string {
  if (code === undefined) return text ?? ''
  const message = invokeErrorMessages[code as InvokeErrorCode]
  return text === undefined ? message : `${message}: ${text}`
}
