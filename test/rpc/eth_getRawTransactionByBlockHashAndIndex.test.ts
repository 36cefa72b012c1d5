import { checkRawTransactionsByIndex } from './rawTransactions.js'

await checkRawTransactionsByIndex('eth_getRawTransactionByBlockHashAndIndex', 'hash')
