/**
 * Failures of precompiled contracts in the library's terms. The library has fewer messages for them than go-ethereum
 * and others, so the contracts of this module check a refused input again.
 */
import { EVMError, type ExecResult } from '@ethereumjs/evm'
import type { ForkName } from '../../src/data/chain/forks.js'
import type { JobWatch } from '../../src/execution/evm/engine/jobWatch.js'
import { InputRefusal } from '../../src/execution/evm/precompiles/contractData.js'
import { modexpGas, modexpPower } from '../../src/execution/evm/precompiles/modexp.js'
import { refusalReason } from '../../src/execution/evm/precompiles/precompiles.js'

/** A precompiled contract refused its input; the call loses all its gas. */
export class PrecompileError extends EVMError {
  readonly #number: number
  readonly #data: Uint8Array

  constructor(number: number, data: Uint8Array) {
    super('precompile failed' as EVMError['error'])
    this.#number = number
    this.#data = data
  }

  /** Takes about as long as the contract itself for the same input; the watch applies. */
  why(watch: JobWatch): string {
    return refusalReason(this.#number, this.#data, watch)
  }
}

/** The result of a failed contract, which uses all its gas; the default error is a lack of gas. */
export function burnt(
  gasLimit: bigint,
  exceptionError: EVMError = new EVMError(EVMError.errorMessages.OUT_OF_GAS),
): ExecResult {
  return { executionGasUsed: gasLimit, returnValue: new Uint8Array(0), exceptionError }
}

/** Contract 5 in place of the library's. Without a watch, as in a block, it cannot be stopped. */
export function modexp(
  data: Uint8Array,
  gasLimit: bigint,
  fork: ForkName,
  watch: JobWatch | undefined,
): ExecResult {
  const gasUsed = modexpGas(data, fork)
  if (gasUsed > gasLimit) return burnt(gasLimit)
  try {
    return { executionGasUsed: gasUsed, returnValue: modexpPower(data, fork, watch) }
  } catch (error) {
    if (!(error instanceof InputRefusal)) throw error
    return burnt(gasLimit, new PrecompileError(5, data))
  }
}
