import { checkBlockCounts } from './blockCounts.js'

await checkBlockCounts(
  'eth_getBlockTransactionCountByHash',
  'hash',
  ({ transactions }) => transactions.length,
)
