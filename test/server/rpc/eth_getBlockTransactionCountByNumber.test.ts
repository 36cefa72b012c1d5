import { checkBlockCounts } from '../../rpc/blockCounts.js'

await checkBlockCounts(
  'eth_getBlockTransactionCountByNumber',
  'number',
  ({ transactions }) => transactions.length,
)
