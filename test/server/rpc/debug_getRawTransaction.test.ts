import { checkRawTransactions } from '../../rpc/rawTransactions.js'

await checkRawTransactions('debug_getRawTransaction')
