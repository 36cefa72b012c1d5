import { checkBlockCounts } from '../../rpc/blockCounts.js'

await checkBlockCounts('eth_getUncleCountByBlockNumber', 'number', ({ uncles }) => uncles.length)
