import type { BlockId } from '../../chain/blockId.js'
import type { ResolvedBlock } from '../../chain/chain.js'
import { type Address, hexDigits, toHash32 } from '../../primitives/bytes.js'
import type { StateReader } from '../../state/stateReader.js'
import {
  countKeyValues,
  encodeMappingKeys,
  keyTypes,
  mappingKeys,
  mappingSlots,
  type WrittenKeys,
} from '../mappingEntries.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, blockId, optional, storageKey } from '../params.js'
import { stateBlock } from '../stateBlock.js'

const latest: BlockId = { kind: 'tag', tag: 'latest' }

/** Reads between which other requests get their turn: about 1 ms at an old block. */
const readsPerTurn = 200

/**
 * `(address, slot, keys, block?, keyTypes?)` → `[{key, slot, value}]`: entries of the mapping at `slot` after a
 * block, in the order of the keys. `key` is repeated as it was written; slot and value have 32 bytes.
 * See `tidegate_getMappingSlot` for the keys and their types.
 */
export const tidegate_getStorageByKeys = defineMethod({
  name: 'tidegate_getStorageByKeys',
  params: [
    address,
    storageKey,
    mappingKeys,
    optional(blockId({ acceptsHash: true }), latest),
    optional(keyTypes, undefined),
  ],
  cost: 'job',
  price: ([, , keys]) => 2 + 2 * countKeyValues(keys),
  memo: 'head',
  run({ chain, state, jobs }: Network, [account, slot, keys, id, types], caller) {
    const paths = encodeMappingKeys(keys, types, 2)
    const block = stateBlock(chain, id, 3)
    const slots = mappingSlots(jobs, slot, paths, caller)
    if (!(slots instanceof Promise) && keys.length <= readsPerTurn) {
      return `[${renderEntries(state, block, account, keys, slots, 0).join(',')}]`
    }
    return readInTurns(state, block, account, keys, slots)
  },
})

/** The block is fixed by its hash, so that turns of the event loop between reads cannot mix two states. */
async function readInTurns(
  state: StateReader,
  block: ResolvedBlock,
  account: Address,
  keys: WrittenKeys,
  computed: Uint8Array | Promise<Uint8Array>,
): Promise<string> {
  const slots = await computed
  const entries: string[] = []
  for (let start = 0; start < keys.length; start += readsPerTurn) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve))
    entries.push(...renderEntries(state, block, account, keys, slots, start))
  }
  return `[${entries.join(',')}]`
}

/** The entries from `start` on that one turn reads. */
function renderEntries(
  state: StateReader,
  block: ResolvedBlock,
  account: Address,
  keys: WrittenKeys,
  slots: Uint8Array,
  start: number,
): string[] {
  return keys.slice(start, start + readsPerTurn).map((key, index) => {
    const at = (start + index) * 32
    const slot = toHash32(slots.subarray(at, at + 32))
    const value = state.readSlot(block, account, slot)
    const digits = value === undefined ? '' : hexDigits(value)
    return `{"key":${JSON.stringify(key)},"slot":"0x${hexDigits(slot)}","value":"0x${digits.padStart(64, '0')}"}`
  })
}
