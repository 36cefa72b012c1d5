import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { methods as archiveMethods, type MethodName } from '../../src/rpc/registry.js'
import { type RollupMethodName, rollupMethods } from '../../src/rpc/rollup/rollupRegistry.js'

const methods = { ...archiveMethods, ...rollupMethods }

/** The test of each method, in this folder. A method that is missing here does not compile. */
const testOf: { readonly [M in MethodName | RollupMethodName]: string } = {
  admin_nodeInfo: 'admin_nodeInfo.test.ts',
  debug_chainConfig: 'debug_chainConfig.test.ts',
  debug_executionWitness: 'debug_executionWitness.test.ts',
  debug_getBadBlocks: 'debug_getBadBlocks.test.ts',
  debug_getRawBlock: 'debug_getRawBlock.test.ts',
  debug_getRawBlockAccessList: 'debug_getRawBlockAccessList.test.ts',
  debug_getRawHeader: 'debug_getRawHeader.test.ts',
  debug_getRawReceipts: 'debug_getRawReceipts.test.ts',
  debug_getRawTransaction: 'debug_getRawTransaction.test.ts',
  debug_accountRange: 'debug_accountRange.test.ts',
  debug_getModifiedAccountsByHash: 'debug_getModifiedAccountsByHash.test.ts',
  debug_getModifiedAccountsByNumber: 'debug_getModifiedAccountsByNumber.test.ts',
  debug_intermediateRoots: 'debug_intermediateRoots.test.ts',
  debug_storageRangeAt: 'debug_storageRangeAt.test.ts',
  debug_traceBlockByHash: 'debug_traceBlockByHash.test.ts',
  debug_traceBlockByNumber: 'debug_traceBlockByNumber.test.ts',
  debug_traceCall: 'debug_traceCall.test.ts',
  debug_traceCallMany: 'debug_traceCallMany.test.ts',
  debug_traceTransaction: 'debug_traceTransaction.test.ts',
  trace_block: 'trace_block.test.ts',
  trace_filter: 'trace_filter.test.ts',
  trace_get: 'trace_get.test.ts',
  trace_transaction: 'trace_transaction.test.ts',
  eth_getAccount: 'eth_getAccount.test.ts',
  eth_getBalance: 'eth_getBalance.test.ts',
  eth_getBlockTransactionCountByHash: 'eth_getBlockTransactionCountByHash.test.ts',
  eth_getBlockTransactionCountByNumber: 'eth_getBlockTransactionCountByNumber.test.ts',
  eth_getCode: 'eth_getCode.test.ts',
  eth_getHeaderByHash: 'eth_getHeaderByHash.test.ts',
  erigon_getHeaderByNumber: 'erigon_getHeaderByNumber.test.ts',
  eth_getHeaderByNumber: 'eth_getHeaderByNumber.test.ts',
  eth_getRawTransactionByBlockHashAndIndex: 'eth_getRawTransactionByBlockHashAndIndex.test.ts',
  eth_getRawTransactionByBlockNumberAndIndex: 'eth_getRawTransactionByBlockNumberAndIndex.test.ts',
  eth_getRawTransactionByHash: 'eth_getRawTransactionByHash.test.ts',
  eth_getStorageValues: 'eth_getStorageValues.test.ts',
  eth_getTransactionByHash: 'eth_getTransactionByHash.test.ts',
  eth_getTransactionBySenderAndNonce: 'eth_getTransactionBySenderAndNonce.test.ts',
  eth_getTransactionCount: 'eth_getTransactionCount.test.ts',
  eth_getTransactionReceipt: 'eth_getTransactionReceipt.test.ts',
  eth_getUncleByBlockHashAndIndex: 'eth_getUncleByBlockHashAndIndex.test.ts',
  eth_getUncleCountByBlockHash: 'eth_getUncleCountByBlockHash.test.ts',
  eth_getUncleCountByBlockNumber: 'eth_getUncleCountByBlockNumber.test.ts',
  eth_gasPrice: 'eth_gasPrice.test.ts',
  eth_maxPriorityFeePerGas: 'eth_maxPriorityFeePerGas.test.ts',
  eth_baseFee: 'eth_baseFee.test.ts',
  eth_blobBaseFee: 'eth_blobBaseFee.test.ts',
  eth_feeHistory: 'eth_feeHistory.test.ts',
  eth_capabilities: 'eth_capabilities.test.ts',
  eth_config: 'eth_config.test.ts',
  eth_accounts: 'eth_accounts.test.ts',
  eth_mining: 'eth_mining.test.ts',
  eth_hashrate: 'eth_hashrate.test.ts',
  net_listening: 'net_listening.test.ts',
  net_peerCount: 'net_peerCount.test.ts',
  web3_sha3: 'web3_sha3.test.ts',
  ots_getApiLevel: 'ots_getApiLevel.test.ts',
  ots_getBlockDetails: 'ots_getBlockDetails.test.ts',
  ots_getBlockDetailsByHash: 'ots_getBlockDetailsByHash.test.ts',
  ots_getBlockTransactions: 'ots_getBlockTransactions.test.ts',
  ots_getTransactionBySenderAndNonce: 'ots_getTransactionBySenderAndNonce.test.ts',
  ots_traceTransaction: 'ots_traceTransaction.test.ts',
  ots_getInternalOperations: 'ots_getInternalOperations.test.ts',
  ots_getTransactionError: 'ots_getTransactionError.test.ts',
  ots_getContractCreator: 'ots_getContractCreator.test.ts',
  ots_searchTransactionsBefore: 'ots_searchTransactionsBefore.test.ts',
  ots_searchTransactionsAfter: 'ots_searchTransactionsAfter.test.ts',
  ots_hasCode: 'ots_hasCode.test.ts',
  rpc_modules: 'rpc_modules.test.ts',
  rpc_discover: 'rpc_discover.test.ts',
  eth_blockNumber: 'eth_blockNumber.test.ts',
  eth_callMany: 'eth_callMany.test.ts',
  eth_call: 'eth_call.test.ts',
  eth_chainId: 'eth_chainId.test.ts',
  eth_createAccessList: 'eth_createAccessList.test.ts',
  eth_estimateGas: 'eth_estimateGas.test.ts',
  eth_getBlockAccessList: 'eth_getBlockAccessList.test.ts',
  eth_getBlockByHash: 'eth_getBlockByHash.test.ts',
  eth_getBlockByNumber: 'eth_getBlockByNumber.test.ts',
  eth_getBlockReceipts: 'eth_getBlockReceipts.test.ts',
  eth_getLogs: 'eth_getLogs.test.ts',
  eth_getProof: 'eth_getProof.test.ts',
  eth_getStorageAt: 'eth_getStorageAt.test.ts',
  eth_getTransactionByBlockHashAndIndex: 'eth_getTransactionByBlockHashAndIndex.test.ts',
  eth_getTransactionByBlockNumberAndIndex: 'eth_getTransactionByBlockNumberAndIndex.test.ts',
  eth_getUncleByBlockNumberAndIndex: 'eth_getUncleByBlockNumberAndIndex.test.ts',
  eth_getFilterChanges: 'eth_getFilterChanges.test.ts',
  eth_getFilterLogs: 'eth_getFilterLogs.test.ts',
  eth_newBlockFilter: 'eth_newBlockFilter.test.ts',
  eth_newFilter: 'eth_newFilter.test.ts',
  eth_newPendingTransactionFilter: 'eth_newPendingTransactionFilter.test.ts',
  eth_uninstallFilter: 'eth_uninstallFilter.test.ts',
  eth_sendRawTransaction: 'eth_sendRawTransaction.test.ts',
  eth_simulateV1: 'eth_simulateV1.test.ts',
  eth_subscribe: 'eth_subscribe.test.ts',
  eth_syncing: 'eth_syncing.test.ts',
  eth_unsubscribe: 'eth_unsubscribe.test.ts',
  net_version: 'net_version.test.ts',
  rollupx_addInvokeTransaction: 'rollupx_addInvokeTransaction.test.ts',
  rollupx_blockNumber: 'rollupx_blockNumber.test.ts',
  rollupx_getBlockWithTxs: 'rollupx_getBlockWithTxs.test.ts',
  rollupx_getNonce: 'rollupx_getNonce.test.ts',
  rollupx_getTransactionReceipt: 'rollupx_getTransactionReceipt.test.ts',
  rollupx_chainId: 'rollupx_chainId.test.ts',
  rollupx_getTransactionByHash: 'rollupx_getTransactionByHash.test.ts',
  rollupx_getTransactionStatus: 'rollupx_getTransactionStatus.test.ts',
  rollupx_specVersion: 'rollupx_specVersion.test.ts',
  rollupx_subscribeTransactionStatus: 'rollupx_subscribeTransactionStatus.test.ts',
  rollupx_unsubscribe: 'rollupx_unsubscribe.test.ts',
  tidegate_getHeaderProof: 'tidegate_getHeaderProof.test.ts',
  tidegate_getLogs: 'tidegate_getLogs.test.ts',
  tidegate_getMappingSlot: 'tidegate_getMappingSlot.test.ts',
  tidegate_getStorageByKeys: 'tidegate_getStorageByKeys.test.ts',
  tidegate_getVerified: 'tidegate_getVerified.test.ts',
  tidegate_readVariable: 'tidegate_readVariable.test.ts',
  web3_clientVersion: 'web3_clientVersion.test.ts',
}

t.test('every method has a test of its own', async (t) => {
  for (const [method, file] of Object.entries(testOf)) {
    t.equal(file, `${method}.test.ts`)
    t.ok(existsSync(join(packageRoot(), 'test/rpc', file)), file)
  }
})

t.test('every method is declared in one line, by its name on the wire', async (t) => {
  const folder = join(packageRoot(), 'src/rpc/methods')
  const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
  for (const [name, method] of Object.entries(methods)) {
    t.equal(method.name, name)
    const lines = sources.flatMap((source) => source.match(new RegExp(`^ +${name}: `, 'gm')) ?? [])
    t.equal(lines.length, 1, name)
  }
})
