/**
 * Every method with wrong parameters at every place, asked of the program over HTTP and over a WebSocket. Whatever
 * comes, the answer is JSON-RPC and no defect. RUNS makes it longer, SEED repeats a run.
 */
import t from 'tap'
import type { MethodName } from '../../../src/serving/rpc/registry.js'
import type { RollupMethodName } from '../../../src/serving/rpc/rollup/rollupRegistry.js'
import { Dice, runsFactor } from '../../library/property.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { startRollup } from '../../rollup/rollupService.js'
import { examples } from '../../rpc/demoChain.js'
import { type RpcAnswer, reportsOf, type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const seed = Number(process.env.SEED ?? Date.now() & 0x7fffffff)
const dice = new Dice(seed)
/** Calls of each method, over each transport. */
const runs = Math.ceil(50 * runsFactor)
/** Calls of one batch. */
const batchCalls = 50

const tide = examples.contracts.find(({ name }) => name === 'Tide')?.address ?? ''
const [block] = examples.blocks
const person = examples.accounts[0]?.address ?? ''
const message = {
  from: person,
  to: tide,
  gas: '0x186a0',
  maxFeePerGas: '0x3b9aca000',
  maxPriorityFeePerGas: '0x1',
  value: '0x0',
  input: `0x70a08231${person.slice(2).padStart(64, '0')}`,
  nonce: '0x0',
  accessList: [{ address: tide, storageKeys: [`0x${'0'.repeat(64)}`] }],
}
const overrides = {
  [person]: {
    balance: '0xde0b6b3a7640000',
    nonce: '0x1',
    stateDiff: { [`0x${'1'.repeat(64)}`]: `0x${'2'.repeat(64)}` },
  },
  [tide]: { code: '0x6001600055', state: {} },
}
const blockOverrides = { number: '0x100', time: '0x70000000', baseFeePerGas: '0x1', feeRecipient: person }
const traceOptions = {
  tracer: 'prestateTracer',
  tracerConfig: { diffMode: true, disableCode: true },
  timeout: '5s',
  reexec: 128,
  enableMemory: true,
  limit: 1_000,
}
const filter = {
  address: [tide],
  topics: [null, [`0x${'3'.repeat(64)}`]],
  fromBlock: '0x0',
  policy: 'dropOldest',
  queueBytes: 65536,
}

/** Parameters that each method takes, all that there are. A method that is missing here does not compile. */
const archiveParams: { readonly [M in MethodName]: readonly (readonly unknown[])[] } = {
  admin_nodeInfo: [[]],
  debug_chainConfig: [[]],
  debug_executionWitness: [['latest'], [{ blockHash: block?.hash }]],
  debug_getBadBlocks: [[]],
  debug_getRawBlock: [['latest'], [{ blockHash: block?.hash }]],
  debug_getRawBlockAccessList: [['latest'], [{ blockHash: block?.hash }]],
  debug_getRawHeader: [['latest'], [{ blockHash: block?.hash }]],
  debug_getRawReceipts: [['latest'], [{ blockHash: block?.hash }]],
  debug_getRawTransaction: [[block?.hash]],
  debug_accountRange: [['0x10', '0x12', 5, true, true, false]],
  debug_getModifiedAccountsByHash: [[block?.hash, block?.hash]],
  debug_getModifiedAccountsByNumber: [[1, 2]],
  debug_intermediateRoots: [[block?.hash, traceOptions]],
  debug_storageRangeAt: [['0x10', 0, tide, '0x00', 5]],
  debug_traceBlockByHash: [[block?.hash, traceOptions]],
  debug_traceBlockByNumber: [
    ['0x1', { ...traceOptions, tracer: 'muxTracer', tracerConfig: { noopTracer: {} } }],
  ],
  debug_traceCall: [
    [message, '0x1', { ...traceOptions, stateOverrides: overrides, blockOverrides, txIndex: '0x0' }],
  ],
  debug_traceCallMany: [
    [[{ transactions: [message] }], { blockNumber: '0x1', transactionIndex: 0 }, traceOptions],
  ],
  debug_traceTransaction: [[block?.hash, traceOptions]],
  trace_block: [['0x1']],
  trace_call: [[message, ['trace', 'vmTrace', 'stateDiff'], '0x1']],
  trace_callMany: [[[[message, ['trace', 'stateDiff']]], '0x1']],
  trace_rawTransaction: [['0x02f8', ['trace'], '0x1']],
  trace_replayBlockTransactions: [['0x1', ['trace', 'vmTrace', 'stateDiff']]],
  trace_replayTransaction: [[block?.hash, ['vmTrace']]],
  trace_filter: [
    [{ fromBlock: '0x1', toBlock: '0x2', fromAddress: [person], toAddress: [tide], after: 1, count: '0x2' }],
  ],
  trace_get: [[block?.hash, ['0x0', '0x1']]],
  trace_transaction: [[block?.hash]],
  eth_getAccount: [[person, 'latest']],
  eth_getBalance: [[person, 'latest']],
  eth_getBlockTransactionCountByHash: [[block?.hash]],
  eth_getBlockTransactionCountByNumber: [['latest']],
  eth_getCode: [[tide, { blockHash: block?.hash }]],
  eth_getHeaderByHash: [[block?.hash]],
  erigon_getHeaderByNumber: [['latest']],
  eth_getHeaderByNumber: [['latest']],
  eth_getRawTransactionByBlockHashAndIndex: [[block?.hash, '0x0']],
  eth_getRawTransactionByBlockNumberAndIndex: [['latest', '0x0']],
  eth_getRawTransactionByHash: [[block?.hash]],
  eth_getStorageValues: [[{ [tide]: [`0x${'0'.repeat(64)}`] }, 'latest']],
  eth_getTransactionByHash: [[block?.hash]],
  eth_getTransactionBySenderAndNonce: [[person, '0x0']],
  eth_getTransactionCount: [[person, 'latest']],
  eth_getTransactionReceipt: [[block?.hash]],
  eth_getUncleByBlockHashAndIndex: [[block?.hash, '0x0']],
  eth_getUncleCountByBlockHash: [[block?.hash]],
  eth_getUncleCountByBlockNumber: [['latest']],
  eth_sendTransaction: [[{ from: person, to: person }]],
  eth_sign: [[person, '0x1234']],
  eth_signTypedData_v4: [[person, '{}']],
  personal_sign: [['0x1234', person]],
  eth_fillTransaction: [[message]],
  eth_gasPrice: [[]],
  eth_maxPriorityFeePerGas: [[]],
  eth_baseFee: [[]],
  eth_blobBaseFee: [[]],
  eth_feeHistory: [['0x4', 'latest', [10, 50.5]]],
  eth_capabilities: [[]],
  eth_config: [[]],
  eth_accounts: [[]],
  eth_mining: [[]],
  eth_hashrate: [[]],
  net_listening: [[]],
  net_peerCount: [[]],
  eth_sendRawTransaction: [['0x02f8']],
  web3_sha3: [['0x68656c6c6f']],
  ots_getApiLevel: [[]],
  ots_getBlockDetails: [['latest'], [16]],
  ots_getBlockDetailsByHash: [[block?.hash]],
  ots_getBlockTransactions: [['latest', 0, 25]],
  ots_getTransactionBySenderAndNonce: [[person, 0]],
  ots_traceTransaction: [[block?.hash]],
  ots_getInternalOperations: [[block?.hash]],
  ots_getTransactionError: [[block?.hash]],
  ots_getContractCreator: [[tide]],
  ots_searchTransactionsBefore: [[tide, 100, 25]],
  ots_searchTransactionsAfter: [[tide, 100, 25]],
  ots_hasCode: [[tide, 'latest']],
  rpc_modules: [[]],
  rpc_discover: [[]],
  eth_blockNumber: [[]],
  eth_callMany: [
    [[{ transactions: [message], blockOverride: blockOverrides }], { blockNumber: '0x1' }, overrides, 5_000],
  ],
  eth_call: [[message, 'latest', overrides, blockOverrides]],
  eth_chainId: [[]],
  eth_createAccessList: [[message, 'latest', overrides]],
  eth_estimateGas: [[message, { blockHash: block?.hash, requireCanonical: true }, overrides]],
  eth_getBlockByHash: [[block?.hash, true]],
  eth_getBlockByNumber: [['0x10', false]],
  eth_getBlockAccessList: [['latest'], [{ blockHash: block?.hash }]],
  eth_getBlockReceipts: [['latest'], [{ blockNumber: '0x10' }]],
  eth_getLogs: [
    [{ address: [tide], topics: [null, [`0x${'3'.repeat(64)}`]], fromBlock: '0x1', toBlock: 'latest' }],
    [{ address: tide, blockHash: block?.hash }],
  ],
  eth_getProof: [[tide, ['0x0', `0x${'4'.repeat(64)}`], 'latest']],
  eth_getStorageAt: [[tide, '0x0', { blockNumber: 'latest' }]],
  eth_getTransactionByBlockHashAndIndex: [[block?.hash, '0x0']],
  eth_getTransactionByBlockNumberAndIndex: [['latest', '0x0']],
  eth_getUncleByBlockNumberAndIndex: [['0x5', '0x0']],
  eth_getFilterChanges: [['0x1']],
  eth_getFilterLogs: [['0x1']],
  eth_newBlockFilter: [[]],
  eth_newFilter: [
    [{ address: [tide], topics: [null, [`0x${'3'.repeat(64)}`]], fromBlock: '0x1', toBlock: 'latest' }],
  ],
  eth_newPendingTransactionFilter: [[true]],
  eth_uninstallFilter: [['0x1']],
  eth_sendRawTransactionSync: [['0x02f8', 1]],
  txpool_content: [[]],
  txpool_contentFrom: [[person]],
  txpool_inspect: [[]],
  txpool_status: [[]],
  eth_simulateV1: [
    [
      {
        blockStateCalls: [
          {
            blockOverrides: {
              ...blockOverrides,
              prevRandao: `0x${'5'.repeat(64)}`,
              beaconRoot: `0x${'6'.repeat(64)}`,
              withdrawals: [{ index: '0x1', validatorIndex: '0x2', address: person, amount: '0x3' }],
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
  eth_subscribe: [['logs', filter], ['newHeads', { policy: 'dropOldest' }], ['syncing']],
  eth_syncing: [[]],
  eth_unsubscribe: [['0x1']],
  net_version: [[]],
  tidegate_getHeaderProof: [[block?.hash]],
  tidegate_getLogs: [
    [{ address: tide, fromBlock: '0x1', limit: 5 }],
    [{ topics: [[]], limit: 3, cursor: `0x${'00'.repeat(7)}05${block?.hash.slice(2)}${'00'.repeat(7)}f0` }],
  ],
  tidegate_getMappingSlot: [
    [[person, [person, '0x1']], '0x3'],
    [[[person, 5]], '0x3', ['address', 'uint256']],
  ],
  tidegate_getStorageByKeys: [
    [tide, '0x3', [person], 'latest'],
    [tide, '0x3', ['ada'], 'latest', 'string'],
  ],
  tidegate_getVerified: [
    ['eth_getStorageAt', [tide, '0x3', 'latest']],
    ['eth_getBalance', [tide, block?.hash]],
    ['eth_getTransactionReceipt', [block?.hash, '0x0']],
    ['eth_getLogs', ['0x1', '0x0', '0x0']],
  ],
  tidegate_readVariable: [
    [tide, 'balanceOf["x"][1].name', 'latest'],
    [tide, 'totalSupply', 'latest'],
  ],
  web3_clientVersion: [[]],
}
const felt = '0x1234'
const rollupParams: { readonly [M in RollupMethodName]: readonly (readonly unknown[])[] } = {
  rollupx_addInvokeTransaction: [[makeTransaction(1, 2)]],
  rollupx_blockNumber: [[]],
  rollupx_getBlockWithTxs: [['latest']],
  rollupx_estimateFee: [[[makeTransaction(1, 2)], [], 'latest']],
  rollupx_getClassAt: [['latest', felt]],
  rollupx_getNonce: [['latest', felt]],
  rollupx_getTransactionReceipt: [[felt]],
  rollupx_chainId: [[]],
  rollupx_getTransactionByHash: [[felt]],
  rollupx_getTransactionStatus: [[felt]],
  rollupx_specVersion: [[]],
  rollupx_subscribeTransactionStatus: [[felt]],
  rollupx_unsubscribe: [['0x1']],
}

/** A number that JSON can write and a double cannot hold. */
const beyond = '@1e400'
const hexOf = (digits: number) => `0x${'a'.repeat(digits)}`
const oddValues: readonly unknown[] = [
  null, true, false, 0, -1, -0, 1.5, 5, 2 ** 53, 2 ** 64, 1e21, beyond,
  '', '0x', '0X1', '0x0', '0x00', '0x1', '-0x1', '0xg', hexOf(1), hexOf(16), hexOf(17), hexOf(40), hexOf(41), hexOf(63), hexOf(64),
  hexOf(65), hexOf(66), hexOf(5_000), 'ff'.repeat(32), '9'.repeat(5_000), 'latest', 'pending', 'safe', 'earliest', 'Latest',
  'logs', 'newHeads', 'syncing', 'uint256', 'bytes', 'mapping', 'a[', 'a[0', 'a["', 'a..b', 'ä', '\ud800', '\u0000', ' ', '__proto__',
  'constructor', 'x'.repeat(3_000), [], [[]], [null], {}, { '': {} }, { length: 3 }, { blockHash: 1 }, { blockNumber: [] },
  JSON.parse('{"__proto__":1}'), { toString: 1, valueOf: null }, { toJSON: 'x' }, Array(1_100).fill('0x1'), [[[[[[[['0x1']]]]]]]],
] // biome-ignore format: a table

function oddValue(): unknown {
  const odd = oddValues[dice.throw(oddValues.length)]
  switch (dice.throw(8)) {
    case 0:
      return [odd, oddValue()]
    case 1:
      return { [String(dice.throw(4))]: odd }
    default:
      return odd
  }
}

const memberNames = [
  'from',
  'data',
  'type',
  'chainId',
  'authorizationList',
  'blobVersionedHashes',
  'toBlock',
  'code',
  'proof',
]

/** The value with one thing in it changed, somewhere. */
function changed(value: unknown): unknown {
  if (dice.throw(3) === 0 || typeof value !== 'object' || value === null) return oddValue()
  if (Array.isArray(value)) {
    const at = dice.throw(value.length + 1)
    const rest = [value.slice(0, at), value.slice(at + 1)] as const
    switch (dice.throw(4)) {
      case 0:
        return [...rest[0], ...rest[1]]
      case 1:
        return [...value, oddValue()]
      default:
        return [...rest[0], changed(value[at]), ...rest[1]]
    }
  }
  const names = Object.keys(value)
  const name = names[dice.throw(names.length)] ?? ''
  const { [name]: member, ...others } = value as Record<string, unknown>
  switch (dice.throw(5)) {
    case 0:
      return others
    case 1:
      return { ...value, [memberNames[dice.throw(memberNames.length)] ?? '']: oddValue() }
    case 2:
      return { ...others, [JSON.stringify(oddValue()).slice(1, 70)]: member }
    default:
      return { ...others, [name]: changed(member) }
  }
}

function oddParams(right: readonly unknown[]): unknown {
  const place = dice.throw(right.length + 1)
  switch (dice.throw(12)) {
    case 0:
      return oddValue()
    case 1:
      return { invoke_transaction: oddValue(), transaction_hash: oddValue() }
    case 2:
      return right.slice(0, place)
    case 3:
      return [...right, oddValue()]
    default:
      return right.map((value, i) => (i === place ? changed(value) : value))
  }
}

function callText(method: string, params: unknown, id: number): string {
  const text = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return text.replace(/"@(1e400)"(?!:)/g, '$1')
}

/** What is wrong with the answer to a batch. */
function complaints(text: string | undefined, calls: readonly string[]): string[] {
  const answers: RpcAnswer[] = JSON.parse(text ?? 'null')
  if (!Array.isArray(answers) || answers.length !== calls.length)
    return [`${calls.length} calls, such as ${calls[0]}: ${text}`]
  return answers.flatMap((answer, i) => {
    const isRight =
      answer.jsonrpc === '2.0' &&
      answer.id === i &&
      'result' in answer !== 'error' in answer &&
      answer.error?.code !== -32603
    return isRight ? [] : [`${calls[i]} → ${JSON.stringify(answer)}`]
  })
}

async function ask(
  t: Tap,
  service: Service,
  params: Readonly<Record<string, readonly (readonly unknown[])[]>>,
): Promise<void> {
  t.comment(`seed ${seed}; repeat with SEED=${seed}`)
  const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  for (const [method, forms] of Object.entries(params)) {
    const wrong: string[] = []
    const codes = new Map<unknown, number>()
    const check = (text: string | undefined, calls: readonly string[]) => {
      wrong.push(...complaints(text, calls))
      if (wrong.length > 0) return
      for (const { error } of JSON.parse(text ?? '[]') as RpcAnswer[]) {
        codes.set(error?.code, (codes.get(error?.code) ?? 0) + 1)
      }
    }
    for (let done = 0; done < runs; done += batchCalls) {
      const calls = dice.times(batchCalls, () => oddParams(forms[dice.throw(forms.length)] ?? []))
      const texts = calls.map((params, id) => callText(method, params, id))
      check((await service.post('/', `[${texts.join()}]`)).text, texts)
      check(await nextAnswer(socket, `[${texts.join()}]`), texts)
    }
    t.same(wrong.slice(0, 3), [], method)
    t.ok((codes.get(-32602) ?? 0) > 0, `${method}: ${JSON.stringify([...codes])}`)
  }
  socket.socket.close()
}

type Tap = {
  comment(text: string): void
  same(a: unknown, b: unknown, c: string): void
  ok(a: unknown, b: string): void
}

/** The answer to a message, past events of subscriptions that were made by the way. */
async function nextAnswer(socket: SocketClient, text: string): Promise<string | undefined> {
  socket.send(text)
  for (;;) {
    const message = await socket.next()
    if (message === undefined || !message.includes('"method":')) return message
    if (message.startsWith('[')) return message
  }
}

t.test('methods of a chain', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await ask(t, service, archiveParams)
  t.strictSame(reportsOf(service.said.err), [])
})

t.test('methods of a rollup', async (t) => {
  const service = await startRollup(t)
  await ask(t, service, rollupParams)
  t.strictSame(reportsOf(service.said.err), [])
})
