import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { mapSchema, textSchema } from '../schema.js'

const namespaces = ['admin', 'debug', 'erigon', 'eth', 'net', 'ots', 'rpc', 'tidegate', 'trace', 'web3']
const versions = Object.fromEntries(namespaces.map((namespace) => [namespace, '1.0']))

/** The namespaces of methods, each with its version, as in go-ethereum. */
export const rpc_modules = defineMethod({
  name: 'rpc_modules',
  summary: 'Namespaces of methods, with their versions',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: mapSchema('versions by namespace', textSchema, textSchema),
  run: (_network: Network) => JSON.stringify(versions),
})
