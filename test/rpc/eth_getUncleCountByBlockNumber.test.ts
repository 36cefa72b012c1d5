import { checkBlockCounts } from './blockCounts.js'

await checkBlockCounts('eth_getUncleCountByBlockNumber', 'number', ({ uncles }) => uncles.length)
