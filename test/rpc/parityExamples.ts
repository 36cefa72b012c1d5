/**
 * Calls of every method, for servers that have to answer alike. Methods that read a chain take theirs from
 * {@link readQuestions}, all others from here; what makes its answers longer than 1 MiB stands here, too.
 */
import { Wallet } from 'ethers'
import type { MethodName } from '../../src/serving/rpc/registry.js'
import type { RollupMethodName } from '../../src/serving/rpc/rollup/rollupRegistry.js'
import { hashVectors } from '../rollup/invokeTransactions.js'
import { addressOf, blockAt, examples, quantity } from './demoChain.js'
import { readQuestions } from './readQuestions.js'

export type AnyMethod = MethodName | RollupMethodName

/** A call; its parameters may need the id that the first call of its example gave. */
export type Call = readonly [method: AnyMethod, params: unknown]

/** Calls that are made one after the other, on one connection. */
export type Example = readonly Call[]

/** How a network comes by its chain. */
export type Kind = 'archive' | 'follower' | 'replica' | 'gateway'

/** Stands in parameters for the id that the first call of an example gave. */
export const idOfFirst = '<id>'

/** Methods whose result is an id, a new one each time. */
export const givesId: ReadonlySet<string> = new Set<AnyMethod>([
  'eth_newBlockFilter',
  'eth_newFilter',
  'eth_newPendingTransactionFilter',
  'eth_subscribe',
  'rollupx_subscribeTransactionStatus',
])

const [ada] = examples.accounts
const wallet = new Wallet(ada?.privateKey ?? '')
const transfer = await wallet.signTransaction({
  type: 2,
  chainId: examples.chainId,
  nonce: ada?.nonce ?? 0,
  to: addressOf('bea'),
  value: 1,
  maxFeePerGas: 10n ** 11n,
  maxPriorityFeePerGas: 1,
  gasLimit: 21_000,
})
const [vector] = hashVectors
if (vector === undefined) throw new RangeError('there are no recorded hashes')
const invoke = vector.tx
const invokeHash = vector.expected_hash
/** The chain on which it has this hash. */
export const invokeChain = vector.chain_id

const filter: Call = ['eth_newFilter', [{ fromBlock: '0xc8', toBlock: '0xc8' }]]
const heads: Call = ['eth_subscribe', ['newHeads']]

const others: { readonly [M in AnyMethod]?: readonly Example[] } = {
  debug_accountRange: [[['debug_accountRange', ['0xc8', '0x', 3]]]],
  debug_getBadBlocks: [[['debug_getBadBlocks', []]]],
  debug_getModifiedAccountsByHash: [[['debug_getModifiedAccountsByHash', [blockAt(45).hash]]]],
  debug_getModifiedAccountsByNumber: [[['debug_getModifiedAccountsByNumber', [40, 60]]]],
  debug_storageRangeAt: [[['debug_storageRangeAt', ['0xc8', 0, addressOf('Tide'), '0x', 3]]]],
  eth_accounts: [[['eth_accounts', []]]],
  eth_sendTransaction: [[['eth_sendTransaction', [{ from: addressOf('ada'), to: addressOf('bea') }]]]],
  eth_sign: [[['eth_sign', [addressOf('ada'), '0x1234']]]],
  eth_signTypedData_v4: [[['eth_signTypedData_v4', [addressOf('ada'), '{}']]]],
  personal_sign: [[['personal_sign', ['0x1234', addressOf('ada')]]]],
  eth_mining: [[['eth_mining', []]]],
  eth_hashrate: [[['eth_hashrate', []]]],
  net_listening: [[['net_listening', []]]],
  net_peerCount: [[['net_peerCount', []]]],
  web3_sha3: [[['web3_sha3', ['0x74696465']]]],
  ots_getApiLevel: [[['ots_getApiLevel', []]]],
  ots_getContractCreator: [[['ots_getContractCreator', [addressOf('Tide')]]]],
  ots_searchTransactionsBefore: [[['ots_searchTransactionsBefore', [addressOf('bea'), 0, 5]]]],
  ots_searchTransactionsAfter: [[['ots_searchTransactionsAfter', [addressOf('bea'), 0, 5]]]],
  rpc_modules: [[['rpc_modules', []]]],
  eth_newBlockFilter: [[['eth_newBlockFilter', []]]],
  eth_newPendingTransactionFilter: [[['eth_newPendingTransactionFilter', []]]],
  eth_newFilter: [[filter]],
  eth_getFilterChanges: [
    [filter, ['eth_getFilterChanges', [idOfFirst]]],
    [['eth_getFilterChanges', ['0x1']]],
  ],
  eth_getFilterLogs: [[filter, ['eth_getFilterLogs', [idOfFirst]]], [['eth_getFilterLogs', ['0x1']]]],
  eth_uninstallFilter: [
    [filter, ['eth_uninstallFilter', [idOfFirst]], ['eth_getFilterLogs', [idOfFirst]]],
    [['eth_uninstallFilter', ['0x1']]],
  ],
  eth_fillTransaction: [
    [['eth_fillTransaction', [{ from: addressOf('bea'), to: addressOf('Tide'), gas: '0x186a0' }]]],
  ],
  eth_sendRawTransactionSync: [[['eth_sendRawTransactionSync', [transfer, 1]]]],
  trace_rawTransaction: [[['trace_rawTransaction', [transfer, ['trace', 'stateDiff']]]]],
  txpool_content: [[['txpool_content', []]]],
  txpool_contentFrom: [[['txpool_contentFrom', [addressOf('bea')]]]],
  txpool_inspect: [[['txpool_inspect', []]]],
  txpool_status: [[['txpool_status', []]]],
  eth_sendRawTransaction: [[['eth_sendRawTransaction', [transfer]]], [['eth_sendRawTransaction', ['0x']]]],
  eth_subscribe: [[heads], [['eth_subscribe', ['logs', { address: addressOf('Tide') }]]]],
  eth_unsubscribe: [[heads, ['eth_unsubscribe', [idOfFirst]]], [['eth_unsubscribe', ['0x1']]]],
  tidegate_getMappingSlot: [[['tidegate_getMappingSlot', [[addressOf('bea'), addressOf('ada')], '0x3']]]],
  rollupx_addInvokeTransaction: [
    [['rollupx_addInvokeTransaction', { invoke_transaction: invoke }]],
    [['rollupx_addInvokeTransaction', [{}]]],
  ],
  rollupx_blockNumber: [[['rollupx_blockNumber', []]]],
  rollupx_chainId: [[['rollupx_chainId', []]]],
  rollupx_getBlockWithTxs: [[['rollupx_getBlockWithTxs', ['latest']]]],
  rollupx_estimateFee: [[['rollupx_estimateFee', [[invoke], ['SKIP_VALIDATE'], 'latest']]]],
  rollupx_getClassAt: [[['rollupx_getClassAt', ['latest', '0x71de']]]],
  rollupx_getNonce: [[['rollupx_getNonce', ['latest', '0x71de']]]],
  rollupx_getTransactionByHash: [
    [['rollupx_getTransactionByHash', [invokeHash]]],
    [['rollupx_getTransactionByHash', ['0x1']]],
  ],
  rollupx_getTransactionReceipt: [[['rollupx_getTransactionReceipt', ['0x1']]]],
  rollupx_getTransactionStatus: [
    [['rollupx_getTransactionStatus', [invokeHash]]],
    [['rollupx_getTransactionStatus', ['0x1']]],
  ],
  rollupx_specVersion: [[['rollupx_specVersion', []]]],
  rollupx_subscribeTransactionStatus: [[['rollupx_subscribeTransactionStatus', [invokeHash]]]],
  rollupx_unsubscribe: [
    [
      ['rollupx_subscribeTransactionStatus', [invokeHash]],
      ['rollupx_unsubscribe', [idOfFirst]],
    ],
  ],
}

const free = `0x${'0'.repeat(34)}0c0de9`
/** Code that returns 576 KiB of zeros. */
const giving = { [free]: { code: '0x620900005ff3' } }
/** Code that reads 16,001 slots, one after the other. */
const reading = { [free]: { code: '0x5f5b80545060010180613e80116001570000' } }
/** Code that loops until its gas is used up. */
const looping = { [free]: { code: '0x5b5f56' } }
/** It has a trie of storage in which proofs are long. */
const roots = addressOf('BeaconRoots')
/** With memory, its trace is long. */
const tracedBlock = 84
/** Its first transaction loops. */
const loopedHash = blockAt(43).transactions[0]?.hash

/** Calls whose answers are longer than 1 MiB, of the methods that have such answers on the demo chain. */
export const longCalls: { readonly [M in AnyMethod]?: unknown } = {
  debug_traceBlockByHash: [blockAt(tracedBlock).hash, { enableMemory: true }],
  debug_traceBlockByNumber: [quantity(tracedBlock), { enableMemory: true }],
  debug_traceCall: [{ to: free, gas: '0x14c08' }, 'latest', { stateOverrides: looping }],
  debug_traceTransaction: [loopedHash, {}],
  trace_filter: [{}],
  eth_call: [{ to: free }, 'latest', giving],
  eth_createAccessList: [{ to: free, gas: '0x5f5e100' }, 'latest', reading],
  eth_getProof: [roots, Array.from({ length: 1_024 }, (_, slot) => quantity(slot)), 'latest'],
  eth_simulateV1: [{ blockStateCalls: [{ stateOverrides: giving, calls: [{ to: free }] }] }, 'latest'],
}

/** Most questions of one method. */
const questionsMax = 3

/** The examples of a method with short answers; none for a method that has no example yet. */
export function examplesOf(method: AnyMethod): readonly Example[] {
  const questions = readQuestions[method as MethodName] ?? []
  // With memory, traces are long.
  const short = questions.filter((params) => !JSON.stringify(params).includes('enableMemory'))
  return others[method] ?? short.slice(0, questionsMax).map((params) => [[method, params]])
}

/** What these kinds answer instead of what the archive answers: text of the answer. */
export const ownAnswers: { readonly [M in AnyMethod]?: { readonly [K in Kind]?: RegExp } } = {
  debug_accountRange: { gateway: /this network does not hold whole states/ },
  debug_getModifiedAccountsByHash: { gateway: /this network does not hold when accounts changed/ },
  debug_getModifiedAccountsByNumber: { gateway: /this network does not hold when accounts changed/ },
  debug_storageRangeAt: { gateway: /this network does not hold whole states/ },
  // It proves what others have executed.
  rpc_discover: { gateway: /"x-basis":\{[^}]*"state":"proved"/ },
  eth_sendRawTransactionSync: {
    follower: /no upstream to send transactions to/,
    gateway: /no upstream to send transactions to/,
  },
  eth_sendRawTransaction: {
    // The archive behind them says the second.
    follower: /typed transaction too short|no upstream to send transactions to/,
    gateway: /typed transaction too short|no upstream to send transactions to/,
  },
  ots_getContractCreator: { gateway: /this network does not hold when accounts changed/ },
  ots_searchTransactionsAfter: { gateway: /this network does not hold when accounts changed/ },
  ots_searchTransactionsBefore: { gateway: /this network does not hold when accounts changed/ },
}
