import { bytesToHex, toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { booleanSchema, hashSchema, objectSchema, quantitySchema } from '../schema.js'

const kinds = ['state', 'tx', 'logs', 'receipts', 'blocks', 'stateproofs']
const heldSchema = objectSchema('Held', { disabled: booleanSchema, oldestBlock: quantitySchema })

/** What this node holds of its chain, and from which block on: an archive has everything since genesis, a history no state. */
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
  run({ head, chain }: Network) {
    const { history } = chain.identity
    const oldestBlock = toQuantity(chain.firstNumber)
    const isHeld = (kind: string): boolean =>
      history === undefined ||
      kind === 'blocks' ||
      kind === 'tx' ||
      (history.hasReceipts && (kind === 'receipts' || kind === 'logs'))
    const everything = kinds.map((kind) => [kind, { disabled: !isHeld(kind), oldestBlock }])
    const { number, hash } = head
    return JSON.stringify({
      head: { number: toQuantity(number), hash: bytesToHex(hash) },
      ...Object.fromEntries(everything),
    })
  },
})
