/** Drafts of transactions, for callers that sign them. */
import { toAddress, zeroAddress } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { RequestSlices } from '../contexts/requestSlices.js'
import { chainMethod } from '../network.js'
import { callObject } from '../params/callParams.js'
import { executionRequest } from '../params/executionJob.js'
import { bytesSchema, objectSchema } from '../params/schema.js'
import { suggestedTip } from './fees.js'

const latest = { kind: 'tag', tag: 'latest' } as const
const pending = { kind: 'tag', tag: 'pending' } as const

export const fillMethods = {
  /**
   * Signs nothing. The nonce counts waiting transactions that this node sent. The gas is estimated at the head, or in the
   * next block if a caller of a developer chain has set its time or fees.
   */
  eth_fillTransaction: chainMethod({
    summary: 'A transaction with its missing nonce, fees and gas filled in, not signed',
    params: [callObject.as('transaction')],
    cost: 'job',
    price: 150,
    result: objectSchema('FilledTransaction', { raw: bytesSchema, tx: { type: 'object' } }),
    async run(network, [call], context, turnMsMax) {
      if (call.isAmbiguous) {
        throw messageRefused(
          'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
        )
      }
      const { state, head, upstreamCalls, jobs, trials } = network
      const block = network.chain.hasSetNext ? pending : latest
      const request = executionRequest(network, { call, block, hasBlockGas: true })
      const tip = await suggestedTip(network, new RequestSlices(turnMsMax, context, 0))
      const sender = toAddress(call.message.from ?? zeroAddress)
      const next = state.readAccount(head, sender)?.nonce ?? 0n
      const waiting = call.message.nonce === undefined ? await upstreamCalls?.waiting(sender, next) : 0
      const nonce = call.message.nonce ?? next + BigInt(waiting ?? 0)
      const asked = { ...request, tip, nonce }
      return trials?.fill(asked, context) ?? jobs.run('fill', asked, context)
    },
  }),
}
