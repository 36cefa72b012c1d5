import { checkRawTransactionsByIndex } from '../../rpc/rawTransactions.js'

await checkRawTransactionsByIndex('eth_getRawTransactionByBlockHashAndIndex', 'hash')
