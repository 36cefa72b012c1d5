import { hexDigits } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, stateBlockId, storageKey } from '../params.js'
import { wordSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/** The value of a storage slot after a block, always 32 bytes. Specification, section 4. */
export const eth_getStorageAt = defineMethod({
  name: 'eth_getStorageAt',
  summary: 'Value of a storage slot after a block',
  params: [address, storageKey, stateBlockId],
  paramNames: ['address', 'position', 'block'],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: wordSchema,
  run({ chain, state }: Network, [account, slot, id]) {
    const value = state.readSlot(stateBlock(chain, id, 2), account, slot)
    return value === undefined ? zeroWord : `"0x${hexDigits(value).padStart(64, '0')}"`
  },
})

const zeroWord = `"0x${'0'.repeat(64)}"`
