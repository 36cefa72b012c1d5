import { checkBlockCounts } from './blockCounts.js'

await checkBlockCounts(
  'eth_getBlockTransactionCountByNumber',
  'number',
  ({ transactions }) => transactions.length,
)
