import type { BlockId } from '../../chain/blockId.js'
import { hexDigits } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, blockId, optional, storageKey } from '../params.js'
import { stateBlock } from '../stateBlock.js'

const latest: BlockId = { kind: 'tag', tag: 'latest' }

/** The value of a storage slot after a block, always 32 bytes. Specification, section 4. */
export const eth_getStorageAt = defineMethod({
  name: 'eth_getStorageAt',
  params: [address, storageKey, optional(blockId({ acceptsHash: true }), latest)],
  cost: 'inline',
  price: 2,
  memo: 'head',
  run({ chain, state }: Network, [account, slot, id]) {
    const value = state.readSlot(stateBlock(chain, id, 2), account, slot)
    return value === undefined ? zeroWord : `"0x${hexDigits(value).padStart(64, '0')}"`
  },
})

const zeroWord = `"0x${'0'.repeat(64)}"`
