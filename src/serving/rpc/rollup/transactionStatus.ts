import { FaultError, type InvokeErrorCode } from '../../../primitives/faults.js'
import type { SequencerReader } from '../../rollup/sequencerReader.js'
import type { Rejection, SubmissionState } from '../../rollup/submissionService.js'
import { invokeErrorMessages } from '../answers/wireErrors.js'

/**
 * `queue_status`, unless `prefix` is Starknet's own: clients of that prefix refuse members outside their specification.
 */
function queueStatus(prefix: string, state: SubmissionState): { readonly queue_status?: string } {
  return prefix === 'starknet' ? {} : { queue_status: state }
}

/** The JSON status of a submitted transaction for callers of `prefix`; see `rollupx_getTransactionStatus`. */
export function renderStatus(
  prefix: string,
  state: SubmissionState,
  rejection: Rejection | undefined,
): string {
  return JSON.stringify({
    finality_status: state === 'REJECTED' ? 'REJECTED' : 'RECEIVED',
    ...(rejection && { failure_reason: reasonText(rejection) }),
    ...queueStatus(prefix, state),
  })
}

/**
 * The status of an accepted transaction, as far as the sequencer gives one: clients wait for its block, and only the
 * sequencer knows that.
 */
export async function readAcceptedStatus(
  prefix: string,
  reader: SequencerReader,
  hash: string,
): Promise<string> {
  const said = await reader
    .read('getTransactionStatus', { transaction_hash: hash })
    .catch((error: unknown) => {
      if (error instanceof FaultError) return 'null'
      throw error
    })
  const words = ['finality_status', 'execution_status', 'failure_reason'] as const
  const status = Object(JSON.parse(said)) as Readonly<Record<(typeof words)[number], unknown>>
  if (typeof status.finality_status !== 'string') return renderStatus(prefix, 'ACCEPTED', undefined)
  const known = words.filter((word) => typeof status[word] === 'string')
  return JSON.stringify({
    ...Object.fromEntries(known.map((word) => [word, status[word]])),
    ...queueStatus(prefix, 'ACCEPTED'),
  })
}

function reasonText({ code, text }: Rejection): string {
  if (code === undefined) return text ?? ''
  const message = invokeErrorMessages[code as InvokeErrorCode]
  return text === undefined ? message : `${message}: ${text}`
}
