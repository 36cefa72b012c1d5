import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chainOf } from '../../commands/importing.js'
import { makeFolder } from '../../library/folder.js'
import { chainPath, examples, genesisPath, headBlock, quantity } from '../../rpc/demoChain.js'
import { runHere, runProgram, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

const kept = 64
const oldest = headBlock.number - kept
const at = quantity(oldest)
const before = quantity(oldest - 1)
const folder = makeFolder(t)
const words = ['--network', 'cut', '--data', folder]
const imported = await runProgram([
  'import',
  ...words,
  '--history',
  `${kept}`,
  '--genesis',
  genesisPath,
  chainPath,
])
if (imported.status !== 0) throw new Error(imported.err)
const whole = await startService()
const cut = await startService([...words, '--no-auth'])
t.teardown(() => Promise.all([whole.stop(), cut.stop()]))

const { address: account, slot } = examples.slots[0] as (typeof examples.slots)[number]
const call = { to: account, data: '0x' }
const pruned = `pruned history unavailable: the oldest block kept is ${at}`
/** Calls that need the state before a block. */
const prunedBefore = {
  code: 4444,
  message: `${pruned}, and the state before a block is kept from ${quantity(oldest + 1)} on`,
}

/** For each method its parameters at a block. */
const atBlock: Readonly<Record<string, (block: string) => unknown[]>> = {
  eth_getBalance: (block) => [account, block],
  eth_getTransactionCount: (block) => [account, block],
  eth_getCode: (block) => [account, block],
  eth_getStorageAt: (block) => [account, slot, block],
  eth_getProof: (block) => [account, [slot], block],
  eth_call: (block) => [call, block],
  eth_estimateGas: (block) => [call, block],
  eth_getBlockByNumber: (block) => [block, true],
  eth_getBlockReceipts: (block) => [block],
  eth_getBlockTransactionCountByNumber: (block) => [block],
  eth_getTransactionByBlockNumberAndIndex: (block) => [block, '0x0'],
  eth_getUncleCountByBlockNumber: (block) => [block],
  debug_getRawBlock: (block) => [block],
  debug_getRawReceipts: (block) => [block],
  eth_getLogs: (block) => [{ fromBlock: block, toBlock: 'latest' }],
}

t.test('what is kept is answered as by a store that keeps all', async (t) => {
  for (const block of [at, quantity(oldest + 1), quantity(headBlock.number)]) {
    for (const [method, params] of Object.entries(atBlock)) {
      const got = await cut.call(method, params(block))
      const want = await whole.call(method, params(block))
      t.strictSame(got, want, `${method} at ${block}`)
    }
  }
  const earliest = (await cut.call('eth_getBlockByNumber', ['earliest', false])).result
  t.equal(earliest.number, at)
})

t.test('what was removed has one error, which names the oldest block', async (t) => {
  const error = { code: 4444, message: pruned }
  for (const block of [before, '0x1', '0x0']) {
    for (const [method, params] of Object.entries(atBlock)) {
      t.strictSame((await cut.call(method, params(block))).error, error, `${method} at ${block}`)
    }
  }
  const { result: old } = await whole.call('eth_getBlockByNumber', [before, false])
  const byHash = { blockHash: old.hash }
  for (const [method, params] of [
    ['eth_getBlockByHash', [old.hash, false]],
    ['eth_getBlockReceipts', [old.hash]],
    ['eth_getBalance', [account, byHash]],
    ['eth_getLogs', [byHash]],
  ] as const) {
    t.strictSame((await cut.call(method, params)).error, error, method)
  }
})

/** Calls that execute again, or need the state before, at a block with a transaction of this hash. */
function executing(number: string, blockHash: string, transactionHash: string) {
  const trace = ['trace', 'vmTrace', 'stateDiff']
  return [
    ['debug_traceBlockByNumber', [number]],
    ['debug_traceBlockByHash', [blockHash, { tracer: 'callTracer' }]],
    ['debug_traceTransaction', [transactionHash, { tracer: 'prestateTracer' }]],
    ['debug_traceCall', [call, number, { txIndex: '0x0' }]],
    ['debug_traceCallMany', [[{ transactions: [call] }], { blockNumber: number, transactionIndex: 0 }]],
    ['trace_block', [number]],
    ['trace_replayBlockTransactions', [number, trace]],
    ['trace_transaction', [transactionHash]],
    ['trace_get', [transactionHash, ['0x0']]],
    ['trace_replayTransaction', [transactionHash, trace]],
    ['trace_filter', [{ fromBlock: number, toBlock: number }]],
    ['ots_traceTransaction', [transactionHash]],
    ['ots_getInternalOperations', [transactionHash]],
    ['ots_getTransactionError', [transactionHash]],
    ['debug_executionWitness', [number]],
    ['debug_intermediateRoots', [blockHash]],
    ['debug_storageRangeAt', [blockHash, 0, account, '0x', 2]],
    ['debug_getModifiedAccountsByNumber', [Number(number)]],
    ['debug_getModifiedAccountsByHash', [blockHash]],
    ['eth_callMany', [[{ transactions: [call] }], { blockNumber: number, transactionIndex: 0 }]],
  ] as const
}

t.test('what needs the state before a block is told what is kept, and from where on', async (t) => {
  for (const number of [oldest - 1, oldest, oldest + 1, oldest + 2]) {
    const { result: block } = await whole.call('eth_getBlockByNumber', [quantity(number), false])
    const [hash] = block.transactions
    t.ok(hash, `block ${number} has a transaction`)
    for (const [method, params] of executing(quantity(number), block.hash, hash)) {
      const got = await cut.call(method, params)
      if (number > oldest) {
        t.strictSame(got, await whole.call(method, params), `${method} at ${number}`)
        continue
      }
      if (number === oldest) t.strictSame(got.error, prunedBefore, `${method} at ${number}`)
      // The first half is enough, because a removed transaction may have been in any block.
      else t.ok(got.error?.code === 4444 && got.error.message.startsWith(pruned), `${method} at ${number}`)
    }
  }
})

t.test('headers stay; a transaction that was removed is not known', async (t) => {
  for (const block of ['0x0', before]) {
    const header = ['eth_getHeaderByNumber', [block]] as const
    t.strictSame(await cut.call(...header), await whole.call(...header))
  }
  const [{ hash } = { hash: '' }] = examples.transactions
  for (const method of ['eth_getTransactionByHash', 'eth_getTransactionReceipt']) {
    t.equal((await cut.call(method, [hash])).result, null)
  }
  // Methods that cannot report an absence for certain.
  for (const method of ['debug_getRawTransaction', 'eth_getRawTransactionByHash']) {
    t.strictSame((await cut.call(method, [hash])).error, { code: 4444, message: pruned }, method)
    t.strictSame(
      (await whole.call(method, [`0x${'12'.repeat(32)}`])).result,
      '0x',
      'where nothing was removed',
    )
  }
})

t.test('the node tells what it keeps', async (t) => {
  const { head, ...held } = (await cut.call('eth_capabilities')).result
  t.equal(head.number, quantity(headBlock.number))
  for (const each of Object.values(held)) t.strictSame(each, { disabled: false, oldestBlock: at })
  const health = await (await fetch(`${cut.origin}/health`)).json()
  t.match(health, {
    networks: { cut: { oldest: { state: oldest, receipts: oldest, bodies: oldest, trie: oldest } } },
  })
})

t.test('where only tries are removed, only what needs them is refused', async (t) => {
  const data = makeFolder(t)
  const networks = [{ name: 'proofs', genesis: genesisPath, history: { trie: kept } }]
  const config = writeConfig(data, { networks })
  const flags = ['--config', config, '--network', 'proofs', '--data', data]
  const { status, err } = await runProgram(['import', ...flags, chainPath])
  t.equal(status, 0, err)
  const service = await startService([...flags, '--no-auth'])
  t.teardown(() => service.stop())
  const error = { code: 4444, message: pruned }
  const { result: old } = await whole.call('eth_getBlockByNumber', [before, false])
  const { result: first } = await whole.call('eth_getBlockByNumber', [at, false])
  for (const [method, params] of [
    ['eth_getProof', [account, [slot], before]],
    ['eth_getProof', [account, [slot], { blockHash: old.hash }]],
    ['tidegate_getVerified', ['eth_getBalance', [account, before]]],
    ['debug_accountRange', [before, '0x', 2, true, true, true]],
    ['eth_simulateV1', [{ blockStateCalls: [{ calls: [call] }] }, before]],
  ] as const) {
    t.strictSame((await service.call(method, params)).error, error, method)
  }
  for (const { number, hash } of [old, first]) {
    for (const [method, params] of [
      ['debug_executionWitness', [number]],
      ['debug_intermediateRoots', [hash]],
      ['debug_storageRangeAt', [hash, 0, account, '0x', 2]],
    ] as const) {
      const { error: refused } = await service.call(method, params)
      if (number === at) t.strictSame(refused, prunedBefore, `${method} at ${number}`)
      else t.ok(refused?.code === 4444 && refused.message.startsWith(pruned), `${method} at ${number}`)
    }
  }
  for (const method of ['eth_getBalance', 'eth_getStorageAt', 'eth_call', 'eth_getBlockReceipts']) {
    const params = atBlock[method]?.(before) ?? []
    t.strictSame(await service.call(method, params), await whole.call(method, params), method)
  }
  for (const block of [at, 'latest']) {
    const question = ['eth_getProof', [account, [slot], block]] as const
    t.strictSame(await service.call(...question), await whole.call(...question), block)
  }
  const { stateproofs, state } = (await service.call('eth_capabilities')).result
  t.strictSame([stateproofs.oldestBlock, state.oldestBlock], [at, '0x0'])
  await service.stop()
  const verified = await runProgram(['verify', ...flags, '--blocks', '2'])
  t.match(verified, { status: 0, out: /No fault found/ }, verified.err)
})

t.test('verify, export, snapshot and a second import go on from what is kept', async (t) => {
  const verified = await runProgram(['verify', ...words, '--blocks', '2'])
  t.match(verified, { status: 0, out: /No fault found/ }, verified.err)
  const exporting = ['export', ...words, '--out', join(folder, 'out')]
  const exported = await runHere([...exporting, '--from', '0'])
  t.match(exported, { status: 2, err: `cut has ${oldest} to ${headBlock.number}` })
  t.match(await runHere(exporting), { status: 0, err: '' })
  const file = readFileSync(join(folder, 'out', `cut-${oldest}-${headBlock.number}.rlp`))
  t.ok(file.equals(chainOf(oldest, headBlock.number)), 'the end of the chain file')
  const amid = await runHere([...exporting, '--from', String(oldest + 1)])
  t.match(amid, { status: 2, err: `expected the oldest block (${oldest}) or the first one of an epoch` })
  const again = await runHere(['import', ...words, '--history', `${kept}`, chainPath])
  t.match(again, { status: 0 }, again.err)
  const copy = join(folder, 'copy')
  const snapshot = await runHere(['snapshot', ...words, copy])
  t.match(snapshot, { status: 0 }, snapshot.err)
})

t.test('what is searched for is found as far back as there is state', async (t) => {
  const error = { code: 4444, message: pruned }
  let found = 0
  for (let number = oldest - 3; number <= headBlock.number; number++) {
    const block = (await whole.call('eth_getBlockByNumber', [quantity(number), true])).result
    for (const { hash, from, nonce } of block.transactions) {
      const method = 'eth_getTransactionBySenderAndNonce'
      const { result, error: refused } = await cut.call(method, [from, nonce])
      if (number < oldest) t.strictSame(refused, error, `${method} of block ${number}`)
      else if (result?.hash !== hash) t.equal(result?.hash, hash, `${method} of block ${number}`)
      else found++
      if (number <= oldest + 1) continue
      // The newest page, which contains all existing transactions.
      const search = ['ots_searchTransactionsBefore', [from, number + 1, 1]] as const
      const got = await cut.call(...search)
      const want = await whole.call(...search)
      t.strictSame(got.result?.txs, want.result.txs, `${from} before block ${number + 1}`)
      t.equal(got.result?.lastPage, false)
    }
  }
  t.ok(found > 50, `${found} transactions`)
  const traces = async (service: Service, filter: object) => service.call('trace_filter', [filter])
  const first = { fromBlock: quantity(oldest + 1) }
  t.strictSame(await traces(cut, first), await traces(whole, first))
  t.strictSame(await traces(cut, {}), await traces(whole, first), 'from the oldest on')
  t.strictSame((await traces(cut, { fromBlock: at })).error, prunedBefore)
})

t.test('the earliest logs are the oldest that are kept', async (t) => {
  const data = makeFolder(t)
  const history = { receipts: kept, bodies: 2 * kept }
  const config = writeConfig(data, { networks: [{ name: 'short', genesis: genesisPath, history }] })
  const flags = ['--config', config, '--network', 'short', '--data', data]
  const { status, err } = await runProgram(['import', ...flags, chainPath])
  t.equal(status, 0, err)
  const service = await startService([...flags, '--no-auth'])
  t.teardown(() => service.stop())
  t.strictSame(
    await service.call('eth_getLogs', [{ fromBlock: 'earliest' }]),
    await whole.call('eth_getLogs', [{ fromBlock: at }]),
  )
})
