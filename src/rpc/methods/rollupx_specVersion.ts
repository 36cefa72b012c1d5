import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { textSchema } from '../schema.js'

/** The version of the rollup's JSON-RPC specification whose shapes these methods follow; the first with `proof_facts`. */
const specVersion = '0.10.2'

/** The version of the rollup's JSON-RPC specification. */
export const rollupx_specVersion = defineMethod({
  name: 'rollupx_specVersion',
  summary: "Version of the rollup's specification",
  params: [],
  paramNames: [],
  byName: true,
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: textSchema,
  run: (_network: RollupNetwork) => `"${specVersion}"`,
})
