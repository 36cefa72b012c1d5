/** `tidegate dev --fork`: a developer chain on a block of another one, whose values are proved, and fetched once. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { startDev } from '../../service/developerChain.js'
import { post } from '../../service/httpClient.js'
import { runHere } from '../../service/program.js'
import {
  both,
  type Front,
  json,
  openFront,
  passes,
  refusesBatches,
  rewrites,
  rpcError,
  sometimes,
  text,
} from '../../upstream/front.js'

const slots = 300
const contracts = 40
/** Calls of one request. */
const together = 20
const to = `0x${'57'.repeat(20)}`
const store = `0x${'c0de'.repeat(10)}`
const exchange = `0x${'e0'.repeat(20)}`
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
/** Returns the slot that the call gives; with a second word it writes the slot. */
const storeCode = '0x602036116010575f35545f5260205ff35b6020355f355500'
/** Calls the store with its own data. */
const exchangeCode = `0x365f5f3760205f365f5f73${store.slice(2)}5af15060205ff3`
const contractAt = (at: number) => `0x${'aa'.repeat(18)}${(0x1000 + at).toString(16)}`

type Chain = Awaited<ReturnType<typeof startDev>>

/** A chain with contracts, some blocks above its genesis. */
async function startBase(t: Test): Promise<Chain> {
  const chain = await startDev(t)
  const storage = Object.fromEntries(Array.from({ length: slots }, (_, at) => [word(at), word(at + 1)]))
  const accounts: Record<string, object> = {
    [store]: { nonce: 1, balance: '0x0', code: storeCode, storage },
    [exchange]: { nonce: 1, balance: '0x0', code: exchangeCode, storage: {} },
  }
  for (let at = 0; at < contracts; at++)
    accounts[contractAt(at)] = { nonce: 1, balance: '0x1', code: `0x60${(16 + at).toString(16)}00` }
  await chain.ask('anvil_loadState', `0x${Buffer.from(JSON.stringify({ accounts })).toString('hex')}`)
  await chain.ask('anvil_mine', '0x3')
  return chain
}

/** Requests that the front got, by method. */
function counting(front: Front, counts: Map<string, number>): Front {
  return (request, pass) => {
    for (const { method } of request.calls) counts.set(method, (counts.get(method) ?? 0) + 1)
    return front(request, pass)
  }
}

/**
 * Reads 300 slots and 40 contracts, and calls and sends through a contract that calls another, in a block of some seconds
 * after the base.
 */
async function runSuite(t: Test, { url, ask }: Chain, base: number, seconds: number): Promise<void> {
  /** In requests of a few calls, because each request has a time limit. */
  const read = async (method: string, params: readonly unknown[][]) => {
    const results: unknown[] = []
    for (let at = 0; at < params.length; at += together) {
      const calls = params.slice(at, at + together).map((each, id) => {
        return { jsonrpc: '2.0', id, method, params: each }
      })
      const { text } = await post(`${url}/`, JSON.stringify(calls))
      const answers = JSON.parse(text) as { id: number; result: unknown }[]
      for (const { result } of answers.sort((a, b) => a.id - b.id)) results.push(result)
    }
    return results
  }
  const order = Array.from({ length: slots }, (_, at) => at)
  t.strictSame(
    await read(
      'eth_getStorageAt',
      order.map((at) => [store, word(at), 'latest']),
    ),
    order.map((at) => word(at + 1)),
  )
  t.strictSame(
    await read(
      'eth_getCode',
      order.slice(0, contracts).map((at) => [contractAt(at), 'latest']),
    ),
    order.slice(0, contracts).map((at) => `0x60${(16 + at).toString(16)}00`),
  )
  const call = async (data: string) => (await ask('eth_call', { to: exchange, data }, 'latest')).result
  t.equal(await call(word(7)), word(8))
  const [from] = (await ask('eth_accounts')).result
  const { timestamp } = (await ask('eth_getBlockByNumber', `0x${base.toString(16)}`, false)).result
  await ask('evm_setNextBlockTimestamp', Number(timestamp) + seconds)
  const sent = await ask('eth_sendTransaction', {
    from,
    // The inner call may fail without the outer one, so an estimate would be too low.
    gas: '0x20000',
    to: exchange,
    data: `${word(7)}${word(99).slice(2)}`,
  })
  t.match((await ask('eth_getTransactionReceipt', sent.result)).result, {
    status: '0x1',
    blockNumber: `0x${(base + 1).toString(16)}`,
  })
  t.equal(await call(word(7)), word(99))
  t.equal((await ask('eth_getStorageAt', store, word(7), `0x${base.toString(16)}`)).result, word(8))
}

t.test('each value is fetched once, behind a front that refuses a third of all', async (t) => {
  const node = await startBase(t)
  const base = Number((await node.ask('eth_blockNumber')).result)
  const counts = new Map<string, number>()
  const small = refusesBatches((calls) => json(200, rpcError(-32_000, 'batch too large', calls[0]?.id)), 3)
  const weather = both(sometimes(3, text(429, 'slow down')), small)
  const url = await openFront(t, node.url, counting(weather, counts))
  const data = join(makeFolder(t), 'fork')
  const flags = ['--fork', `${url}@${base}`, '--data', data]
  const first = await startDev(t, flags)
  t.equal((await first.ask('eth_chainId')).result, '0x7a69')
  t.equal(Number((await first.ask('eth_blockNumber')).result), base)
  await runSuite(t, first, base, 50)
  t.ok((counts.get('eth_getProof') ?? 0) > 0, 'state was proved')
  t.equal(counts.get('eth_getStorageAt'), undefined, 'no value is believed')
  t.equal(await first.stop(), 0)

  counts.clear()
  const second = await startDev(t, flags)
  await second.ask('anvil_reset')
  // Its blocks write other places of the rings of EIP-4788.
  await runSuite(t, second, base, 5)
  t.strictSame([...counts], [], 'the second run asks for nothing')
  t.equal(await second.stop(), 0)
})

t.test('roots, snapshots, changes by hand and restarts are those of any chain', async (t) => {
  const node = await startBase(t)
  const url = await openFront(t, node.url, passes)
  const base = Number((await node.ask('eth_blockNumber')).result)
  const data = join(makeFolder(t), 'fork')
  const fork = await startDev(t, ['--fork', url, '--data', data])
  const { ask } = fork
  const result = async (method: string, ...params: readonly unknown[]) =>
    (await ask(method, ...params)).result
  const [from] = await result('eth_accounts')
  t.equal(await result('eth_getBalance', from, 'latest'), '0x21e19e0c9bab2400000')

  // The same block on the node's own chain, with the same state before it, has the same root.
  const { timestamp } = await result('eth_getBlockByNumber', 'latest', false)
  const time = Number(timestamp) + 9
  for (const each of [node.ask, ask]) {
    await each('anvil_setBalance', from, '0x21e19e0c9bab2400000')
    await each('evm_setNextBlockTimestamp', time)
    const sent = await each('eth_sendTransaction', {
      from,
      to: exchange,
      data: `${word(400)}${word(5).slice(2)}`,
      gas: '0x20000',
      maxFeePerGas: '0x77359400',
      maxPriorityFeePerGas: '0x1',
    })
    t.match(sent, { result: /^0x/ })
  }
  const theirs = (await node.ask('eth_getBlockByNumber', 'latest', false)).result
  const own = await result('eth_getBlockByNumber', 'latest', false)
  t.equal(Number(own.number), base + 1)
  t.equal(own.stateRoot, theirs.stateRoot)
  t.equal(own.hash, theirs.hash)

  const id = await result('evm_snapshot')
  t.equal(await result('anvil_setStorageAt', store, word(3), word(77)), true)
  t.equal(await result('eth_getStorageAt', store, word(3), 'latest'), word(77))
  await result('anvil_setCode', to, '0x6001')
  await result('evm_mine')
  t.equal(await result('eth_getCode', to, 'latest'), '0x6001')
  t.equal(await result('evm_revert', id), true)
  t.equal(await result('eth_getStorageAt', store, word(3), 'latest'), word(4))
  t.equal(await result('eth_getCode', to, 'latest'), '0x')
  t.equal(Number(await result('eth_blockNumber')), base + 1)

  await result('anvil_impersonateAccount', contractAt(1))
  await result('anvil_setBalance', contractAt(1), '0xde0b6b3a7640000')
  const taken = await result('eth_sendTransaction', { from: contractAt(1), to, value: '0x7' })
  t.match(await result('eth_getTransactionReceipt', taken), { status: '0x1' })
  t.equal(await result('eth_getBalance', to, 'latest'), '0x7')
  t.match(await result('debug_traceTransaction', taken, { tracer: 'callTracer' }), { value: '0x7' })
  t.equal(await fork.stop(), 0)

  t.match(await runHere(['dev', '--data', data]), { status: 2, err: /is a fork; name a node of its base/ })
  t.match(await runHere(['dev', '--port', '0', '--data', data, '--fork', `${url}@1`]), {
    err: new RegExp(`begins at block ${base}, not 1; name another folder`),
  })
  const again = await startDev(t, ['--fork', url, '--data', data])
  t.equal(Number((await again.ask('eth_blockNumber')).result), base + 2)
  t.equal((await again.ask('eth_getBalance', to, 'latest')).result, '0x7')
  t.equal(await again.stop(), 0)
})

t.test('code comes with the proof of its account, and a tip is suggested without the node', async (t) => {
  const node = await startBase(t)
  const requests: string[] = []
  const noting: Front = (request, pass) => {
    requests.push(request.calls.map(({ method }) => method).join(' '))
    return passes(request, pass)
  }
  const { ask } = await startDev(t, ['--fork', await openFront(t, node.url, noting)])
  requests.length = 0
  t.equal((await ask('eth_getCode', contractAt(3), 'latest')).result, '0x601300')
  t.strictSame(requests, ['eth_getCode eth_getProof'])
  requests.length = 0
  t.equal((await ask('eth_maxPriorityFeePerGas')).result, '0xf4240')
  t.strictSame(requests, [], 'only own blocks are sampled')

  // The hash in the proof decides.
  const lies = rewrites((body) => body.replaceAll('"0x601300"', '"0x601400"'))
  const other = await startDev(t, ['--fork', await openFront(t, node.url, lies)])
  t.match(await other.ask('eth_getCode', contractAt(3), 'latest'), { error: { message: /.+/ } })
})

t.test('a value with a false proof is not served', async (t) => {
  const node = await startBase(t)
  // The last node of the proof of slot 7 ends with the value.
  const lies = rewrites((body) => body.replaceAll('08"]', '09"]'))
  const url = await openFront(t, node.url, lies)
  const { ask } = await startDev(t, ['--fork', url])
  t.match(await ask('eth_getStorageAt', store, word(7), 'latest'), { error: { message: /.+/ } })
})

t.test(
  'a slot that becomes zero reads as zero, in proofs too; the chain says what was set by hand',
  async (t) => {
    const node = await startBase(t)
    const { url, ask } = await startDev(t, ['--fork', node.url, '--chain-id', '1337'])
    t.equal((await ask('eth_chainId')).result, '0x539')
    const [from] = (await ask('eth_accounts')).result
    const data = `${word(9)}${word(0).slice(2)}`
    const sent = await ask('eth_sendTransaction', { from, to: store, data, gas: '0x20000' })
    t.match((await ask('eth_getTransactionReceipt', sent.result)).result, { status: '0x1' })
    t.equal((await ask('eth_getStorageAt', store, word(9), 'latest')).result, word(0))
    t.equal((await ask('eth_call', { to: store, data: word(9) }, 'latest')).result, word(0))
    t.match((await ask('eth_getProof', store, [word(9), word(8)], 'latest')).result, {
      storageProof: [{ value: '0x0' }, { value: '0x9' }],
    })
    t.match(await ask('anvil_mine', '0x1389'), { error: { message: /expected at most 5000/ } })
    const health = await (await fetch(`${url}/health`)).text()
    t.match(health, /changed by hand at block 3: fork, with 10 funded accounts/)
  },
)

t.test('a node that cannot be forked is named', async (t) => {
  t.match(await runHere(['dev', '--fork', 'node.example']), { status: 2, err: /--fork: expected a URL/ })
})
