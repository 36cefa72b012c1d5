/**
 * Many clients on one stream of heads while some stop reading. Has the chain that fills their buffers, their
 * subscriptions under each policy, and the check of their events. For a test and for a measurement.
 */
import type { Policy } from '../../src/serving/streams/subscription.js'
import type { BlockPlan } from '../ingest/chainMaker.js'
import type { EventListener, StreamParams } from './eventListener.js'

/** Blocks from `from` to `to`, both included. */
export interface BlockRange {
  readonly from: number
  readonly to: number
}

/** Logs of a loud block, and bytes of each: 540 KB of events. */
const logsPerBlock = 32
const logBytes = 8192

/**
 * Number of long blocks that a client must leave unread before its policy acts. The system's buffers take 4 MB of a
 * loopback connection first, then the client's queue fills.
 */
export const loudBlocksMin = 12

/** Queue of a client that stops reading: one event more than nothing, so that the policy acts at the next block. */
const queueBytes = 4096

/** A loud block, with logs that fill buffers, or one without logs. */
export function planOfLoudness(isLoud: boolean): BlockPlan {
  if (!isLoud) return {}
  // Code that logs while it creates a contract of no bytes: PUSH2 size, PUSH0, LOG0, and so on.
  const one = [0x61, logBytes >> 8, logBytes & 0xff, 0x5f, 0xa0]
  const data = Uint8Array.from({ length: logsPerBlock * one.length }, (_, i) => one[i % one.length] as number)
  return { transactions: [{ data, gasLimit: 4_000_000n }] }
}

/** The streams of a client that stops reading under a policy; only heads can be conflated. */
export function stoppedStreams(policy: Policy): StreamParams[] {
  if (policy !== 'conflate') return [['newHeads'], ['logs', { policy, queueBytes }]]
  return [
    ['newHeads', { policy, queueBytes }],
    ['logs', { policy: 'dropOldest', queueBytes }],
  ]
}

/**
 * Whether a client that left the `loud` blocks unread, and then read on, was handled by its policy. It was closed with
 * 1013 after a part of the logs. Or it got everything at least up to the head `last`, or a notice that it was skipped.
 */
export function isHandledAs(
  policy: Policy,
  { heads, logs, end }: EventListener,
  loud: BlockRange,
  last: number,
): boolean {
  if (policy === 'close') {
    const isPart = logs.events > 0 && logs.events < logsPerBlock * (loud.to - loud.from + 1)
    return end?.code === 1013 && isPart && logs.isGapless && logs.notices === 0
  }
  const isUpToDate = heads.to >= last && heads.isComplete(1, heads.from, heads.to)
  const isReported = isUpToDate && logs.isComplete(logsPerBlock, loud.from, loud.to)
  const isHeadSkipped = heads.notices > 0
  return end === undefined && isReported && logs.notices > 0 && isHeadSkipped === (policy === 'conflate')
}
