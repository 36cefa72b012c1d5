/** Questions to every method that reads the demo chain, for networks that are compared with its archive. */
import type { MethodName } from '../../src/serving/rpc/registry.js'
import { blockAt, examples, quantity, unknownHash } from './demoChain.js'

const blocks = [1, 14, 60, 148, 167, 200, 264]

const blockNumbers = [...blocks.map(quantity), 'latest', 'earliest', 'pending', '0xffff'].map((id) => [id])
const blockHashes = [...blocks.map((number) => blockAt(number).hash), unknownHash].map((hash) => [hash])
const blockIds = [...blockNumbers, ...blockHashes.slice(0, -1).map(([blockHash]) => [{ blockHash }])]
const transactionHashes = [...examples.transactions.map(({ hash }) => hash), unknownHash].map((hash) => [
  hash,
])
const tracedHashes = transactionHashes.slice(0, 3)
const people = [...examples.accounts, ...examples.contracts]
const accountStates = people.flatMap(({ address }) => [[address], [address, '0x64'], [address, 'earliest']])

/** What is asked of each method that reads; undefined for those that do not read a chain's rows. */
export const readQuestions: { readonly [M in MethodName]: readonly (readonly unknown[])[] | undefined } = {
  admin_nodeInfo: [[]],
  debug_chainConfig: [[]],
  // The whole block is executed again for each thing that it lacks.
  debug_executionWitness: [1, 14, 60, 148].map((number) => [quantity(number)]),
  debug_getBadBlocks: undefined,
  debug_getRawBlock: blockIds,
  debug_getRawBlockAccessList: blockIds,
  debug_getRawHeader: blockIds,
  debug_getRawReceipts: blockIds,
  debug_getRawTransaction: transactionHashes,
  debug_accountRange: undefined,
  debug_getModifiedAccountsByHash: undefined,
  debug_getModifiedAccountsByNumber: undefined,
  debug_intermediateRoots: [45, 14].map((number) => [blockAt(number).hash]),
  debug_storageRangeAt: undefined,
  debug_traceBlockByHash: [
    [blockAt(45).hash, { tracer: 'callTracer' }],
    [blockAt(200).hash, { tracer: 'prestateTracer' }],
  ],
  // The second is longer than one part of an answer.
  debug_traceBlockByNumber: [
    [quantity(14), { tracer: 'flatCallTracer' }],
    [quantity(84), { enableMemory: true }],
  ],
  debug_traceCall: examples.contracts.map(({ address }) => [{ to: address, data: '0x18160ddd' }, 'latest']),
  debug_traceCallMany: examples.contracts.map(({ address }) => [
    [{ transactions: [{ to: address, data: '0x18160ddd' }] }],
    { blockNumber: 'latest' },
  ]),
  debug_traceTransaction: tracedHashes.flatMap(([hash]) => [[hash], [hash, { tracer: '4byteTracer' }]]),
  trace_block: [45, 200].map((number) => [quantity(number)]),
  trace_call: examples.contracts.map(({ address }) => [
    { to: address, data: '0x18160ddd' },
    ['trace', 'vmTrace', 'stateDiff'],
    '0x64',
  ]),
  trace_callMany: [[[[{ to: examples.contracts[0]?.address, data: '0x18160ddd' }, ['trace']]], '0x64']],
  trace_rawTransaction: undefined,
  trace_replayBlockTransactions: [45, 200].map((number) => [quantity(number), ['trace', 'stateDiff']]),
  trace_replayTransaction: tracedHashes.map(([hash]) => [hash, ['trace', 'vmTrace', 'stateDiff']]),
  trace_filter: [[{ fromBlock: '0xc8', toBlock: '0xc9', count: 5 }]],
  trace_get: tracedHashes.map(([hash]) => [hash, ['0x0']]),
  trace_transaction: tracedHashes,
  eth_getAccount: accountStates,
  eth_getBalance: accountStates,
  eth_getBlockTransactionCountByHash: blockHashes,
  eth_getBlockTransactionCountByNumber: blockNumbers,
  eth_getCode: accountStates,
  eth_getHeaderByHash: blockHashes,
  erigon_getHeaderByNumber: blockNumbers,
  eth_getHeaderByNumber: blockNumbers,
  eth_getRawTransactionByBlockHashAndIndex: blockHashes.map(([hash]) => [hash, '0x0']),
  eth_getRawTransactionByBlockNumberAndIndex: blockNumbers.map(([number]) => [number, '0x0']),
  eth_getRawTransactionByHash: transactionHashes,
  eth_getStorageValues: examples.slots.map(({ address, slot, block }) => [
    { [address]: [slot] },
    quantity(block),
  ]),
  eth_getTransactionByHash: transactionHashes,
  eth_getTransactionBySenderAndNonce: people.map(({ address }) => [address, '0x1']),
  eth_getTransactionCount: accountStates,
  eth_getTransactionReceipt: transactionHashes,
  eth_getUncleByBlockHashAndIndex: blockHashes.map(([hash]) => [hash, '0x0']),
  eth_getUncleCountByBlockHash: blockHashes,
  eth_getUncleCountByBlockNumber: blockNumbers,
  eth_fillTransaction: examples.contracts.map(({ address }) => [
    { from: people[0]?.address, to: address, gas: '0x186a0' },
  ]),
  eth_gasPrice: [[]],
  eth_maxPriorityFeePerGas: [[]],
  eth_baseFee: [[]],
  eth_blobBaseFee: [[]],
  eth_feeHistory: [
    ['0x2', 'latest', []],
    [3, '0xc8', [0, 50, 100]],
    ['0x2', 'pending', [50]],
  ],
  eth_capabilities: [[]],
  eth_config: [[]],
  eth_accounts: undefined,
  eth_sendTransaction: undefined,
  eth_sign: undefined,
  eth_signTypedData_v4: undefined,
  personal_sign: undefined,
  eth_mining: undefined,
  eth_hashrate: undefined,
  net_listening: undefined,
  net_peerCount: undefined,
  web3_sha3: undefined,
  ots_getApiLevel: undefined,
  ots_getBlockDetails: blockNumbers,
  ots_getBlockDetailsByHash: blockHashes,
  ots_getBlockTransactions: blockNumbers.map(([number]) => [number, 0, 3]),
  ots_getTransactionBySenderAndNonce: people.map(({ address }) => [address, 1]),
  ots_traceTransaction: tracedHashes,
  ots_getInternalOperations: tracedHashes,
  ots_getTransactionError: tracedHashes,
  ots_getContractCreator: undefined,
  ots_searchTransactionsBefore: undefined,
  ots_searchTransactionsAfter: undefined,
  ots_hasCode: accountStates,
  rpc_modules: undefined,
  rpc_discover: [[]],
  eth_blockNumber: [[]],
  eth_chainId: [[]],
  eth_syncing: [[]],
  net_version: [[]],
  web3_clientVersion: [[]],
  eth_getFilterChanges: undefined,
  eth_getFilterLogs: undefined,
  eth_newBlockFilter: undefined,
  eth_newFilter: undefined,
  eth_newPendingTransactionFilter: undefined,
  eth_uninstallFilter: undefined,
  eth_sendRawTransaction: undefined,
  eth_sendRawTransactionSync: undefined,
  txpool_content: undefined,
  txpool_contentFrom: undefined,
  txpool_inspect: undefined,
  txpool_status: undefined,
  eth_simulateV1: accountStates.map(([address, block]) => [
    { blockStateCalls: [{}, { calls: [{ to: address }] }], validation: false },
    ...(block === undefined ? [] : [block]),
  ]),
  eth_subscribe: undefined,
  eth_unsubscribe: undefined,
  tidegate_getMappingSlot: undefined,
  eth_getBlockByNumber: [
    ...blocks.flatMap((number) => [
      [quantity(number), true],
      [quantity(number), false],
    ]),
    ...['latest', 'earliest', 'pending', 'finalized'].map((tag) => [tag, false]),
    ['0xffff', true],
  ],
  eth_getBlockByHash: [...blocks.map((number) => [blockAt(number).hash, true]), [unknownHash, false]],
  eth_getBlockAccessList: blockIds,
  eth_getBlockReceipts: [...blocks.map(quantity), ...blocks.map((number) => blockAt(number).hash)].map(
    (id) => [id],
  ),
  eth_getLogs: [
    [{ fromBlock: 'earliest' }],
    ...examples.contracts.map(({ address }) => [{ address, fromBlock: '0x1', toBlock: '0x100' }]),
    ...blocks.map((number) => [{ blockHash: blockAt(number).hash }]),
  ],
  tidegate_getHeaderProof: blockHashes,
  tidegate_getLogs: [[{ fromBlock: '0x1', limit: 20 }], [{ fromBlock: '0xc0', toBlock: '0xd0' }]],
  eth_getUncleByBlockNumberAndIndex: [
    ['0xe', '0x0'],
    ['0xe', '0x1'],
    ['0xe', '0x2'],
    ['0xf', '0x0'],
  ],
  eth_getTransactionByBlockNumberAndIndex: blocks.flatMap((number) => [
    [quantity(number), '0x0'],
    [quantity(number), '0x7'],
  ]),
  eth_getTransactionByBlockHashAndIndex: blocks.map((number) => [blockAt(number).hash, '0x0']),
  eth_getStorageAt: examples.slots.flatMap(({ address, slot, block }) => [
    [address, slot, quantity(block)],
    [address, slot, 'latest'],
    [address, slot, { blockHash: blockAt(Math.max(block, 1)).hash }],
  ]),
  eth_getProof: examples.slots.flatMap(({ address, slot, block }) => [
    [address, [slot, '0x1'], quantity(block)],
    [address, [slot], 'latest'],
  ]),
  eth_callMany: examples.contracts.map(({ address }) => [
    [{ transactions: [{ to: address, data: '0x18160ddd' }] }],
    { blockNumber: '0x64' },
  ]),
  eth_call: examples.contracts.map(({ address }) => [{ to: address, data: '0x18160ddd' }, 'latest']),
  eth_estimateGas: examples.accounts.map(({ address }) => [
    { from: address, to: examples.contracts[0]?.address },
  ]),
  eth_createAccessList: examples.contracts.map(({ address }) => [
    { to: address, data: '0x18160ddd' },
    'latest',
  ]),
  tidegate_getStorageByKeys: [['0x6266702fd511eb9e96861e860620674219acb382', '0x3', ['0x1', '0x2'], '0xc8']],
  tidegate_getVerified: [
    ['eth_getTransactionByBlockNumberAndIndex', ['0xc8', '0x7']],
    ['eth_getTransactionReceipt', ['0xc8', '0x7']],
    ['eth_getLogs', [{ blockHash: blockAt(200).hash }, '0x7', '0x0']],
    ['eth_getTransactionReceipt', ['0xffff', '0x0']],
  ],
  tidegate_readVariable: [
    ['0x64ebdf9e1dfb193e1a3504937e5fcd05545e452e', 'books[42]', '0x14'],
    ['0x64ebdf9e1dfb193e1a3504937e5fcd05545e452e', 'books[42].title', 'latest'],
  ],
}
