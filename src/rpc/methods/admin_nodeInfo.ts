import { bytesToHex } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { objectSchema, textSchema } from '../schema.js'

/**
 * What go-ethereum tells of a node, as far as it is true of one without peers: no enode, keys or addresses, and 0 for
 * the ports on which peers would find it.
 */
export const admin_nodeInfo = defineMethod({
  name: 'admin_nodeInfo',
  summary: 'Name of the program, and genesis, rules and head of the chain; there are no peers',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 10,
  memo: 'head',
  result: objectSchema('NodeInfo', {
    name: textSchema,
    ports: { type: 'object' },
    protocols: { type: 'object' },
  }),
  run({ chain, clientVersion, networkId }: Network) {
    const { genesisHash, config } = chain.identity
    const head = bytesToHex(chain.head.hash)
    const eth = `{"network":${networkId},"genesis":"${genesisHash}","config":${config},"head":"${head}"}`
    return `{"name":${JSON.stringify(clientVersion)},"ports":{"discovery":0,"listener":0},"protocols":{"eth":${eth}}}`
  },
})
