import type { Method } from './method.js'
import { admin_nodeInfo } from './methods/admin_nodeInfo.js'
import { debug_chainConfig } from './methods/debug_chainConfig.js'
import { debug_executionWitness } from './methods/debug_executionWitness.js'
import { debug_getBadBlocks } from './methods/debug_getBadBlocks.js'
import { debug_getRawBlock } from './methods/debug_getRawBlock.js'
import { debug_getRawBlockAccessList } from './methods/debug_getRawBlockAccessList.js'
import { debug_getRawHeader } from './methods/debug_getRawHeader.js'
import { debug_getRawReceipts } from './methods/debug_getRawReceipts.js'
import { debug_getRawTransaction } from './methods/debug_getRawTransaction.js'
import { debug_traceBlockByHash } from './methods/debug_traceBlockByHash.js'
import { debug_traceBlockByNumber } from './methods/debug_traceBlockByNumber.js'
import { debug_traceCall } from './methods/debug_traceCall.js'
import { debug_traceTransaction } from './methods/debug_traceTransaction.js'
import { erigon_getHeaderByNumber } from './methods/erigon_getHeaderByNumber.js'
import { eth_accounts } from './methods/eth_accounts.js'
import { eth_baseFee } from './methods/eth_baseFee.js'
import { eth_blobBaseFee } from './methods/eth_blobBaseFee.js'
import { eth_blockNumber } from './methods/eth_blockNumber.js'
import { eth_call } from './methods/eth_call.js'
import { eth_capabilities } from './methods/eth_capabilities.js'
import { eth_chainId } from './methods/eth_chainId.js'
import { eth_config } from './methods/eth_config.js'
import { eth_createAccessList } from './methods/eth_createAccessList.js'
import { eth_estimateGas } from './methods/eth_estimateGas.js'
import { eth_feeHistory } from './methods/eth_feeHistory.js'
import { eth_gasPrice } from './methods/eth_gasPrice.js'
import { eth_getAccount } from './methods/eth_getAccount.js'
import { eth_getBalance } from './methods/eth_getBalance.js'
import { eth_getBlockAccessList } from './methods/eth_getBlockAccessList.js'
import { eth_getBlockByHash } from './methods/eth_getBlockByHash.js'
import { eth_getBlockByNumber } from './methods/eth_getBlockByNumber.js'
import { eth_getBlockReceipts } from './methods/eth_getBlockReceipts.js'
import { eth_getBlockTransactionCountByHash } from './methods/eth_getBlockTransactionCountByHash.js'
import { eth_getBlockTransactionCountByNumber } from './methods/eth_getBlockTransactionCountByNumber.js'
import { eth_getCode } from './methods/eth_getCode.js'
import { eth_getFilterChanges } from './methods/eth_getFilterChanges.js'
import { eth_getFilterLogs } from './methods/eth_getFilterLogs.js'
import { eth_getHeaderByHash } from './methods/eth_getHeaderByHash.js'
import { eth_getHeaderByNumber } from './methods/eth_getHeaderByNumber.js'
import { eth_getLogs } from './methods/eth_getLogs.js'
import { eth_getProof } from './methods/eth_getProof.js'
import { eth_getRawTransactionByBlockHashAndIndex } from './methods/eth_getRawTransactionByBlockHashAndIndex.js'
import { eth_getRawTransactionByBlockNumberAndIndex } from './methods/eth_getRawTransactionByBlockNumberAndIndex.js'
import { eth_getRawTransactionByHash } from './methods/eth_getRawTransactionByHash.js'
import { eth_getStorageAt } from './methods/eth_getStorageAt.js'
import { eth_getStorageValues } from './methods/eth_getStorageValues.js'
import { eth_getTransactionByBlockHashAndIndex } from './methods/eth_getTransactionByBlockHashAndIndex.js'
import { eth_getTransactionByBlockNumberAndIndex } from './methods/eth_getTransactionByBlockNumberAndIndex.js'
import { eth_getTransactionByHash } from './methods/eth_getTransactionByHash.js'
import { eth_getTransactionBySenderAndNonce } from './methods/eth_getTransactionBySenderAndNonce.js'
import { eth_getTransactionCount } from './methods/eth_getTransactionCount.js'
import { eth_getTransactionReceipt } from './methods/eth_getTransactionReceipt.js'
import { eth_getUncleByBlockHashAndIndex } from './methods/eth_getUncleByBlockHashAndIndex.js'
import { eth_getUncleByBlockNumberAndIndex } from './methods/eth_getUncleByBlockNumberAndIndex.js'
import { eth_getUncleCountByBlockHash } from './methods/eth_getUncleCountByBlockHash.js'
import { eth_getUncleCountByBlockNumber } from './methods/eth_getUncleCountByBlockNumber.js'
import { eth_hashrate } from './methods/eth_hashrate.js'
import { eth_maxPriorityFeePerGas } from './methods/eth_maxPriorityFeePerGas.js'
import { eth_mining } from './methods/eth_mining.js'
import { eth_newBlockFilter } from './methods/eth_newBlockFilter.js'
import { eth_newFilter } from './methods/eth_newFilter.js'
import { eth_newPendingTransactionFilter } from './methods/eth_newPendingTransactionFilter.js'
import { eth_sendRawTransaction } from './methods/eth_sendRawTransaction.js'
import { eth_simulateV1 } from './methods/eth_simulateV1.js'
import { eth_subscribe } from './methods/eth_subscribe.js'
import { eth_syncing } from './methods/eth_syncing.js'
import { eth_uninstallFilter } from './methods/eth_uninstallFilter.js'
import { eth_unsubscribe } from './methods/eth_unsubscribe.js'
import { net_listening } from './methods/net_listening.js'
import { net_peerCount } from './methods/net_peerCount.js'
import { net_version } from './methods/net_version.js'
import { ots_getApiLevel } from './methods/ots_getApiLevel.js'
import { ots_getBlockDetails } from './methods/ots_getBlockDetails.js'
import { ots_getBlockDetailsByHash } from './methods/ots_getBlockDetailsByHash.js'
import { ots_getBlockTransactions } from './methods/ots_getBlockTransactions.js'
import { ots_getContractCreator } from './methods/ots_getContractCreator.js'
import { ots_getInternalOperations } from './methods/ots_getInternalOperations.js'
import { ots_getTransactionBySenderAndNonce } from './methods/ots_getTransactionBySenderAndNonce.js'
import { ots_getTransactionError } from './methods/ots_getTransactionError.js'
import { ots_hasCode } from './methods/ots_hasCode.js'
import { ots_searchTransactionsAfter } from './methods/ots_searchTransactionsAfter.js'
import { ots_searchTransactionsBefore } from './methods/ots_searchTransactionsBefore.js'
import { ots_traceTransaction } from './methods/ots_traceTransaction.js'
import { rpc_discover } from './methods/rpc_discover.js'
import { rpc_modules } from './methods/rpc_modules.js'
import { tidegate_getHeaderProof } from './methods/tidegate_getHeaderProof.js'
import { tidegate_getLogs } from './methods/tidegate_getLogs.js'
import { tidegate_getMappingSlot } from './methods/tidegate_getMappingSlot.js'
import { tidegate_getStorageByKeys } from './methods/tidegate_getStorageByKeys.js'
import { tidegate_getVerified } from './methods/tidegate_getVerified.js'
import { tidegate_readVariable } from './methods/tidegate_readVariable.js'
import { trace_block } from './methods/trace_block.js'
import { trace_filter } from './methods/trace_filter.js'
import { trace_get } from './methods/trace_get.js'
import { trace_transaction } from './methods/trace_transaction.js'
import { web3_clientVersion } from './methods/web3_clientVersion.js'
import { web3_sha3 } from './methods/web3_sha3.js'
import type { Network } from './network.js'

/** Every method of a chain, by its name on the wire. */
export const methods = {
  admin_nodeInfo,
  debug_chainConfig,
  debug_executionWitness,
  debug_getBadBlocks,
  debug_getRawBlock,
  debug_getRawBlockAccessList,
  debug_getRawHeader,
  debug_getRawReceipts,
  debug_getRawTransaction,
  debug_traceBlockByHash,
  debug_traceBlockByNumber,
  debug_traceCall,
  debug_traceTransaction,
  erigon_getHeaderByNumber,
  eth_accounts,
  eth_baseFee,
  eth_blobBaseFee,
  eth_blockNumber,
  eth_call,
  eth_capabilities,
  eth_chainId,
  eth_config,
  eth_createAccessList,
  eth_estimateGas,
  eth_feeHistory,
  eth_gasPrice,
  eth_getAccount,
  eth_getBalance,
  eth_getBlockAccessList,
  eth_getBlockByHash,
  eth_getBlockByNumber,
  eth_getBlockReceipts,
  eth_getBlockTransactionCountByHash,
  eth_getBlockTransactionCountByNumber,
  eth_getCode,
  eth_getHeaderByHash,
  eth_getHeaderByNumber,
  eth_getLogs,
  eth_getProof,
  eth_getRawTransactionByBlockHashAndIndex,
  eth_getRawTransactionByBlockNumberAndIndex,
  eth_getRawTransactionByHash,
  eth_getStorageAt,
  eth_getStorageValues,
  eth_getTransactionByBlockHashAndIndex,
  eth_getTransactionByBlockNumberAndIndex,
  eth_getTransactionByHash,
  eth_getTransactionBySenderAndNonce,
  eth_getTransactionCount,
  eth_getTransactionReceipt,
  eth_getUncleByBlockHashAndIndex,
  eth_getUncleByBlockNumberAndIndex,
  eth_getUncleCountByBlockHash,
  eth_getUncleCountByBlockNumber,
  eth_hashrate,
  eth_maxPriorityFeePerGas,
  eth_mining,
  eth_getFilterChanges,
  eth_getFilterLogs,
  eth_newBlockFilter,
  eth_newFilter,
  eth_newPendingTransactionFilter,
  eth_uninstallFilter,
  eth_sendRawTransaction,
  eth_simulateV1,
  eth_subscribe,
  eth_syncing,
  eth_unsubscribe,
  net_listening,
  net_peerCount,
  net_version,
  ots_getApiLevel,
  ots_getBlockDetails,
  ots_getBlockDetailsByHash,
  ots_getBlockTransactions,
  ots_getTransactionBySenderAndNonce,
  ots_traceTransaction,
  ots_getInternalOperations,
  ots_getTransactionError,
  ots_getContractCreator,
  ots_searchTransactionsBefore,
  ots_searchTransactionsAfter,
  ots_hasCode,
  rpc_discover,
  rpc_modules,
  tidegate_getHeaderProof,
  tidegate_getLogs,
  tidegate_getMappingSlot,
  tidegate_getStorageByKeys,
  tidegate_getVerified,
  tidegate_readVariable,
  trace_block,
  trace_filter,
  trace_get,
  trace_transaction,
  web3_clientVersion,
  web3_sha3,
} satisfies Record<string, Method<Network>>

export type MethodName = keyof typeof methods
