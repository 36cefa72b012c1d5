import { JsonBytes } from '../../primitives/jsonBytes.js'
import { countKeyValues, keyTypes, mappingKeys, mappingSlots } from '../mappingEntries.js'
import { defineMethod } from '../method.js'
import type { JobNetwork } from '../network.js'
import { optional, storageKey } from '../params.js'
import { listSchema, wordSchema } from '../schema.js'

/**
 * `(keys, slot, keyTypes?)` → the slots of a mapping's entries, one for each key, in their order.
 *
 * - `keys`: up to 10,000 values in all. A key is a value, or for nested mappings a list of values, outermost first.
 * - `slot`: the slot of the (outermost) mapping.
 * - `keyTypes`: the Solidity type of the values, or a list of types, outermost first. Without it each value is hex
 *   and padded to 32 bytes on the left (specification, section 4). With it `bytesN` is padded on the right,
 *   `string` and `bytes` are not padded, and integers may be decimal.
 *
 * @example
 * tidegate_getMappingSlot(["0x62a70441e573908b945cb88d617f326c1126007a"], "0x3")
 * tidegate_getMappingSlot([["0x62a7…007a", "0x397b…cecc"]], "0x4") tidegate_getMappingSlot(["tide", "ebb"], "0x7",
 * "string")
 */
export const tidegate_getMappingSlot = defineMethod({
  name: 'tidegate_getMappingSlot',
  summary: 'Slots of entries of a mapping, up to 10,000 values in all',
  params: [mappingKeys, storageKey, optional(keyTypes, undefined)],
  paramNames: ['keys', 'slot', 'keyTypes'],
  cost: 'job',
  jobClass: 'slots',
  price: ([keys]) => 2 + countKeyValues(keys),
  memo: 'head',
  result: listSchema(wordSchema),
  run({ jobs }: JobNetwork, [keys, slot, types], caller) {
    const slots = mappingSlots(jobs, { slot, keys, types, argument: 0 }, caller)
    return slots instanceof Promise ? slots.then(renderSlots) : renderSlots(slots)
  },
})

/** Bytes of a slot in the answer: 66 of hex, two quotes and a comma. */
const renderedBytes = 69

function renderSlots(slots: Uint8Array): Uint8Array {
  const json = new JsonBytes(2 + (slots.length / 32) * renderedBytes)
  json.text('[')
  for (let at = 0; at < slots.length; at += 32) {
    if (at > 0) json.text(',')
    json.hex(slots, at, at + 32)
  }
  json.text(']')
  return json.finish()
}
