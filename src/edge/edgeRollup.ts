import type { RollupConfig } from '../config/config.js'
import { asciiToFelt, type Felt, hexToFelt } from '../rollup/felt.js'
import { SequencerReader } from '../rollup/sequencerReader.js'
import type { QueueCounts } from '../rollup/submissionQueue.js'
import type { SubmissionService } from '../rollup/submissionService.js'
import type { RollupNetwork } from '../rpc/rollupNetwork.js'

/** A rollup network as one edge serves it. */
export interface EdgeRollup {
  readonly name: string
  readonly network: RollupNetwork
  /** A promise on an edge that does not have the queue. */
  health(): RollupHealth | Promise<RollupHealth>
}

/** A rollup network in `/health`. */
export interface RollupHealth extends QueueCounts {
  /** Whether the last submissions could be stored. */
  readonly isStoring: boolean
  /** Whether the sequencer said a word last time it was asked; absent without a sequencer. */
  readonly sequencerAnswers?: boolean
}

export function chainIdOf({ chainId }: RollupConfig): Felt {
  return hexToFelt(chainId) ?? asciiToFelt(chainId)
}

/** A sequencer that takes transactions as a gateway is read at an address of its own, if anywhere. */
function readerOf({ prefix, upstream }: RollupConfig): SequencerReader | undefined {
  const url = upstream?.readUrl ?? (upstream?.form === 'rpc' ? upstream.url : undefined)
  if (upstream === undefined || url === undefined) return undefined
  return new SequencerReader({ url, prefix: upstream.prefix ?? prefix, timeoutMs: upstream.timeoutMs })
}

/** What methods see of a rollup network. */
export function rollupNetworkOf(config: RollupConfig, queue: SubmissionService): RollupNetwork {
  const { name, prefix, calldataMax, signatureMax, upstream } = config
  return {
    name,
    // Nothing is remembered by its question here: what is asked for changes without a head.
    head: { number: 0, hash: undefined, generation: 0 },
    chainId: chainIdOf(config),
    prefix,
    queue,
    invokeLimits: { calldataMax, signatureMax },
    reader: readerOf(config),
    verdictMsMax: upstream?.mode === 'wait' ? upstream.waitMs : undefined,
  }
}
