import t from 'tap'
import { pricedKinds } from '../../../bench/scenarios/pricedKinds.js'
import { pricesOutcome } from '../../../bench/scenarios/prices.js'
import { methods } from '../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../src/serving/rpc/rollup/rollupRegistry.js'

/** Methods whose cost does not show in one HTTP request to a network with a chain, with the reason. */
const unmeasured: Readonly<Record<string, string>> = {
  debug_getRawBlockAccessList: 'of blocks since Amsterdam, which the demo chain does not have',
  debug_getModifiedAccountsByHash: 'as debug_getModifiedAccountsByNumber',
  eth_getBlockAccessList: 'of blocks since Amsterdam, which the demo chain does not have',
  eth_getFilterChanges: 'of a filter that stands; what the search takes is owed',
  eth_getFilterLogs: 'as eth_getLogs, of a filter that stands',
  eth_uninstallFilter: 'of a filter that stands',
  eth_sendTransaction: 'as eth_fillTransaction, and what a developer chain takes on its own thread',
  eth_sendUnsignedTransaction: 'as eth_sendTransaction',
  eth_signTransaction: 'as eth_sendTransaction',
  eth_sign: 'what a developer chain takes on its own thread',
  eth_signTypedData_v4: 'as eth_sign',
  personal_sign: 'as eth_sign',
  eth_sendRawTransaction: 'the time of other servers, and of the thread that checks it, not of an edge',
  eth_sendRawTransactionSync: 'as eth_sendRawTransaction, and a wait',
  eth_subscribe: 'for WebSockets alone; its events are free',
  eth_unsubscribe: 'for WebSockets alone',
  tidegate_getHeaderProof: 'of blocks from archives, which the demo chain is not',
  trace_rawTransaction: 'as trace_call, for a transaction that the demo chain has not mined',
  txpool_content: 'of a pool, which the demo chain does not have',
  txpool_contentFrom: 'of a pool, which the demo chain does not have',
  txpool_inspect: 'of a pool, which the demo chain does not have',
  txpool_status: 'of a pool, which the demo chain does not have',
  rollupx_addInvokeTransaction:
    'a flush to disk each; what hashing takes of a thread is measured at run time',
  rollupx_blockNumber: 'the time of another server',
  rollupx_chainId: 'as eth_chainId',
  rollupx_getBlockWithTxs: 'the time of another server',
  rollupx_estimateFee: 'the time of another server',
  rollupx_getClassAt: 'the time of another server',
  rollupx_getNonce: 'the time of another server',
  rollupx_getTransactionReceipt: 'the time of another server',
  rollupx_getTransactionByHash: 'as eth_getTransactionByBlockHashAndIndex, from the store of the node',
  rollupx_getTransactionStatus: 'the time of another server',
  rollupx_specVersion: 'as eth_chainId',
  rollupx_subscribeTransactionStatus: 'for WebSockets alone',
  rollupx_unsubscribe: 'for WebSockets alone',
}

t.test('every method is among the calls whose price is set beside what they take', async (t) => {
  const measured = new Set(pricedKinds.map(({ name }) => name.split(',')[0] as string))
  for (const { name } of [...Object.values(methods), ...Object.values(rollupMethods)]) {
    t.ok(measured.has(name) !== name in unmeasured, name)
  }
})

t.test('kinds of calls have names of their own, and their questions are ASCII', async (t) => {
  t.equal(new Set(pricedKinds.map(({ name }) => name)).size, pricedKinds.length)
  for (const { name, question } of pricedKinds) t.notMatch(question(1), /[^ -~]/, name)
})

t.test('the call that takes most for a unit counts', async (t) => {
  const calls = [
    { name: 'read', answers: 100, units: 1, cpuMicros: 10 },
    { name: 'loop', answers: 2, units: 100, cpuMicros: 40_000 },
    { name: 'proof', answers: 9, units: 50, cpuMicros: 250 },
  ]
  t.match(pricesOutcome(calls), {
    own: { rate: 2_500, cpuMicros: 400 },
    ratios: { unit: { value: 0.025, by: 'cpu' } },
    note: 'the most for a unit: loop',
  })
  const unknown = calls.map((call) => ({ ...call, cpuMicros: undefined }))
  t.same(pricesOutcome(unknown).ratios, {})
  t.match(pricesOutcome(calls).details?.join('\n'), /^loop +2 +100 +40000 +400 +40\.0$/m)
  t.match(pricesOutcome(unknown).details?.join('\n'), /^loop +2 +100 +– +– +–$/m)
})
