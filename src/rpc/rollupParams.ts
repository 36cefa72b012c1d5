/** Parameters of the methods of a rollup network. */

import { FaultError } from '../primitives/faults.js'
import { type Felt, hexToFelt } from '../rollup/felt.js'
import {
  FieldError,
  type InvokeLimits,
  type InvokeTransaction,
  parseInvokeTransaction,
  VersionError,
} from '../rollup/invokeTransaction.js'
import type { Param } from './method.js'
import { invalidArgument, required, typeName } from './params.js'

/** A transaction as it was written; what it may look like depends on the network's limits. */
export const writtenTransaction: Param<unknown> = required((value) => value)

/** Throws FaultError that names the field at fault; `index` is the argument that holds the transaction. */
export function decodeTransaction(value: unknown, limits: InvokeLimits, index: number): InvokeTransaction {
  try {
    return parseInvokeTransaction(value, limits)
  } catch (error) {
    if (error instanceof FieldError) throw invalidArgument(index, error.message)
    if (!(error instanceof VersionError)) throw error
    throw new FaultError({ kind: 'InvokeRefused', code: 61, text: undefined })
  }
}

/** The hash of a transaction of the rollup: a felt. */
export const transactionHash: Param<Felt> = required((value, index) => {
  if (typeof value !== 'string') {
    throw invalidArgument(index, `want a transaction hash, got ${typeName(value)}`)
  }
  const hash = hexToFelt(value)
  if (hash === undefined) throw invalidArgument(index, 'want a transaction hash of 1 to 64 hex digits')
  return hash
})
