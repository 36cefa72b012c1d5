import { bytesToHex, toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { booleanSchema, hashSchema, objectSchema, quantitySchema } from '../schema.js'

const kinds = ['state', 'tx', 'logs', 'receipts', 'blocks', 'stateproofs']
const heldSchema = objectSchema('Held', { disabled: booleanSchema, oldestBlock: quantitySchema })

/** What this node holds of its chain, and from which block on: an archive has everything since genesis. */
export const eth_capabilities = defineMethod({
  name: 'eth_capabilities',
  summary: 'What this node holds, and from which block on',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  result: objectSchema('Capabilities', {
    head: objectSchema('HeadName', { number: quantitySchema, hash: hashSchema }),
    ...Object.fromEntries(kinds.map((kind) => [kind, heldSchema])),
  }),
  run({ head }: Network) {
    const everything = kinds.map((kind) => [kind, { disabled: false, oldestBlock: '0x0' }])
    const { number, hash } = head
    return JSON.stringify({
      head: { number: toQuantity(number), hash: bytesToHex(hash) },
      ...Object.fromEntries(everything),
    })
  },
})
