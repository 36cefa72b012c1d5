import { defineMethod } from '../method.js'

/**
 * The name and version of this node, `name/version`, as `web3_clientVersion` answers it. No parameters.
 *
 * @example {"jsonrpc":"2.0","id":1,"method":"web3_clientVersion","params":[]} → "Tidegate/0.1.0"
 */
export const web3_clientVersion = (version: string) =>
  defineMethod({
    name: 'web3_clientVersion',
    params: [],
    cost: 'inline',
    memo: 'head',
    run: () => JSON.stringify(`Tidegate/${version}`),
  })
