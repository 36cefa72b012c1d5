import type { JobOwner } from '../../serving/pool/jobs.js'
import type { Felt } from '../../serving/rollup/felt.js'
import type { InvokeTransaction } from '../../serving/rollup/invokeTransaction.js'
import {
  type StatusChange,
  type SubmissionRow,
  SubmissionService,
} from '../../serving/rollup/submissionService.js'
import type { SubmissionReader } from '../../serving/rollup/submissionStore.js'
import type { MainLink } from './mainLink.js'

/** Stands for a rollup's queue on an edge that does not hold it; reads where it is told. */
export class RemoteSubmissionService extends SubmissionService {
  readonly #link: MainLink
  readonly #rollup: string

  constructor(rollup: string, store: SubmissionReader, link: MainLink) {
    super(store)
    this.#rollup = rollup
    this.#link = link
    link.onStatus(rollup, (change: StatusChange) => this.notifyOf(change))
  }

  override async submit(transaction: InvokeTransaction, submitter: JobOwner): Promise<Felt> {
    return (await this.#link.call('submit', [this.#rollup, transaction], submitter)) as Felt
  }
}

/** Reads submissions by the main thread's connection to the database that has them. */
export function remoteSubmissions(rollup: string, link: MainLink): SubmissionReader {
  const read = (what: keyof SubmissionReader, hash: Felt) => link.call('submission', [rollup, what, hash])
  return {
    readRow: (hash) => read('readRow', hash) as Promise<SubmissionRow | undefined>,
    readBody: (hash) => read('readBody', hash) as Promise<Uint8Array | undefined>,
  }
}
