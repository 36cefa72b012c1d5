import type { JobOwner } from '../pool/jobs.js'
import type { Felt } from '../rollup/felt.js'
import type { InvokeTransaction } from '../rollup/invokeTransaction.js'
import { type StatusChange, SubmissionService } from '../rollup/submissionService.js'
import type { Submissions } from '../store/submissions.js'
import type { MainLink } from './mainLink.js'

/**
 * Stands for a rollup's queue on an edge that does not hold it: reads the store itself, passes submissions to the
 * queue.
 */
export class RemoteSubmissionService extends SubmissionService {
  readonly #link: MainLink
  readonly #rollup: string

  constructor(rollup: string, store: Submissions, link: MainLink) {
    super(store)
    this.#rollup = rollup
    this.#link = link
    link.onStatus(rollup, (change: StatusChange) => this.notifyOf(change))
  }

  override async submit(transaction: InvokeTransaction, submitter: JobOwner): Promise<Felt> {
    return (await this.#link.call('submit', [this.#rollup, transaction], submitter)) as Felt
  }
}
