import { FaultError } from '../primitives/faults.js'
import type { Method } from './method.js'
import { rollupx_addInvokeTransaction } from './methods/rollupx_addInvokeTransaction.js'
import { rollupx_blockNumber } from './methods/rollupx_blockNumber.js'
import { rollupx_chainId } from './methods/rollupx_chainId.js'
import { rollupx_getBlockWithTxs } from './methods/rollupx_getBlockWithTxs.js'
import { rollupx_getNonce } from './methods/rollupx_getNonce.js'
import { rollupx_getTransactionByHash } from './methods/rollupx_getTransactionByHash.js'
import { rollupx_getTransactionReceipt } from './methods/rollupx_getTransactionReceipt.js'
import { rollupx_getTransactionStatus } from './methods/rollupx_getTransactionStatus.js'
import { rollupx_specVersion } from './methods/rollupx_specVersion.js'
import { rollupx_subscribeTransactionStatus } from './methods/rollupx_subscribeTransactionStatus.js'
import { rollupx_unsubscribe } from './methods/rollupx_unsubscribe.js'
import type { RollupNetwork } from './rollupNetwork.js'

/** Every method of a rollup network, by its name on the wire under the neutral prefix `rollupx`. */
export const rollupMethods = {
  rollupx_addInvokeTransaction,
  rollupx_blockNumber,
  rollupx_chainId,
  rollupx_getBlockWithTxs,
  rollupx_getNonce,
  rollupx_getTransactionByHash,
  rollupx_getTransactionReceipt,
  rollupx_getTransactionStatus,
  rollupx_specVersion,
  rollupx_subscribeTransactionStatus,
  rollupx_unsubscribe,
} satisfies Record<string, Method<RollupNetwork>>

export type RollupMethodName = keyof typeof rollupMethods

/**
 * The methods of a rollup network for addresses of another network. Keys that may not be used for the rollup get the
 * fault NetworkNotAllowed.
 */
export function boundRollupMethods(network: RollupNetwork, prefixes: readonly string[]): Method[] {
  return prefixRollupMethods(prefixes).map((method) => ({
    ...method,
    run(_other, args, caller, turnMsMax) {
      if (caller.identity.scope?.allowsNetwork(network.name) === false) {
        throw new FaultError({ kind: 'NetworkNotAllowed', network: network.name })
      }
      return method.run(network, args, caller, turnMsMax)
    },
  }))
}

/** The methods under each of `prefixes`; each one gets the prefix by which it was called. */
export function prefixRollupMethods(prefixes: readonly string[]): Method<RollupNetwork>[] {
  return [...new Set(prefixes)].flatMap((prefix) =>
    Object.values<Method<RollupNetwork>>(rollupMethods).map((method) => ({
      ...method,
      name: method.name.replace(/^rollupx_/, `${prefix}_`),
      run: (network, args, caller, turnMsMax) => method.run({ ...network, prefix }, args, caller, turnMsMax),
    })),
  )
}
