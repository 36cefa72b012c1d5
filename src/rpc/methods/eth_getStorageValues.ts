import { type Address, bytesToHex, type Hash32, hexDigits } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, hash32, invalidArgument, required, stateBlockId, typeName } from '../params.js'
import { addressSchema, listSchema, mapSchema, wordSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/** Most slots of all accounts together; go-ethereum's limit. */
const slotsMax = 1_024

/** Slots by account. Of repeated addresses the last one counts, as in any JSON object. */
const wantedSlots = required(
  (value, index): readonly (readonly [Address, readonly Hash32[]])[] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalidArgument(index, `want an object of slots by address, got ${typeName(value)}`)
    }
    const lists = Object.entries(value).map(([account, slots]): [string, unknown[]] => {
      if (Array.isArray(slots)) return [account, slots]
      throw invalidArgument(index, `want an array of slots, got ${typeName(slots)}`)
    })
    const count = lists.reduce((sum, [, slots]) => sum + slots.length, 0)
    if (count === 0) throw new FaultError({ kind: 'EmptyRequest' })
    if (count > slotsMax) throw new FaultError({ kind: 'TooManySlots', max: slotsMax })
    const byAddress = new Map<string, readonly [Address, readonly Hash32[]]>()
    for (const [account, slots] of lists) {
      const at = address.decode(account, index)
      byAddress.set(bytesToHex(at), [at, slots.map((slot) => hash32.decode(slot, index))])
    }
    return [...byAddress].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
  },
  mapSchema('slots by address', address.schema, listSchema(hash32.schema)),
)

/** The values of up to 1,024 slots of several accounts after a block, 32 bytes each, by account in the order of the
 * addresses and of the slots asked for. */
export const eth_getStorageValues = defineMethod({
  name: 'eth_getStorageValues',
  summary: 'Values of slots of several accounts after a block',
  params: [wantedSlots, stateBlockId],
  paramNames: ['slots', 'block'],
  cost: 'inline',
  price: ([wanted]) => 2 + wanted.reduce((sum, [, slots]) => sum + 1 + slots.length, 0),
  memo: 'head',
  result: mapSchema('values by address', addressSchema, listSchema(wordSchema)),
  run({ chain, state }: Network, [wanted, id]) {
    const block = stateBlock(chain, id, 1)
    const accounts = wanted.map(([account, slots]) => {
      const values = slots.map((slot) => {
        const value = state.readSlot(block, account, slot)
        return `"0x${(value === undefined ? '' : hexDigits(value)).padStart(64, '0')}"`
      })
      return `"${bytesToHex(account)}":[${values.join(',')}]`
    })
    return `{${accounts.join(',')}}`
  },
})
