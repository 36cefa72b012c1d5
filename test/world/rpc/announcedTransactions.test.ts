// @shares
/** `newPendingTransactions` and their filters: transactions sent here, and those that upstreams announce. */
import { Wallet } from 'ethers'
import t, { type Test } from 'tap'
import { testKeys } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { hex } from '../../rpc/demoChain.js'
import type { Service } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'
import { type AnvilNode, withoutAnvil } from '../../upstream/anvilNode.js'
import { between, followAnvil, followBetween, startGateway } from '../../upstream/followedNode.js'

const [key = new Uint8Array(0)] = testKeys
const wallet = new Wallet(hex(key))
const waiting = { flags: ['--no-mining'] }

function sign(nonce: number, fees = 10n ** 11n): Promise<string> {
  const fields = { type: 2, maxFeePerGas: fees, maxPriorityFeePerGas: fees, gasLimit: 40_000, value: 1 }
  return wallet.signTransaction({ chainId: 31_337, nonce, to: `0x${'22'.repeat(20)}`, ...fields })
}

/** A subscription and its events so far. */
async function subscribe(t: Test, service: Service, ...params: unknown[]) {
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_subscribe',
    params: ['newPendingTransactions', ...params],
  }
  t.match(JSON.parse((await client.ask(JSON.stringify(body))) as string), { result: /^0x/ })
  return () => client.received.map((text) => JSON.parse(text).params.result)
}

/**
 * Resolves once the node announces transactions to the subscriber. Until then it gets one more transaction with twice
 * the fees, in place of the one before.
 */
function isListening(anvil: AnvilNode, reported: () => unknown[]): Promise<boolean> {
  let fees = 10n ** 10n
  const look = async () => {
    fees *= 2n
    await anvil.ask('eth_sendRawTransaction', [await sign(0, fees)])
    return reported().length > 0
  }
  return waitFor('the node to be listened to', look, 500)
}

t.test(
  'what the node gets is told to the subscribers of all edges, once',
  { skip: withoutAnvil },
  async (t) => {
    const { anvil, service } = await followAnvil(t, {
      ...waiting,
      edges: process.platform === 'linux' ? 2 : 1,
    })
    const all = await Promise.all(Array.from({ length: 8 }, () => subscribe(t, service)))
    const whole = await subscribe(t, service, true)
    const filter = (await service.call('eth_newPendingTransactionFilter', [])).result
    const wholeFilter = (await service.call('eth_newPendingTransactionFilter', [true])).result
    await isListening(anvil, all[0] as () => unknown[])
    const hashes = [
      await anvil.ask('eth_sendRawTransaction', [await sign(1)]),
      (await service.call('eth_sendRawTransaction', [await sign(2)])).result,
      await anvil.ask('eth_sendRawTransaction', [await sign(3)]),
    ]
    for (const reported of [...all, () => whole().map(({ hash }) => hash)]) {
      await waitFor('all transactions', () => hashes.every((hash) => reported().includes(hash)))
      for (const hash of hashes) t.equal(reported().filter((each) => each === hash).length, 1)
    }
    t.match(
      whole().find(({ hash }) => hash === hashes[2]),
      { blockHash: null, from: wallet.address.toLowerCase(), nonce: '0x3' },
    )
    const changes = (await service.call('eth_getFilterChanges', [filter])).result
    for (const hash of hashes) t.ok(changes.includes(hash), 'a filter has it')
    t.strictSame((await service.call('eth_getFilterChanges', [filter])).result, [], 'and once')
    const objects = (await service.call('eth_getFilterChanges', [wholeFilter])).result
    for (const hash of hashes) t.ok(objects.some((each: { hash: string }) => each.hash === hash))
  },
)

t.test('a gateway tells them, too', { skip: withoutAnvil }, async (t) => {
  const { anvil, node } = await followBetween(t, waiting)
  const gateway = await startGateway(t, makeFolder(t), { urls: [node.url] })
  const reported = await subscribe(t, gateway)
  await isListening(anvil, reported)
  const hash = await anvil.ask('eth_sendRawTransaction', [await sign(1)])
  await waitFor('the transaction', () => reported().includes(hash))
  t.match(await gateway.call('eth_sendRawTransaction', [await sign(2)]), { result: /^0x/ })
})

t.test(
  'nobody is asked before somebody listens, and floods and nonsense do no harm',
  { skip: withoutAnvil },
  async (t) => {
    const { anvil, node, service } = await followBetween(t, waiting)
    const filterCalls = () => node.calls.filter(({ method }) => /Filter/.test(method))
    t.strictSame(filterCalls(), [])
    let number = 0
    const answers: unknown[] = [
      Array.from({ length: 20_000 }, () => `0x${(number++).toString(16).padStart(64, '0')}`),
      ['0x12', null, {}],
      'nothing',
      null,
      [[`0x${'33'.repeat(32)}`]],
    ]
    let asked = 0
    node.answer = between(anvil, (call, answer) =>
      call.method === 'eth_getFilterChanges' && asked < answers.length
        ? { result: answers[asked++] }
        : answer,
    )
    const reported = await subscribe(t, service)
    await waitFor('all nonsense', () => asked === answers.length)
    t.equal(reported().length, 250, 'of a flood a bounded part')
    const hash = (await service.call('eth_sendRawTransaction', [await sign(1)])).result
    await waitFor('what was sent here', () => reported().includes(hash))
    t.match(service.said.err, /pending transactions of upstreams are not announced: a malformed hash/)
    t.match(await service.call('eth_blockNumber'), { result: /^0x/ })
  },
)

t.test(
  'a node without such filters is told of once, and what is sent here is announced',
  { skip: withoutAnvil },
  async (t) => {
    const { anvil, node, service } = await followBetween(t, waiting)
    node.answer = between(anvil, (call, answer) =>
      /Filter/.test(call.method) ? { error: { code: -32601, message: 'the method does not exist' } } : answer,
    )
    const reported = await subscribe(t, service, { policy: 'dropOldest', fullTransactions: false })
    await waitFor('two questions', () => node.calls.filter(({ method }) => /Filter/.test(method)).length > 1)
    const hash = (await service.call('eth_sendRawTransaction', [await sign(1)])).result
    await waitFor('what was sent here', () => reported().includes(hash))
    t.equal(service.said.err.match(/are not announced/g)?.length, 1)
  },
)

t.test('options that are none are refused', { skip: withoutAnvil }, async (t) => {
  const { service } = await followAnvil(t, waiting)
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  for (const [options, message] of [
    [{ policy: 'conflate' }, /transactions have none/],
    [{ fullTransactions: 1 }, /want a boolean/],
    [{ address: [] }, /unknown member "address"/],
  ] as const) {
    const params = ['newPendingTransactions', options]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params })
    t.match(JSON.parse((await client.ask(body)) as string), { error: { code: -32602, message } })
  }
})

t.test('a whole transaction that is not the one announced is a lie', { skip: withoutAnvil }, async (t) => {
  const { anvil, node, service } = await followBetween(t, waiting)
  const whole = await subscribe(t, service, true)
  const hashes = await subscribe(t, service)
  await isListening(anvil, whole)
  const reported = await anvil.ask('eth_sendRawTransaction', [await sign(1)])
  const find = () => whole().find((each) => each.hash === reported)
  await waitFor('a whole transaction', () => find() !== undefined)
  t.strictSame((await service.call('eth_getTransactionByHash', [reported])).result, find())
  node.answer = between(anvil, (call, answer) => {
    if (call.method !== 'eth_getTransactionByHash' || !('result' in answer)) return answer
    return { result: { ...(answer.result as object), value: '0x2' } }
  })
  const hash = await anvil.ask('eth_sendRawTransaction', [await sign(2)])
  await waitFor('its hash', () => hashes().includes(hash))
  await waitFor('the lie to be noticed', () => service.said.err.includes(`a transaction that is not ${hash}`))
  t.notOk(whole().some((each) => each.hash === hash))
})
