import { calculateSigRecovery, ecrecover as portableEcrecover } from '@ethereumjs/util'
import { type Recovery, recoverKey } from '../../src/execution/evm/transactions/ecrecover.js'

/** The key, 64 bytes (x ‖ y). If there is none, calls the library's own function, so that it throws the same error. */
export const ecrecover: typeof portableEcrecover = (hash, v, r, s, chainId) =>
  recoverKey(hash, calculateSigRecovery(v, chainId), r, s) ?? portableEcrecover(hash, v, r, s, chainId)

/** Like {@link ecrecover}, with the given recovery. */
export function ecrecoverBy(recovery: Recovery): typeof portableEcrecover {
  return (hash, v, r, s, chainId) =>
    recoverKey(hash, calculateSigRecovery(v, chainId), r, s, recovery) ??
    portableEcrecover(hash, v, r, s, chainId)
}
