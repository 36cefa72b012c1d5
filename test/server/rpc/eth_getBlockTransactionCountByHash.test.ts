import { checkBlockCounts } from '../../rpc/blockCounts.js'

await checkBlockCounts(
  'eth_getBlockTransactionCountByHash',
  'hash',
  ({ transactions }) => transactions.length,
)
