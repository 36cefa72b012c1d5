import type { Felt } from '../../rollup/felt.js'
import type { InvokeLimits } from '../../rollup/invokeTransaction.js'
import type { SequencerReader } from '../../rollup/sequencerReader.js'
import type { SubmissionService } from '../../rollup/submissionService.js'
import type { RpcNetwork } from '../method.js'

/** A network of kind `rollup`, as methods use it. */
export interface RollupNetwork extends RpcNetwork {
  readonly chainId: Felt
  /** Prefix of the network's methods; in a call, the prefix that the caller used. */
  readonly prefix: string
  readonly queue: SubmissionService
  readonly invokeLimits: InvokeLimits
  /** Undefined if the sequencer has no endpoint for reads. */
  readonly reader: SequencerReader | undefined
  /** Maximum wait of a submission's answer for the sequencer's verdict; undefined: it does not wait. */
  readonly verdictMsMax: number | undefined
}
