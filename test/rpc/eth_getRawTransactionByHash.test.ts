import { checkRawTransactions } from './rawTransactions.js'

await checkRawTransactions('eth_getRawTransactionByHash')
