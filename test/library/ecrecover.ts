import { calculateSigRecovery, ecrecover as portableEcrecover } from '@ethereumjs/util'
import { type Libsecp256k1, recoverKey } from '../../src/execution/evm/transactions/libsecp256k1.js'

/** The key, 64 bytes (x ‖ y). If there is none, calls the library's own function, so that it throws the same error. */
export const ecrecover: typeof portableEcrecover = (hash, v, r, s, chainId) =>
  recoverKey(hash, calculateSigRecovery(v, chainId), r, s) ?? portableEcrecover(hash, v, r, s, chainId)

/** Like {@link ecrecover}, by the given library. */
export function ecrecoverBy(library: Libsecp256k1): typeof portableEcrecover {
  return (hash, v, r, s, chainId) =>
    recoverKey(hash, calculateSigRecovery(v, chainId), r, s, library) ??
    portableEcrecover(hash, v, r, s, chainId)
}
