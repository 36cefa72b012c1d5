import { checkRawTransactionsByIndex } from '../../rpc/rawTransactions.js'

await checkRawTransactionsByIndex('eth_getRawTransactionByBlockNumberAndIndex', 'number')
