import { checkRawTransactions } from '../../rpc/rawTransactions.js'

await checkRawTransactions('eth_getRawTransactionByHash')
