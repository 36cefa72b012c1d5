/** Parameters of the methods of a rollup network. */

import { FaultError } from '../../../primitives/faults.js'
import { type Felt, hexToFelt } from '../../rollup/felt.js'
import {
  FieldError,
  type InvokeLimits,
  type InvokeTransaction,
  parseInvokeTransaction,
  VersionError,
} from '../../rollup/invokeTransaction.js'
import type { Param } from '../method.js'
import { invalidArgument, required, typeName } from '../params/params.js'

/** A transaction as written; it is decoded later, with the network's limits. */
export const writtenTransaction: Param<unknown> = required((value) => value, {
  type: 'object',
  title: 'invoke transaction',
})

/** Decodes a transaction. Throws FaultError that names the invalid field; `index` is the argument's index. */
export function decodeTransaction(value: unknown, limits: InvokeLimits, index: number): InvokeTransaction {
  try {
    return parseInvokeTransaction(value, limits)
  } catch (error) {
    if (error instanceof FieldError) throw invalidArgument(index, error.message)
    if (!(error instanceof VersionError)) throw error
    throw new FaultError({ kind: 'InvokeRefused', code: 61, text: undefined })
  }
}

/** A felt, called `what` in error messages. */
function felt(what: string): Param<Felt> {
  return required(
    (value, index) => {
      if (typeof value !== 'string') throw invalidArgument(index, `want ${what}, got ${typeName(value)}`)
      const decoded = hexToFelt(value)
      if (decoded === undefined) throw invalidArgument(index, `want ${what} of 1 to 64 hex digits`)
      return decoded
    },
    { type: 'string', title: 'felt', pattern: '^0[xX][0-9a-fA-F]{1,64}$' },
  )
}

/** The hash of a transaction of the rollup. */
export const transactionHash = felt('a transaction hash')

/** The address of a contract of the rollup. */
export const contractAddress = felt('a contract address')

/** A block of the rollup by tag, hash or number; the sequencer decides which exist. */
export const blockName: Param<unknown> = required(
  (value, index) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (typeof value === 'string' || isObject) return value
    throw invalidArgument(
      index,
      `want a block tag, or an object with block_hash or block_number, got ${typeName(value)}`,
    )
  },
  { oneOf: [{ type: 'string' }, { type: 'object' }] },
)
