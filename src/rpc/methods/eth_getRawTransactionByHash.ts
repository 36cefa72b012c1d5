import { debug_getRawTransaction } from './debug_getRawTransaction.js'

/** {@link debug_getRawTransaction} under its other name; go-ethereum has both. */
export const eth_getRawTransactionByHash = {
  ...debug_getRawTransaction,
  name: 'eth_getRawTransactionByHash',
} as const
