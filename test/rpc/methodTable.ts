/**
 * One entry for every method of a network of blocks: the questions of all tests that iterate over methods. A method
 * without an entry does not compile. Methods of rollups are in `rollupMethodTable.ts`.
 */
import { Wallet } from 'ethers'
import { encodeCall } from '../../data/devnet/abi.js'
import type { MethodName } from '../../src/serving/rpc/registry.js'
import { addressOf, blockAt, bytesOf, examples, hex, quantity, unknownHash } from './demoChain.js'
import { type Call, idOfFirst, type MethodEntry } from './methodEntry.js'

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

const tide = addressOf('Tide')
const bea = addressOf('bea')
const ada = addressOf('ada')
const someHash = examples.blocks[0]?.hash ?? unknownHash

const [sender] = examples.accounts
const transfer = await new Wallet(sender?.privateKey ?? '').signTransaction({
  type: 2,
  chainId: examples.chainId,
  nonce: sender?.nonce ?? 0,
  to: bea,
  value: 1,
  maxFeePerGas: 10n ** 11n,
  maxPriorityFeePerGas: 1,
  gasLimit: 21_000,
})

const newFilter: Call = ['eth_newFilter', [{ fromBlock: '0xc8', toBlock: '0xc8' }]]
const newHeads: Call = ['eth_subscribe', ['newHeads']]

const free = `0x${'0'.repeat(34)}0c0de9`
/** Code that returns 576 KiB of zeros. */
const giving = { [free]: { code: '0x620900005ff3' } }
/** Code that reads 16,001 slots, one after the other. */
const reading = { [free]: { code: '0x5f5b80545060010180613e80116001570000' } }
/** Code that loops until its gas is used up. */
const looping = { [free]: { code: '0x5b5f56' } }
/** Proofs in the storage trie of this contract are long. */
const roots = addressOf('BeaconRoots')
/** The trace of this block with memory is long. */
const tracedBlock = 84
/** The first transaction of the block loops. */
const loopedHash = blockAt(43).transactions[0]?.hash

const balanceOfBea = { to: tide, data: hex(encodeCall('balanceOf(address)', [bytesOf(bea)])) }

/** A call with all members, and its additional parameters. */
const message = {
  from: ada,
  to: tide,
  gas: '0x186a0',
  maxFeePerGas: '0x3b9aca000',
  maxPriorityFeePerGas: '0x1',
  value: '0x0',
  input: `0x70a08231${ada.slice(2).padStart(64, '0')}`,
  nonce: '0x0',
  accessList: [{ address: tide, storageKeys: [`0x${'0'.repeat(64)}`] }],
}
const overrides = {
  [ada]: {
    balance: '0xde0b6b3a7640000',
    nonce: '0x1',
    stateDiff: { [`0x${'1'.repeat(64)}`]: `0x${'2'.repeat(64)}` },
  },
  [tide]: { code: '0x6001600055', state: {} },
}
const blockOverrides = { number: '0x100', time: '0x70000000', baseFeePerGas: '0x1', feeRecipient: ada }
const traceOptions = {
  tracer: 'prestateTracer',
  tracerConfig: { diffMode: true, disableCode: true },
  timeout: '5s',
  reexec: 128,
  enableMemory: true,
  limit: 1_000,
}
const subscribedLogs = {
  address: [tide],
  topics: [null, [`0x${'3'.repeat(64)}`]],
  fromBlock: '0x0',
  policy: 'dropOldest',
  queueBytes: 65536,
}

/** Methods without parameters: the first one's answer reads rows of the chain, the second one's does not. */
const readWithoutParams: MethodEntry = { reads: [[]], pinned: undefined, full: [[]] }
const answerWithoutParams: MethodEntry = { reads: undefined, examples: [[]], pinned: undefined, full: [[]] }

export const methodTable: { readonly [M in MethodName]: MethodEntry } = {
  admin_nodeInfo: readWithoutParams,
  debug_chainConfig: readWithoutParams,
  debug_executionWitness: {
    // The whole block is executed again for each missing part.
    reads: [1, 14, 60, 148].map((number) => [quantity(number)]),
    pinned: (block) => [block],
    full: [['latest'], [{ blockHash: someHash }]],
  },
  debug_getBadBlocks: answerWithoutParams,
  debug_getRawBlock: {
    reads: blockIds,
    pinned: (block) => [block],
    full: [['latest'], [{ blockHash: someHash }]],
  },
  debug_getRawBlockAccessList: {
    reads: blockIds,
    pinned: (block) => [block],
    full: [['latest'], [{ blockHash: someHash }]],
  },
  debug_getRawHeader: {
    reads: blockIds,
    pinned: (block) => [block],
    full: [['latest'], [{ blockHash: someHash }]],
  },
  debug_getRawReceipts: {
    reads: blockIds,
    pinned: (block) => [block],
    full: [['latest'], [{ blockHash: someHash }]],
  },
  debug_getRawTransaction: { reads: transactionHashes, pinned: undefined, full: [[someHash]] },
  debug_accountRange: {
    reads: undefined,
    examples: [['0xc8', '0x', 3]],
    ownAnswers: { gateway: /this network does not hold whole states/ },
    pinned: (block) => [block, '0x', 3],
    full: [['0x10', '0x12', 5, true, true, false]],
  },
  debug_getModifiedAccountsByHash: {
    reads: undefined,
    examples: [[blockAt(45).hash]],
    ownAnswers: { gateway: /this network does not hold when accounts changed/ },
    pinned: undefined,
    full: [[someHash, someHash]],
  },
  debug_getModifiedAccountsByNumber: {
    reads: undefined,
    examples: [[40, 60]],
    ownAnswers: { gateway: /this network does not hold when accounts changed/ },
    pinned: undefined,
    full: [[1, 2]],
  },
  debug_intermediateRoots: {
    reads: [45, 14].map((number) => [blockAt(number).hash]),
    pinned: undefined,
    full: [[someHash, traceOptions]],
  },
  debug_storageRangeAt: {
    reads: undefined,
    examples: [['0xc8', 0, tide, '0x', 3]],
    ownAnswers: { gateway: /this network does not hold whole states/ },
    pinned: (block) => [block, 0, tide, '0x', 2],
    full: [['0x10', 0, tide, '0x00', 5]],
  },
  debug_traceBlockByHash: {
    reads: [
      [blockAt(45).hash, { tracer: 'callTracer' }],
      [blockAt(200).hash, { tracer: 'prestateTracer' }],
    ],
    longCall: [blockAt(tracedBlock).hash, { enableMemory: true }],
    pinned: undefined,
    full: [[someHash, traceOptions]],
  },
  debug_traceBlockByNumber: {
    // The second answer is longer than one part of an answer.
    reads: [
      [quantity(14), { tracer: 'flatCallTracer' }],
      [quantity(84), { enableMemory: true }],
    ],
    longCall: [quantity(tracedBlock), { enableMemory: true }],
    pinned: (block) => [block],
    full: [['0x1', { ...traceOptions, tracer: 'muxTracer', tracerConfig: { noopTracer: {} } }]],
  },
  debug_traceCall: {
    reads: examples.contracts.map(({ address }) => [{ to: address, data: '0x18160ddd' }, 'latest']),
    longCall: [{ to: free, gas: '0x14c08' }, 'latest', { stateOverrides: looping }],
    // Without gas the call gets a multiple of the gas limit of its pinned block, which the trace shows.
    pinned: (block) => [{ ...balanceOfBea, gas: '0x186a0' }, block],
    full: [[message, '0x1', { ...traceOptions, stateOverrides: overrides, blockOverrides, txIndex: '0x0' }]],
  },
  debug_traceCallMany: {
    reads: examples.contracts.map(({ address }) => [
      [{ transactions: [{ to: address, data: '0x18160ddd' }] }],
      { blockNumber: 'latest' },
    ]),
    pinned: (block) => [[{ transactions: [{ ...balanceOfBea, gas: '0x186a0' }] }], { blockNumber: block }],
    full: [[[{ transactions: [message] }], { blockNumber: '0x1', transactionIndex: 0 }, traceOptions]],
  },
  debug_traceTransaction: {
    reads: tracedHashes.flatMap(([hash]) => [[hash], [hash, { tracer: '4byteTracer' }]]),
    longCall: [loopedHash, {}],
    pinned: undefined,
    full: [[someHash, traceOptions]],
  },
  trace_block: {
    reads: [45, 200].map((number) => [quantity(number)]),
    pinned: (block) => [block],
    full: [['0x1']],
  },
  trace_call: {
    reads: examples.contracts.map(({ address }) => [
      { to: address, data: '0x18160ddd' },
      ['trace', 'vmTrace', 'stateDiff'],
      '0x64',
    ]),
    pinned: (block) => [{ ...balanceOfBea, gas: '0x186a0' }, ['trace'], block],
    full: [[message, ['trace', 'vmTrace', 'stateDiff'], '0x1']],
  },
  trace_callMany: {
    reads: [[[[{ to: examples.contracts[0]?.address, data: '0x18160ddd' }, ['trace']]], '0x64']],
    pinned: (block) => [[[{ ...balanceOfBea, gas: '0x186a0' }, ['trace']]], block],
    full: [[[[message, ['trace', 'stateDiff']]], '0x1']],
  },
  trace_rawTransaction: {
    reads: undefined,
    examples: [[transfer, ['trace', 'stateDiff']]],
    pinned: undefined,
    full: [['0x02f8', ['trace'], '0x1']],
  },
  trace_replayBlockTransactions: {
    reads: [45, 200].map((number) => [quantity(number), ['trace', 'stateDiff']]),
    pinned: (block) => [block, ['trace', 'stateDiff']],
    full: [['0x1', ['trace', 'vmTrace', 'stateDiff']]],
  },
  trace_replayTransaction: {
    reads: tracedHashes.map(([hash]) => [hash, ['trace', 'vmTrace', 'stateDiff']]),
    pinned: undefined,
    full: [[someHash, ['vmTrace']]],
  },
  trace_filter: {
    reads: [[{ fromBlock: '0xc8', toBlock: '0xc9', count: 5 }]],
    longCall: [{}],
    pinned: (block) => [{ fromBlock: block, toBlock: block }],
    full: [
      [{ fromBlock: '0x1', toBlock: '0x2', fromAddress: [ada], toAddress: [tide], after: 1, count: '0x2' }],
    ],
  },
  trace_get: {
    reads: tracedHashes.map(([hash]) => [hash, ['0x0']]),
    pinned: undefined,
    full: [[someHash, ['0x0', '0x1']]],
  },
  trace_transaction: { reads: tracedHashes, pinned: undefined, full: [[someHash]] },
  eth_getAccount: { reads: accountStates, pinned: (block) => [tide, block], full: [[ada, 'latest']] },
  eth_getBalance: { reads: accountStates, pinned: (block) => [bea, block], full: [[ada, 'latest']] },
  eth_getBlockTransactionCountByHash: { reads: blockHashes, pinned: undefined, full: [[someHash]] },
  eth_getBlockTransactionCountByNumber: {
    reads: blockNumbers,
    pinned: (block) => [block],
    full: [['latest']],
  },
  eth_getCode: {
    reads: accountStates,
    pinned: (block) => [tide, block],
    full: [[tide, { blockHash: someHash }]],
  },
  eth_getHeaderByHash: { reads: blockHashes, pinned: undefined, full: [[someHash]] },
  erigon_getHeaderByNumber: { reads: blockNumbers, pinned: (block) => [block], full: [['latest']] },
  eth_getHeaderByNumber: { reads: blockNumbers, pinned: (block) => [block], full: [['latest']] },
  eth_getRawTransactionByBlockHashAndIndex: {
    reads: blockHashes.map(([hash]) => [hash, '0x0']),
    pinned: undefined,
    full: [[someHash, '0x0']],
  },
  eth_getRawTransactionByBlockNumberAndIndex: {
    reads: blockNumbers.map(([number]) => [number, '0x0']),
    pinned: (block) => [block, '0x0'],
    full: [['latest', '0x0']],
  },
  eth_getRawTransactionByHash: { reads: transactionHashes, pinned: undefined, full: [[someHash]] },
  eth_getStorageValues: {
    reads: examples.slots.map(({ address, slot, block }) => [{ [address]: [slot] }, quantity(block)]),
    pinned: (block) => [{ [tide]: [`0x${'0'.repeat(64)}`] }, block],
    full: [[{ [tide]: [`0x${'0'.repeat(64)}`] }, 'latest']],
  },
  eth_getTransactionByHash: { reads: transactionHashes, pinned: undefined, full: [[someHash]] },
  eth_getTransactionBySenderAndNonce: {
    reads: people.map(({ address }) => [address, '0x1']),
    pinned: undefined,
    full: [[ada, '0x0']],
  },
  eth_getTransactionCount: { reads: accountStates, pinned: (block) => [bea, block], full: [[ada, 'latest']] },
  eth_getTransactionReceipt: { reads: transactionHashes, pinned: undefined, full: [[someHash]] },
  eth_getUncleByBlockHashAndIndex: {
    reads: blockHashes.map(([hash]) => [hash, '0x0']),
    pinned: undefined,
    full: [[someHash, '0x0']],
  },
  eth_getUncleCountByBlockHash: { reads: blockHashes, pinned: undefined, full: [[someHash]] },
  eth_getUncleCountByBlockNumber: { reads: blockNumbers, pinned: (block) => [block], full: [['latest']] },
  eth_fillTransaction: {
    reads: examples.contracts.map(({ address }) => [{ from: ada, to: address, gas: '0x186a0' }]),
    examples: [[{ from: bea, to: tide, gas: '0x186a0' }]],
    pinned: undefined,
    full: [[message]],
  },
  eth_gasPrice: readWithoutParams,
  eth_maxPriorityFeePerGas: readWithoutParams,
  eth_baseFee: readWithoutParams,
  eth_blobBaseFee: readWithoutParams,
  eth_feeHistory: {
    reads: [
      ['0x2', 'latest', []],
      [3, '0xc8', [0, 50, 100]],
      ['0x2', 'pending', [50]],
    ],
    pinned: (block) => ['0x2', block, [10, 50]],
    full: [['0x4', 'latest', [10, 50.5]]],
  },
  eth_capabilities: readWithoutParams,
  eth_config: readWithoutParams,
  eth_accounts: answerWithoutParams,
  eth_sendTransaction: {
    reads: undefined,
    examples: [[{ from: ada, to: bea }]],
    pinned: undefined,
    full: [[{ from: ada, to: ada }]],
  },
  eth_sendUnsignedTransaction: {
    reads: undefined,
    examples: [[{ from: ada, to: bea }]],
    pinned: undefined,
    full: [[{ from: ada, to: ada }]],
  },
  eth_signTransaction: {
    reads: undefined,
    examples: [[{ from: ada, to: bea }]],
    pinned: undefined,
    full: [[{ from: ada, to: ada }]],
  },
  eth_sign: { reads: undefined, examples: [[ada, '0x1234']], pinned: undefined, full: [[ada, '0x1234']] },
  eth_signTypedData_v4: { reads: undefined, examples: [[ada, '{}']], pinned: undefined, full: [[ada, '{}']] },
  personal_sign: {
    reads: undefined,
    examples: [['0x1234', ada]],
    pinned: undefined,
    full: [['0x1234', ada]],
  },
  eth_mining: answerWithoutParams,
  eth_hashrate: answerWithoutParams,
  net_listening: answerWithoutParams,
  net_peerCount: answerWithoutParams,
  web3_sha3: { reads: undefined, examples: [['0x74696465']], pinned: undefined, full: [['0x68656c6c6f']] },
  ots_getApiLevel: answerWithoutParams,
  ots_getBlockDetails: { reads: blockNumbers, pinned: (block) => [block], full: [['latest'], [16]] },
  ots_getBlockDetailsByHash: { reads: blockHashes, pinned: undefined, full: [[someHash]] },
  ots_getBlockTransactions: {
    reads: blockNumbers.map(([number]) => [number, 0, 3]),
    pinned: (block) => [block, 0, 25],
    full: [['latest', 0, 25]],
  },
  ots_getTransactionBySenderAndNonce: {
    reads: people.map(({ address }) => [address, 1]),
    pinned: undefined,
    full: [[ada, 0]],
  },
  ots_traceTransaction: { reads: tracedHashes, pinned: undefined, full: [[someHash]] },
  ots_getInternalOperations: { reads: tracedHashes, pinned: undefined, full: [[someHash]] },
  ots_getTransactionError: { reads: tracedHashes, pinned: undefined, full: [[someHash]] },
  ots_getContractCreator: {
    reads: undefined,
    examples: [[tide]],
    ownAnswers: { gateway: /this network does not hold when accounts changed/ },
    pinned: undefined,
    full: [[tide]],
  },
  ots_searchTransactionsBefore: {
    reads: undefined,
    examples: [[bea, 0, 5]],
    ownAnswers: { gateway: /this network does not hold when accounts changed/ },
    pinned: undefined,
    full: [[tide, 100, 25]],
  },
  ots_searchTransactionsAfter: {
    reads: undefined,
    examples: [[bea, 0, 5]],
    ownAnswers: { gateway: /this network does not hold when accounts changed/ },
    pinned: undefined,
    full: [[tide, 100, 25]],
  },
  ots_hasCode: { reads: accountStates, pinned: (block) => [bea, block], full: [[tide, 'latest']] },
  rpc_modules: answerWithoutParams,
  rpc_discover: {
    reads: [[]],
    // A gateway proves results that others have executed.
    ownAnswers: { gateway: /"x-basis":\{[^}]*"state":"proved"/ },
    pinned: undefined,
    full: [[]],
  },
  eth_blockNumber: readWithoutParams,
  eth_chainId: readWithoutParams,
  eth_syncing: readWithoutParams,
  net_version: readWithoutParams,
  web3_clientVersion: readWithoutParams,
  eth_getFilterChanges: {
    reads: undefined,
    sequences: [[newFilter, ['eth_getFilterChanges', [idOfFirst]]]],
    examples: [['0x1']],
    pinned: undefined,
    full: [['0x1']],
  },
  eth_getFilterLogs: {
    reads: undefined,
    sequences: [[newFilter, ['eth_getFilterLogs', [idOfFirst]]]],
    examples: [['0x1']],
    pinned: undefined,
    full: [['0x1']],
  },
  eth_newBlockFilter: { ...answerWithoutParams, givesId: true },
  eth_newFilter: {
    reads: undefined,
    examples: [[{ fromBlock: '0xc8', toBlock: '0xc8' }]],
    givesId: true,
    pinned: undefined,
    full: [
      [{ address: [tide], topics: [null, [`0x${'3'.repeat(64)}`]], fromBlock: '0x1', toBlock: 'latest' }],
    ],
  },
  eth_newPendingTransactionFilter: {
    reads: undefined,
    examples: [[]],
    givesId: true,
    pinned: undefined,
    full: [[true]],
  },
  eth_uninstallFilter: {
    reads: undefined,
    sequences: [[newFilter, ['eth_uninstallFilter', [idOfFirst]], ['eth_getFilterLogs', [idOfFirst]]]],
    examples: [['0x1']],
    pinned: undefined,
    full: [['0x1']],
  },
  eth_sendRawTransaction: {
    reads: undefined,
    examples: [[transfer], ['0x']],
    ownAnswers: {
      // The second alternative comes from the archive behind the follower and the gateway.
      follower: /typed transaction too short|no upstream to send transactions to/,
      gateway: /typed transaction too short|no upstream to send transactions to/,
    },
    pinned: undefined,
    full: [['0x02f8']],
  },
  eth_sendRawTransactionSync: {
    reads: undefined,
    examples: [[transfer, 1]],
    ownAnswers: {
      follower: /no upstream to send transactions to/,
      gateway: /no upstream to send transactions to/,
    },
    pinned: undefined,
    full: [['0x02f8', 1]],
  },
  txpool_content: answerWithoutParams,
  txpool_contentFrom: { reads: undefined, examples: [[bea]], pinned: undefined, full: [[ada]] },
  txpool_inspect: answerWithoutParams,
  txpool_status: answerWithoutParams,
  eth_simulateV1: {
    reads: accountStates.map(([address, block]) => [
      { blockStateCalls: [{}, { calls: [{ to: address }] }], validation: false },
      ...(block === undefined ? [] : [block]),
    ]),
    longCall: [{ blockStateCalls: [{ stateOverrides: giving, calls: [{ to: free }] }] }, 'latest'],
    pinned: (block) => [{ blockStateCalls: [{ calls: [balanceOfBea] }] }, block],
    full: [
      [
        {
          blockStateCalls: [
            {
              blockOverrides: {
                ...blockOverrides,
                prevRandao: `0x${'5'.repeat(64)}`,
                beaconRoot: `0x${'6'.repeat(64)}`,
                withdrawals: [{ index: '0x1', validatorIndex: '0x2', address: ada, amount: '0x3' }],
              },
              stateOverrides: overrides,
              calls: [message],
            },
          ],
          validation: false,
          traceTransfers: true,
          returnFullTransactions: true,
        },
        '0xf0',
      ],
    ],
  },
  eth_subscribe: {
    reads: undefined,
    examples: [['newHeads'], ['logs', { address: tide }]],
    givesId: true,
    pinned: undefined,
    full: [['logs', subscribedLogs], ['newHeads', { policy: 'dropOldest' }], ['syncing']],
  },
  eth_unsubscribe: {
    reads: undefined,
    sequences: [[newHeads, ['eth_unsubscribe', [idOfFirst]]]],
    examples: [['0x1']],
    pinned: undefined,
    full: [['0x1']],
  },
  tidegate_getMappingSlot: {
    reads: undefined,
    examples: [[[bea, ada], '0x3']],
    pinned: undefined,
    full: [
      [[ada, [ada, '0x1']], '0x3'],
      [[[ada, 5]], '0x3', ['address', 'uint256']],
    ],
  },
  eth_getBlockByNumber: {
    reads: [
      ...blocks.flatMap((number) => [
        [quantity(number), true],
        [quantity(number), false],
      ]),
      ...['latest', 'earliest', 'pending', 'finalized'].map((tag) => [tag, false]),
      ['0xffff', true],
    ],
    pinned: (block) => [block, true],
    full: [['0x10', false]],
  },
  eth_getBlockByHash: {
    reads: [...blocks.map((number) => [blockAt(number).hash, true]), [unknownHash, false]],
    pinned: undefined,
    full: [[someHash, true]],
  },
  eth_getBlockAccessList: {
    reads: blockIds,
    pinned: (block) => [block],
    full: [['latest'], [{ blockHash: someHash }]],
  },
  eth_getBlockReceipts: {
    reads: [...blocks.map(quantity), ...blocks.map((number) => blockAt(number).hash)].map((id) => [id]),
    pinned: (block) => [block],
    full: [['latest'], [{ blockNumber: '0x10' }]],
  },
  eth_getLogs: {
    reads: [
      [{ fromBlock: 'earliest' }],
      ...examples.contracts.map(({ address }) => [{ address, fromBlock: '0x1', toBlock: '0x100' }]),
      ...blocks.map((number) => [{ blockHash: blockAt(number).hash }]),
    ],
    pinned: (block) => [{ fromBlock: block, toBlock: block, topics: [[], []] }],
    full: [
      [{ address: [tide], topics: [null, [`0x${'3'.repeat(64)}`]], fromBlock: '0x1', toBlock: 'latest' }],
      [{ address: tide, blockHash: someHash }],
    ],
  },
  tidegate_getHeaderProof: { reads: blockHashes, pinned: undefined, full: [[someHash]] },
  tidegate_getLogs: {
    reads: [[{ fromBlock: '0x1', limit: 20 }], [{ fromBlock: '0xc0', toBlock: '0xd0' }]],
    pinned: (block) => [{ fromBlock: block, toBlock: block, limit: 5 }],
    full: [
      [{ address: tide, fromBlock: '0x1', limit: 5 }],
      [{ topics: [[]], limit: 3, cursor: `0x${'00'.repeat(7)}05${someHash.slice(2)}${'00'.repeat(7)}f0` }],
    ],
  },
  eth_getUncleByBlockNumberAndIndex: {
    reads: [
      ['0xe', '0x0'],
      ['0xe', '0x1'],
      ['0xe', '0x2'],
      ['0xf', '0x0'],
    ],
    pinned: (block) => [block, '0x0'],
    full: [['0x5', '0x0']],
  },
  eth_getTransactionByBlockNumberAndIndex: {
    reads: blocks.flatMap((number) => [
      [quantity(number), '0x0'],
      [quantity(number), '0x7'],
    ]),
    pinned: (block) => [block, '0x0'],
    full: [['latest', '0x0']],
  },
  eth_getTransactionByBlockHashAndIndex: {
    reads: blocks.map((number) => [blockAt(number).hash, '0x0']),
    pinned: undefined,
    full: [[someHash, '0x0']],
  },
  eth_getStorageAt: {
    reads: examples.slots.flatMap(({ address, slot, block }) => [
      [address, slot, quantity(block)],
      [address, slot, 'latest'],
      [address, slot, { blockHash: blockAt(Math.max(block, 1)).hash }],
    ]),
    pinned: (block) => [tide, '0x0', block],
    full: [[tide, '0x0', { blockNumber: 'latest' }]],
  },
  eth_getProof: {
    reads: examples.slots.flatMap(({ address, slot, block }) => [
      [address, [slot, '0x1'], quantity(block)],
      [address, [slot], 'latest'],
    ]),
    longCall: [roots, Array.from({ length: 1_024 }, (_, slot) => quantity(slot)), 'latest'],
    pinned: (block) => [tide, ['0x0'], block],
    full: [[tide, ['0x0', `0x${'4'.repeat(64)}`], 'latest']],
  },
  eth_callMany: {
    reads: examples.contracts.map(({ address }) => [
      [{ transactions: [{ to: address, data: '0x18160ddd' }] }],
      { blockNumber: '0x64' },
    ]),
    pinned: (block) => [[{ transactions: [balanceOfBea] }], { blockNumber: block }],
    full: [
      [
        [{ transactions: [message], blockOverride: blockOverrides }],
        { blockNumber: '0x1' },
        overrides,
        5_000,
      ],
    ],
  },
  eth_call: {
    reads: examples.contracts.map(({ address }) => [{ to: address, data: '0x18160ddd' }, 'latest']),
    longCall: [{ to: free }, 'latest', giving],
    pinned: (block) => [balanceOfBea, block],
    full: [[message, 'latest', overrides, blockOverrides]],
  },
  eth_estimateGas: {
    reads: examples.accounts.map(({ address }) => [{ from: address, to: examples.contracts[0]?.address }]),
    pinned: (block) => [balanceOfBea, block],
    full: [[message, { blockHash: someHash, requireCanonical: true }, overrides]],
  },
  eth_createAccessList: {
    reads: examples.contracts.map(({ address }) => [{ to: address, data: '0x18160ddd' }, 'latest']),
    longCall: [{ to: free, gas: '0x5f5e100' }, 'latest', reading],
    // With gas, which is part of the hash in a refusal: its default follows the head.
    pinned: (block) => [{ ...balanceOfBea, gas: '0x186a0' }, block],
    full: [[message, 'latest', overrides]],
  },
  tidegate_getStorageByKeys: {
    reads: [['0x6266702fd511eb9e96861e860620674219acb382', '0x3', ['0x1', '0x2'], '0xc8']],
    pinned: (block) => [tide, '0x3', [bea], block],
    full: [
      [tide, '0x3', [ada], 'latest'],
      [tide, '0x3', ['ada'], 'latest', 'string'],
    ],
  },
  tidegate_getVerified: {
    reads: [
      ['eth_getTransactionByBlockNumberAndIndex', ['0xc8', '0x7']],
      ['eth_getTransactionReceipt', ['0xc8', '0x7']],
      ['eth_getLogs', [{ blockHash: blockAt(200).hash }, '0x7', '0x0']],
      ['eth_getTransactionReceipt', ['0xffff', '0x0']],
    ],
    pinned: (block) => ['eth_getStorageAt', [tide, '0x0', block]],
    full: [
      ['eth_getStorageAt', [tide, '0x3', 'latest']],
      ['eth_getBalance', [tide, someHash]],
      ['eth_getTransactionReceipt', [someHash, '0x0']],
      ['eth_getLogs', ['0x1', '0x0', '0x0']],
    ],
  },
  tidegate_readVariable: {
    reads: [
      ['0x64ebdf9e1dfb193e1a3504937e5fcd05545e452e', 'books[42]', '0x14'],
      ['0x64ebdf9e1dfb193e1a3504937e5fcd05545e452e', 'books[42].title', 'latest'],
    ],
    pinned: (block) => [tide, 'totalSupply', block],
    full: [
      [tide, 'balanceOf["x"][1].name', 'latest'],
      [tide, 'totalSupply', 'latest'],
    ],
  },
}
