import { bytesToHex } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { bytes } from '../params.js'
import { hashSchema } from '../schema.js'

/**
 * Passes a signed transaction on to the nodes that the network follows or asks, or has it wait for a block of a
 * developer chain. The fault is NoUpstreamToSendTo on a
 * network without any, otherwise as {@link UpstreamCalls.send}.
 */
export const eth_sendRawTransaction = defineMethod({
  name: 'eth_sendRawTransaction',
  summary:
    'Hash of a signed transaction, once a node that the network follows or asks took it, or a developer chain did',
  params: [bytes],
  paramNames: ['transaction'],
  cost: 'job',
  price: 50,
  memo: 'never',
  result: hashSchema,
  run({ upstreamCalls }: Network, [raw]) {
    if (upstreamCalls === undefined) throw new FaultError({ kind: 'NoUpstreamToSendTo' })
    return upstreamCalls.send(raw).then((hash) => `"${bytesToHex(hash)}"`)
  },
})
