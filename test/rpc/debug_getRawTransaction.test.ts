import { checkRawTransactions } from './rawTransactions.js'

await checkRawTransactions('debug_getRawTransaction')
