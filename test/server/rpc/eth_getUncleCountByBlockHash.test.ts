import { checkBlockCounts } from '../../rpc/blockCounts.js'

await checkBlockCounts('eth_getUncleCountByBlockHash', 'hash', ({ uncles }) => uncles.length)
