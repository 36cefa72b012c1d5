import type { ResolvedBlock } from '../../chain/chain.js'
import { type Address, hexDigits, toHash32 } from '../../primitives/bytes.js'
import type { StateReader } from '../../state/stateReader.js'
import type { WrittenKeys } from '../../state/writtenKeys.js'
import {
  countKeyValues,
  inLooks,
  keysPerLook,
  keyTypes,
  mappingKeys,
  mappingSlots,
} from '../mappingEntries.js'
import { defineMethod } from '../method.js'
import type { JobNetwork } from '../network.js'
import { address, optional, stateBlockId, storageKey } from '../params.js'
import { listSchema, objectSchema, wordSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'
import { doSteps, type Steps, Turns } from '../turns.js'

/** Memory of an entry as text, held until all are rendered. */
const entryBytes = 300

/**
 * `(address, slot, keys, block?, keyTypes?)` → `[{key, slot, value}]`: entries of the mapping at `slot` after a
 * block, in the order of the keys. `key` is repeated as it was written; slot and value have 32 bytes.
 * See `tidegate_getMappingSlot` for the keys and their types.
 */
export const tidegate_getStorageByKeys = defineMethod({
  name: 'tidegate_getStorageByKeys',
  summary: 'Entries of a mapping after a block, with their slots',
  params: [address, storageKey, mappingKeys, stateBlockId, optional(keyTypes, undefined)],
  paramNames: ['address', 'slot', 'keys', 'block', 'keyTypes'],
  cost: 'job',
  jobClass: 'slots',
  price: ([, , keys]) => 2 + 2 * countKeyValues(keys),
  memo: 'head',
  result: listSchema(objectSchema('Entry', { key: {}, slot: wordSchema, value: wordSchema })),
  run({ chain, state, jobs }: JobNetwork, [account, slot, keys, id, types], caller, turnMsMax) {
    const block = stateBlock(chain, id, 3)
    const slots = mappingSlots(jobs, { slot, keys, types, argument: 2 }, caller)
    const entries: Entries = { state, block, account, keys }
    if (!(slots instanceof Promise)) {
      const rendered: string[] = []
      for (const from of inLooks(keys, caller)) {
        const to = Math.min(from + keysPerLook, keys.length)
        for (let at = from; at < to; at++) rendered.push(renderEntry(entries, slots, at))
      }
      return `[${rendered.join(',')}]`
    }
    return doSteps(readInTurns(entries, slots, new Turns(turnMsMax, caller, keys.length * entryBytes)))
  },
})

interface Entries {
  readonly state: StateReader
  readonly block: ResolvedBlock
  readonly account: Address
  readonly keys: WrittenKeys
}

/** The block is fixed by its hash, so that pauses between reads cannot mix two states. */
function* readInTurns(entries: Entries, computed: Promise<Uint8Array>, turns: Turns): Steps<string> {
  try {
    let slots: Uint8Array = new Uint8Array(0)
    yield computed.then((all) => {
      slots = all
    })
    const rendered: string[] = []
    for (const at of entries.keys.keys()) {
      if (turns.isOver) yield* turns.pause()
      turns.begin()
      rendered.push(renderEntry(entries, slots, at))
    }
    return `[${rendered.join(',')}]`
  } finally {
    turns.end()
  }
}

function renderEntry({ state, block, account, keys }: Entries, slots: Uint8Array, at: number): string {
  const slot = toHash32(slots.subarray(at * 32, at * 32 + 32))
  const value = state.readSlot(block, account, slot)
  const digits = value === undefined ? '' : hexDigits(value)
  return `{"key":${JSON.stringify(keys[at])},"slot":"0x${hexDigits(slot)}","value":"0x${digits.padStart(64, '0')}"}`
}
