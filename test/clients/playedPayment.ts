/** A payment that is yet to come, in a chain that moves as a test lets it. */
import type { Test } from 'tap'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { paymentPlan } from '../ingest/payments.js'
import { makeReplayedChain } from '../ingest/replayedChain.js'
import { Steps } from '../ingest/steppedReplay.js'

export async function playPayment(t: Test) {
  const chain = await makeReplayedChain(t, { length: 16, from: 4, intervalMs: 1, planOf: paymentPlan })
  const steps = await Steps.listen(t)
  const service = await chain.start(steps.env())
  t.teardown(() => service.stop())
  await steps.reached()
  const [transaction] = chain.blocks[5]?.block.transactions ?? []
  if (transaction === undefined) throw new RangeError('block 6 has no payment')
  return {
    /** Address of the network. */
    origin: `${service.origin}/tides`,
    /** Hash of the payment in block 6, the second new block. */
    hash: bytesToHex(transaction.hash()),
    blockHash: bytesToHex(chain.blocks[5]?.hash ?? new Uint8Array(0)),
    /** Plays this number of blocks. */
    play: (count: number) => steps.next(count),
  }
}
