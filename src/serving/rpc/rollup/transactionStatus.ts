import { FaultError, type InvokeErrorCode } from '../../../primitives/faults.js'
import type { SequencerReader } from '../../rollup/sequencerReader.js'
import type { Rejection, SubmissionState } from '../../rollup/submissionService.js'
import { invokeErrorMessages } from '../answers/wireErrors.js'

/** `queue_status`, where `prefix` is not Starknet's own: clients of that refuse what their specification does not have. */
function queueStatus(prefix: string, state: SubmissionState): { readonly queue_status?: string } {
  return prefix === 'starknet' ? {} : { queue_status: state }
}

/** The status of a submitted transaction as JSON, as who calls by `prefix` gets it; see `rollupx_getTransactionStatus`. */
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
 * The status of a transaction that the sequencer accepted, by its own words as far as it has any: what clients wait for
 * is a block, and of that only the sequencer knows.
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
