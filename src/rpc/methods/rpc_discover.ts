import { defineMethod } from '../method.js'
import type { Network } from '../network.js'

/** The OpenRPC document of this service, which lists every method. */
export const rpc_discover = defineMethod({
  name: 'rpc_discover',
  summary: 'OpenRPC document of this service',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 10,
  memo: 'head',
  result: { type: 'object', title: 'OpenRPC document', required: ['openrpc', 'info', 'methods'] },
  run: ({ openRpc }: Network) => openRpc,
})
