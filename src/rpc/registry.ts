import type { Method } from './method.js'
import { eth_blockNumber } from './methods/eth_blockNumber.js'
import { eth_call } from './methods/eth_call.js'
import { eth_chainId } from './methods/eth_chainId.js'
import { eth_createAccessList } from './methods/eth_createAccessList.js'
import { eth_estimateGas } from './methods/eth_estimateGas.js'
import { eth_getBlockByHash } from './methods/eth_getBlockByHash.js'
import { eth_getBlockByNumber } from './methods/eth_getBlockByNumber.js'
import { eth_getBlockReceipts } from './methods/eth_getBlockReceipts.js'
import { eth_getProof } from './methods/eth_getProof.js'
import { eth_getStorageAt } from './methods/eth_getStorageAt.js'
import { eth_getTransactionByBlockHashAndIndex } from './methods/eth_getTransactionByBlockHashAndIndex.js'
import { eth_getTransactionByBlockNumberAndIndex } from './methods/eth_getTransactionByBlockNumberAndIndex.js'
import { eth_getUncleByBlockNumberAndIndex } from './methods/eth_getUncleByBlockNumberAndIndex.js'
import { eth_subscribe } from './methods/eth_subscribe.js'
import { eth_syncing } from './methods/eth_syncing.js'
import { eth_unsubscribe } from './methods/eth_unsubscribe.js'
import { net_version } from './methods/net_version.js'
import { tidegate_getMappingSlot } from './methods/tidegate_getMappingSlot.js'
import { tidegate_getStorageByKeys } from './methods/tidegate_getStorageByKeys.js'
import { tidegate_readVariable } from './methods/tidegate_readVariable.js'
import { web3_clientVersion } from './methods/web3_clientVersion.js'
import type { Network } from './network.js'

/** Every method of the service, by its name on the wire. */
export const methods = {
  eth_blockNumber,
  eth_call,
  eth_chainId,
  eth_createAccessList,
  eth_estimateGas,
  eth_getBlockByHash,
  eth_getBlockByNumber,
  eth_getBlockReceipts,
  eth_getProof,
  eth_getStorageAt,
  eth_getTransactionByBlockHashAndIndex,
  eth_getTransactionByBlockNumberAndIndex,
  eth_getUncleByBlockNumberAndIndex,
  eth_subscribe,
  eth_syncing,
  eth_unsubscribe,
  net_version,
  tidegate_getMappingSlot,
  tidegate_getStorageByKeys,
  tidegate_readVariable,
  web3_clientVersion,
} satisfies Record<string, Method<Network>>

export type MethodName = keyof typeof methods
