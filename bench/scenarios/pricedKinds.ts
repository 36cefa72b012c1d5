/** The calls with compared prices: usual calls, and calls chosen to get the most for a unit. */
import { toQuantity } from '../../src/primitives/bytes.js'
import {
  addressOf,
  calldata,
  fullBlock,
  headNumber,
  slots,
  smallBlock,
  transactionHashes,
  uncleBlock,
  word,
} from '../data/demoFacts.js'
import { scatter } from '../data/scatter.js'
import { rpc } from '../load/rpc.js'
import { bomb, code, precompileBombs, precompileLoop } from '../neighbours/bombs.js'
import { bodyBytesMax, hardTexts } from '../neighbours/probes.js'

export interface PricedKind {
  readonly name: string
  /** Body of the n-th request, one call. */
  question(n: number): string
  /** Whether the scenario takes seconds. */
  readonly isLong?: boolean
}

const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')
const full = toQuantity(fullBlock.number)
/** Rounds of a loop of about a million gas. */
const loopRounds = 12_000

function someBlock(n: number): string {
  return toQuantity(1 + (scatter(n) % headNumber))
}

function tokenTransfer(n: number): object {
  return { from: bea, to: tide, data: calldata('transfer(address,uint256)', [cal, n + 1]) }
}

function transactionHash(n: number): string {
  return transactionHashes[scatter(n) % transactionHashes.length] as string
}

function words(n: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => word(n * count + at))
}

function precompile(contract: string): (n: number) => string {
  const found = precompileBombs.find(({ name }) => name === contract)
  if (found === undefined) throw new RangeError(`there is no bomb for ${contract}`)
  const data = found.data(found.sizeMax)
  return (n) => bomb(n, precompileLoop(found.address), data)
}

function asked(name: string, params: (n: number) => readonly unknown[], what = ''): PricedKind {
  return { name: what === '' ? name : `${name}, ${what}`, question: (n) => rpc(name, params(n)) }
}

/** Calls with the same parameters. */
function askedEach(names: string, params: (n: number) => readonly unknown[], what = ''): PricedKind[] {
  return names.split(' ').map((name) => asked(name, params, what))
}

const withoutParameters =
  'eth_chainId eth_syncing net_version web3_clientVersion eth_accounts eth_mining eth_hashrate eth_capabilities ' +
  'eth_config admin_nodeInfo debug_chainConfig net_listening net_peerCount rpc_modules ots_getApiLevel rpc_discover ' +
  'debug_getBadBlocks eth_baseFee eth_blobBaseFee eth_gasPrice eth_maxPriorityFeePerGas eth_newBlockFilter ' +
  'eth_newPendingTransactionFilter'
const ofTransactions =
  'eth_getTransactionByHash eth_getTransactionReceipt eth_getRawTransactionByHash debug_getRawTransaction ' +
  'debug_traceTransaction trace_transaction ots_traceTransaction ots_getInternalOperations ots_getTransactionError'
const ofBlocks =
  'erigon_getHeaderByNumber eth_getHeaderByNumber eth_getBlockTransactionCountByNumber ' +
  'eth_getUncleCountByBlockNumber debug_getRawHeader debug_getRawBlock debug_getRawReceipts'
const ofBlockHashes = 'eth_getHeaderByHash eth_getBlockTransactionCountByHash eth_getUncleCountByBlockHash'
const ofMessages = 'eth_call eth_estimateGas eth_fillTransaction eth_createAccessList'

/** The first one defines the unit: a read answered from memory. */
export const pricedKinds: readonly PricedKind[] = [
  asked('eth_blockNumber', () => []),
  ...askedEach(withoutParameters, () => []),
  ...askedEach('eth_getBalance eth_getTransactionCount eth_getCode eth_getAccount ots_hasCode', (n) => [
    tide,
    someBlock(n),
  ]),
  ...askedEach(ofTransactions, (n) => [transactionHash(n)]),
  ...askedEach(ofBlocks, () => [full]),
  ...askedEach(ofBlockHashes, () => [fullBlock.hash]),
  ...askedEach(ofMessages, (n) => [tokenTransfer(n)], 'token transfer'),
  ...askedEach('ots_getBlockDetails debug_executionWitness trace_block', () => [full], '200 transactions'),
  ...askedEach(
    'ots_getBlockDetailsByHash debug_intermediateRoots',
    () => [fullBlock.hash],
    '200 transactions',
  ),
  ...['eth_getTransaction', 'eth_getRawTransaction'].flatMap((name) => [
    asked(`${name}ByBlockNumberAndIndex`, (n) => [full, toQuantity(n % fullBlock.transactions)]),
    asked(`${name}ByBlockHashAndIndex`, (n) => [fullBlock.hash, toQuantity(n % fullBlock.transactions)]),
  ]),
  asked('eth_getUncleByBlockHashAndIndex', () => [uncleBlock.hash, '0x0']),
  asked('eth_getTransactionBySenderAndNonce', (n) => [bea, toQuantity(n % 20)]),
  asked('eth_getStorageValues', (n) => [{ [tide]: words(n, 1) }, someBlock(n)], '1 key'),
  asked('eth_getStorageValues', (n) => [{ [tide]: words(n, 1_024) }, someBlock(n)], '1,024 keys'),
  asked('eth_feeHistory', (n) => ['0x1', someBlock(n), [10, 50, 90]], '1 block'),
  asked('eth_feeHistory', () => ['0x108', 'latest', [10, 50, 90]], '264 blocks'),
  asked('eth_feeHistory', () => ['0x108', 'latest', []], '264 headers'),
  asked('eth_getLogs', () => [{ fromBlock: full, toBlock: full }], '316 logs of a block'),
  asked('eth_getLogs', () => [{ address: tide, fromBlock: 'earliest' }], 'all logs of a token'),
  asked('tidegate_getLogs', () => [{ address: tide, fromBlock: 'earliest' }], 'the first page of a token'),
  asked('eth_newFilter', () => [{ address: tide }]),
  asked('web3_sha3', (n) => [word(n)], '32 bytes'),
  asked('web3_sha3', () => [`0x${'5a'.repeat(2 ** 20)}`], '1 MiB'),
  asked('eth_getStorageAt', (n) => {
    const { address, slot } = slots[n % slots.length] as (typeof slots)[number]
    return [address, slot, someBlock(n)]
  }),
  asked('eth_getUncleByBlockNumberAndIndex', () => [toQuantity(uncleBlock.number), '0x0']),
  asked('eth_getBlockByHash', () => [smallBlock.hash, false], 'small'),
  asked('eth_getBlockByNumber', () => [full, false], '200 hashes'),
  asked('eth_getBlockByNumber', () => [full, true], '200 transactions'),
  asked('eth_getBlockReceipts', () => [full], '200'),
  asked('ots_getTransactionBySenderAndNonce', (n) => [bea, n % 20]),
  asked('ots_getBlockTransactions', () => [full, 0, 25], '25 of 200 transactions'),
  asked('debug_executionWitness', (n) => [someBlock(n)], 'any block'),
  asked('debug_accountRange', (n) => [someBlock(n), '0x', 256], 'all accounts'),
  asked('debug_getModifiedAccountsByNumber', (n) => [scatter(n) % headNumber, headNumber]),
  asked('debug_storageRangeAt', (n) => [someBlock(n), 0, tide, '0x', 1_024]),
  asked('debug_traceTransaction', (n) => [transactionHash(n), { tracer: 'prestateTracer' }], 'prestate'),
  asked('debug_traceBlockByHash', () => [fullBlock.hash, { tracer: 'callTracer' }], '200 transactions'),
  asked('debug_traceBlockByNumber', () => [full, {}], 'each instruction of 200 transactions'),
  asked('debug_traceCall', (n) => [tokenTransfer(n), 'latest'], 'token transfer'),
  asked('eth_callMany', (n) => [[{ transactions: Array(10).fill(tokenTransfer(n)) }]], '10 token transfers'),
  asked('debug_traceCallMany', (n) => [[{ transactions: [tokenTransfer(n)] }]], 'token transfer'),
  asked('trace_call', (n) => [tokenTransfer(n), ['trace', 'vmTrace', 'stateDiff']], 'token transfer'),
  asked(
    'trace_callMany',
    (n) => [Array(10).fill([tokenTransfer(n), ['trace']]), 'latest'],
    '10 token transfers',
  ),
  asked('trace_replayTransaction', (n) => [transactionHash(n), ['trace', 'vmTrace', 'stateDiff']]),
  asked('trace_replayBlockTransactions', () => [full, ['trace', 'stateDiff']], '200 transactions'),
  asked('trace_filter', (n) => [{ fromBlock: someBlock(n), toBlock: someBlock(n) }], 'one block'),
  asked('trace_get', (n) => [transactionHash(n), ['0x0']]),
  asked('ots_getContractCreator', () => [tide]),
  asked('ots_searchTransactionsBefore', () => [tide, 0, 25], '25 of a token'),
  asked('ots_searchTransactionsAfter', () => [bea, 0, 25], '25 of an account'),
  asked('eth_simulateV1', (n) => [{ blockStateCalls: [{ calls: [tokenTransfer(n)] }] }], 'token transfer'),
  asked(
    'eth_simulateV1',
    (n) => [{ blockStateCalls: [{ calls: Array(100).fill(tokenTransfer(n)) }, ...Array(99).fill({})] }],
    '100 token transfers, 100 blocks',
  ),
  asked(
    'eth_call',
    (n) => [{ to: addressOf('Burner'), data: calldata('burn(uint256)', [loopRounds]), nonce: toQuantity(n) }],
    'a million gas',
  ),
  { name: 'eth_call, endless loop', question: (n) => bomb(n, code.loop), isLong: true },
  { name: 'eth_call, memory of frames', question: (n) => bomb(n, code.memoryOfFrames), isLong: true },
  { name: 'eth_call, answer of 10 MiB', question: (n) => bomb(n, code.answer) },
  { name: 'eth_call, modexp', question: precompile('modexp'), isLong: true },
  { name: 'eth_call, bn254 pairing', question: precompile('bn254 pairing'), isLong: true },
  { name: 'eth_call, calldata of 2.5 MiB', question: (n) => bomb(n, '0x00', '00'.repeat(2.4 * 2 ** 20)) },
  asked('eth_getProof', (n) => [tide, words(n, 1), 'latest'], '1 key'),
  asked('eth_getProof', (n) => [tide, words(n, 1_024), 'latest'], '1,024 keys'),
  asked('tidegate_getVerified', (n) => ['eth_getStorageAt', [tide, word(n), 'latest']], 'slot'),
  asked(
    'tidegate_getVerified',
    (n) => ['eth_getTransactionByBlockNumberAndIndex', [toQuantity(fullBlock.number), toQuantity(n % 200)]],
    'transaction',
  ),
  asked(
    'tidegate_getVerified',
    (n) => ['eth_getTransactionReceipt', [toQuantity(fullBlock.number), toQuantity(199 - (n % 8))]],
    'receipt',
  ),
  asked('tidegate_readVariable', (n) => [tide, `allowance[${bea}][${cal}]`, someBlock(n)]),
  asked('tidegate_getMappingSlot', (n) => [words(n, 1), '0x3'], '1 key'),
  asked('tidegate_getMappingSlot', (n) => [words(n, 10_000), '0x3'], '10,000 keys'),
  asked(
    'tidegate_getMappingSlot',
    (n) => [words(n, 5_000).map((key) => Array<string>(15).fill(key)), '0x3'],
    '5,000 of 15 levels',
  ),
  asked('tidegate_getStorageByKeys', (n) => [tide, '0x3', words(n, 1), 'latest'], '1 key'),
  asked('tidegate_getStorageByKeys', (n) => [tide, '0x3', words(n, 10_000), someBlock(n)], '10,000 keys'),
  { name: 'no call, 2 bytes', question: () => '{}' },
  ...hardTexts(bodyBytesMax).flatMap((build, at) => {
    // Three slow texts: the nested lists, the list of objects, and the long list of parameters.
    const name = { 0: 'nested lists', 2: 'a list of objects in a list', 6: 'a million parameters' }[at]
    return name === undefined ? [] : [{ name: `no call, ${name}, 5 MiB`, question: build as () => string }]
  }),
]
