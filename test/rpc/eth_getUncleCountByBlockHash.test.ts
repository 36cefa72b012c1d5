import { checkBlockCounts } from './blockCounts.js'

await checkBlockCounts('eth_getUncleCountByBlockHash', 'hash', ({ uncles }) => uncles.length)
