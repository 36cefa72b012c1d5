import { defineMethod } from '../method.js'

/** The level of Otterscan's methods that is answered here. */
export const ots_getApiLevel = defineMethod({
  name: 'ots_getApiLevel',
  summary: "Level of Otterscan's methods, 8",
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  result: { type: 'integer' },
  run: () => '8',
})
