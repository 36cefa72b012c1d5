// @shares
/** Transactions between their sending and their block, as eth_getTransactionByHash answers them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCreateAddress, Transaction, type TransactionLike, Wallet } from 'ethers'
import t from 'tap'
import { testKeys } from '../../ingest/chainMaker.js'
import { waitFor } from '../../library/until.js'
import { hex } from '../../rpc/demoChain.js'
import { recordedConfig, recordings, withoutRecordings } from '../../service/fixtures.js'
import { type Service, startService } from '../../service/service.js'
import { type AnvilNode, withoutAnvil } from '../../upstream/anvilNode.js'
import { between, followAnvil, followBetween, reaches } from '../../upstream/followedNode.js'
import { forwardTo, WeatherNode } from '../../upstream/weatherNode.js'

const [key = new Uint8Array(0)] = testKeys
const wallet = new Wallet(hex(key))
const to = `0x${'22'.repeat(20)}`
/** Transactions wait until a block is mined. */
const waiting = { flags: ['--no-mining'] }
const later: TransactionLike = { type: 2, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1 }

function sign(nonce: number, fields: TransactionLike = later): Promise<string> {
  return wallet.signTransaction({ chainId: 31_337, nonce, to, value: 1, gasLimit: 40_000, ...fields })
}

async function send(service: Service, raw: string): Promise<string> {
  const { result } = await service.call('eth_sendRawTransaction', [raw])
  t.match(result, /^0x/)
  return result
}

async function find(service: Service, hash: string) {
  return (await service.call('eth_getTransactionByHash', [hash])).result
}

/** go-ethereum's form of a waiting transaction, from its form in a block. */
function beforeBlock(mined: Record<string, unknown>): Record<string, unknown> {
  const nothing = { blockHash: null, blockNumber: null, blockTimestamp: null, transactionIndex: null }
  return { ...mined, ...nothing, gasPrice: mined.maxFeePerGas ?? mined.gasPrice }
}

/** Mines one block with the waiting transactions. */
async function mine(anvil: AnvilNode, service: Service): Promise<void> {
  await anvil.ask('anvil_mine', ['0x1'])
  await reaches(service, await anvil.head())
}

t.test('a transaction is pending until a block has it', { skip: withoutAnvil }, async (t) => {
  const { anvil, service } = await followAnvil(t, waiting)
  const plans: TransactionLike[] = [
    { type: 0, gasPrice: 10n ** 11n },
    { type: 1, gasPrice: 10n ** 11n, accessList: [[to, [`0x${'44'.repeat(32)}`]]] },
    later,
  ]
  const hashes: string[] = []
  for (const [nonce, plan] of plans.entries()) hashes.push(await send(service, await sign(nonce, plan)))
  const pending = await Promise.all(hashes.map((hash) => find(service, hash)))
  await mine(anvil, service)
  for (const [at, hash] of hashes.entries()) {
    const mined = await find(service, hash)
    t.match(mined, { blockNumber: '0x1', transactionIndex: `0x${at}` })
    t.strictSame(pending[at], beforeBlock(mined), `type ${at}`)
  }
})

t.test('from every edge', { skip: withoutAnvil || process.platform !== 'linux' }, async (t) => {
  const { service } = await followAnvil(t, { ...waiting, edges: 2 })
  const hash = await send(service, await sign(0))
  // Each request has its own connection; all of them reach one edge once in 500,000 runs.
  const found = await Promise.all(Array.from({ length: 20 }, () => find(service, hash)))
  for (const transaction of found) t.match(transaction, { hash, blockHash: null })
  const count = () => service.call('eth_getTransactionCount', [wallet.address, 'pending'])
  for (const { result } of await Promise.all(Array.from({ length: 20 }, count))) t.equal(result, '0x1')
})

t.test('pending nonces count what follows on the head without a gap', { skip: withoutAnvil }, async (t) => {
  const { anvil, service } = await followAnvil(t, waiting)
  const nonces = () =>
    Promise.all(
      ['pending', 'latest'].map(async (tag) => {
        const { result } = await service.call('eth_getTransactionCount', [wallet.address, tag])
        return Number(result)
      }),
    )
  t.strictSame(await nonces(), [0, 0])
  await send(service, await sign(0))
  t.strictSame(await nonces(), [1, 0])
  await send(service, await sign(2))
  t.strictSame(await nonces(), [1, 0], 'no block takes nonce 2 before nonce 1')
  await send(service, await sign(1))
  t.strictSame(await nonces(), [3, 0])
  await send(service, await sign(1, { ...later, maxFeePerGas: 2n * 10n ** 11n, maxPriorityFeePerGas: 9 }))
  t.strictSame(await nonces(), [3, 0], 'one that replaces another counts once')
  const { result } = await service.call('eth_getTransactionCount', [to, 'pending'])
  t.equal(result, '0x0', 'of another account')
  await mine(anvil, service)
  t.strictSame(await nonces(), [3, 3])
  await send(service, await sign(3))
  t.strictSame(await nonces(), [4, 3])
  await anvil.ask('anvil_reorg', [1, []])
  await reaches(service, await anvil.head())
  t.strictSame(await nonces(), [4, 0], 'what a reorganisation makes pending again counts again')
})

t.test('a creation at the pending block comes after what waits', { skip: withoutAnvil }, async (t) => {
  const { service } = await followAnvil(t, waiting)
  await send(service, await sign(0))
  // Initcode that returns its own address as code: ADDRESS PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN.
  const creation = { from: wallet.address, data: '0x3060005260206000f3' }
  const madeAt = async (block: string, overrides: object = {}) => {
    const { result } = await service.call('eth_call', [creation, block, overrides])
    return `0x${String(result).slice(-40)}`
  }
  const addressAt = (nonce: number) => getCreateAddress({ from: wallet.address, nonce }).toLowerCase()
  t.equal(await madeAt('latest'), addressAt(0))
  t.equal(await madeAt('pending'), addressAt(1))
  await send(service, await sign(1))
  t.equal(await madeAt('pending'), addressAt(2), 'no answer of before is repeated')
  t.equal(await madeAt('pending', { [wallet.address]: { balance: '0x1' } }), addressAt(2))
  t.equal(await madeAt('pending', { [wallet.address]: { nonce: '0x9' } }), addressAt(9))
  const estimates = await Promise.all(
    ['latest', 'pending'].map(async (block) => service.call('eth_estimateGas', [creation, block])),
  )
  t.equal(estimates[0]?.result, estimates[1]?.result)
  // Code that reads its own first slot: ADDRESS SLOAD.
  const reading = { from: wallet.address, data: '0x6000545060006000f3' }
  const { result } = await service.call('eth_createAccessList', [reading, 'pending'])
  t.match(result.accessList, [{ address: addressAt(2) }])
})

t.test('one that is lost and refused from then on counts no more', { skip: withoutAnvil }, async (t) => {
  const { anvil, node, service } = await followBetween(t, waiting)
  await send(service, await sign(0))
  const nonce = async () =>
    (await service.call('eth_getTransactionCount', [wallet.address, 'pending'])).result
  t.equal(await nonce(), '0x1')
  await anvil.ask('anvil_dropAllTransactions')
  node.answer = between(anvil, ({ method }, answer) =>
    method === 'eth_sendRawTransaction' ? { error: { code: -32_000, message: 'no' } } : answer,
  )
  for (let block = 0; block < 3; block++) await mine(anvil, service)
  await waitFor('it to be left out', async () => (await nonce()) === '0x0')
  node.answer = between(anvil)
  for (let block = 0; block < 3; block++) await mine(anvil, service)
  await waitFor('it to be counted again', async () => (await nonce()) === '0x1')
})

t.test('one that the node lost is sent again', { skip: withoutAnvil }, async (t) => {
  const { anvil, service } = await followAnvil(t, waiting)
  const hash = await send(service, await sign(0))
  await anvil.ask('anvil_dropTransaction', [hash])
  t.equal(await anvil.ask('eth_getTransactionByHash', [hash]), null)
  for (let block = 0; block < 3; block++) await mine(anvil, service)
  await waitFor('the log line', () => service.said.err.includes('had lost a transaction that waited'))
  t.match(await find(service, hash), { hash, blockHash: null })
  await waitFor('the node to have it', () => anvil.ask('eth_getTransactionByHash', [hash]))
  await mine(anvil, service)
  t.match(await find(service, hash), { hash, blockNumber: '0x4' })
})

t.test('what is lost again and again, and waits in vain, is told once', { skip: withoutAnvil }, async (t) => {
  const { anvil, node, service } = await followBetween(t, waiting)
  node.answer = between(anvil, ({ method }, answer) =>
    method === 'eth_getTransactionByHash' ? { result: null } : answer,
  )
  await send(service, await sign(2))
  await send(service, await sign(3))
  for (let round = 1; round <= 3; round++) {
    for (let block = 0; block < 3; block++) await mine(anvil, service)
    await waitFor('both to be sent again', () => {
      return node.calls.filter(({ method }) => method === 'eth_sendRawTransaction').length >= 2 + 2 * round
    })
  }
  const reported = (what: string) => service.said.err.split('\n').filter((line) => line.includes(what))
  await waitFor('the log line', () => reported('had lost').length > 0)
  t.equal(reported('had lost 2 transactions').length, 1)
  t.equal(reported('had lost').length, 1)
  const [gap, ...more] = reported('no block takes them before it')
  t.match(gap, `2 transactions wait for another of the same sender`)
  t.match(gap, `(${wallet.address.toLowerCase()}, nonce 0)`)
  t.strictSame(more, [])
})

t.test('one whose nonce another has is forgotten', { skip: withoutAnvil }, async (t) => {
  const { anvil, service } = await followAnvil(t, waiting)
  const hash = await send(service, await sign(0))
  await anvil.ask('anvil_dropTransaction', [hash])
  t.match(await find(service, hash), { hash, blockHash: null })
  await anvil.ask('eth_sendRawTransaction', [await sign(0, { ...later, value: 2 })])
  for (let block = 0; block < 3; block++) await mine(anvil, service)
  await waitFor('it to be forgotten', async () => (await find(service, hash)) === null)
})

t.test('a reorganisation makes it pending again', { skip: withoutAnvil }, async (t) => {
  const { anvil, service } = await followAnvil(t, waiting)
  await mine(anvil, service)
  const hash = await send(service, await sign(0))
  await mine(anvil, service)
  t.match(await find(service, hash), { blockNumber: '0x2' })
  await anvil.ask('anvil_reorg', [1, []])
  await reaches(service, await anvil.head())
  t.match(await find(service, hash), { hash, blockHash: null })
})

t.test('a gateway has them, too', { skip: withoutRecordings }, async (t) => {
  const method = 'eth_sendRawTransaction'
  const archive = await startService(['--config', recordedConfig, '--no-auth'])
  t.teardown(() => archive.stop())
  const forward = forwardTo(archive.origin)
  const raws = readdirSync(join(recordings, method)).map((file) => {
    const text = readFileSync(join(recordings, method, file), 'utf8')
    return JSON.parse(/^>> (.*)$/m.exec(text)?.[1] ?? '').params[0] as string
  })
  const node = new WeatherNode((call) =>
    call.method === method ? { result: Transaction.from(String(call.params[0])).hash } : forward(call),
  )
  await node.start()
  t.teardown(() => node.stop())
  const flags = ['--network', 'main', '--upstream', node.url, '--data', t.testdir(), '--no-auth']
  const gateway = await startService(flags)
  t.teardown(() => gateway.stop())
  t.ok(raws.length > 0)
  for (const raw of raws) {
    const { hash, from, nonce, type } = Transaction.from(raw)
    t.equal(await send(gateway, raw), hash)
    t.match(await find(gateway, String(hash)), {
      blockHash: null,
      blockNumber: null,
      transactionIndex: null,
      hash,
      from: from?.toLowerCase(),
      nonce: `0x${nonce.toString(16)}`,
      type: `0x${type?.toString(16)}`,
    })
  }
})
