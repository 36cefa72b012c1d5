import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { textSchema } from '../schema.js'

/** Makes a filter of new blocks; eth_getFilterChanges answers their hashes. */
export const eth_newBlockFilter = defineMethod({
  name: 'eth_newBlockFilter',
  summary: 'Id of a new filter of blocks, to be polled',
  params: [],
  paramNames: [],
  cost: 'job',
  price: 10,
  memo: 'never',
  result: textSchema,
  run({ filters }: Network, _args, caller) {
    const id = filters.create({ kind: 'blocks' }, caller)
    return id instanceof Promise ? id.then((settled) => `"${settled}"`) : `"${id}"`
  },
})
