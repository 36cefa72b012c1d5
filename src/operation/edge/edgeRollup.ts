import { asciiToFelt, type Felt, hexToFelt } from '../../serving/rollup/felt.js'
import { SequencerReader } from '../../serving/rollup/sequencerReader.js'
import type { SubmissionService } from '../../serving/rollup/submissionService.js'
import type { QueueCounts } from '../../serving/rollup/submissionStore.js'
import type { RollupNetwork } from '../../serving/rpc/methods/rollup.js'
import type { RollupConfig } from '../config/config.js'
import { type Condition, type ConditionLevel, wellCondition } from './networkCondition.js'

export interface EdgeRollup {
  readonly name: string
  readonly network: RollupNetwork
  /** A promise on an edge that does not own the queue. */
  health(): RollupHealth | Promise<RollupHealth>
}

/** A rollup network's entry in `/health`. */
export interface RollupHealth extends QueueCounts {
  /** Whether the last attempt to store submissions succeeded. */
  readonly isStoring: boolean
  readonly condition: ConditionLevel
  /** Time at which its owner first saw the condition, in ISO 8601. */
  readonly since: string
  /** Whether this process sends to the sequencer; absent if no other process shares the queue. */
  readonly isSending?: boolean
  /**
   * Whether the sequencer answers; absent before it was asked, without a sequencer, or if another process sends.
   */
  readonly sequencerAnswers?: boolean
}

export function rollupCondition({
  isStoring,
  sequencerAnswers,
}: Pick<RollupHealth, 'isStoring' | 'sequencerAnswers'>): Condition {
  if (!isStoring) return { level: 'failing', why: 'submissions cannot be stored' }
  if (sequencerAnswers === false) return { level: 'degraded', why: 'the sequencer does not answer' }
  return wellCondition
}

export function chainIdOf({ chainId }: RollupConfig): Felt {
  return hexToFelt(chainId) ?? asciiToFelt(chainId)
}

/** If the sequencer takes transactions in gateway form, reads need `readUrl`; without it there is no reader. */
function readerOf({ prefix, upstream }: RollupConfig): SequencerReader | undefined {
  const url = upstream?.readUrl ?? (upstream?.form === 'rpc' ? upstream.url : undefined)
  if (upstream === undefined || url === undefined) return undefined
  return new SequencerReader({ url, prefix: upstream.prefix ?? prefix, timeoutMs: upstream.timeoutMs })
}

export function rollupNetworkOf(config: RollupConfig, queue: SubmissionService): RollupNetwork {
  const { name, prefix, calldataMax, signatureMax, verdictMsMax } = config
  return {
    name,
    // Answers here change without a new head, so none is remembered by request.
    head: { number: 0, hash: undefined, generation: 0 },
    chainId: chainIdOf(config),
    prefix,
    queue,
    invokeLimits: { calldataMax, signatureMax },
    reader: readerOf(config),
    verdictMsMax,
  }
}
