/** A gateway with nodes that fail, make mistakes and lie. Its clients get a right answer, or an error in time. */
import t, { type Test } from 'tap'
import { testAddresses } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import type { Service } from '../../service/service.js'
import { type AnvilNode, startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import {
  answerOlderHeads,
  between,
  HeadAsker,
  HeadListener,
  openBetween,
  reaches,
  requests,
  startGateway,
} from '../../upstream/followedNode.js'
import { badWeathers, fine } from '../../upstream/weatherNode.js'

const skip = withoutAnvil
/** The messages of a gateway without an answer: the asked nodes and their failures, or that time is over. */
const clear = /^(no upstream |request timed out|fewer than )/

/** The answer to a question once it is the node's. */
async function becomes(
  service: Service,
  anvil: AnvilNode,
  method: string,
  params: readonly unknown[],
): Promise<void> {
  const expected = JSON.stringify(await anvil.ask(method, params))
  await waitFor(`${method} to be ${expected.slice(0, 200)}`, async () => {
    const { result, error } = await service.call(method, params)
    if (error !== undefined && !clear.test(error.message)) throw new Error(error.message)
    return JSON.stringify(result) === expected
  })
}

/** Sends a call. A result must be anvil's; an error must give its reason. */
async function rightOrClear(
  t: Test,
  service: Service,
  anvil: AnvilNode,
  method: string,
  params: readonly unknown[],
): Promise<void> {
  const { result, error } = await service.call(method, params)
  if (error !== undefined) t.match(error.message, clear)
  else t.strictSame(result, await anvil.ask(method, params), `${method} ${JSON.stringify(params)}`)
}

const [, holder] = testAddresses
const balance = ['eth_getBalance', [String(holder), 'latest']] as const

t.test('before one node', { skip }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder)
  const node = await openBetween(t, anvil)
  const base = await anvil.mine(2)
  const service = await startGateway(t, folder, { urls: [node.url], timeoutMs: 200, requestMsMax: 400 })
  await reaches(service, base)
  const listener = await HeadListener.open(t, service)
  const asker = await HeadAsker.open(t, service)
  /** Each head was reported, and no block was unwound. */
  const reportedAll = async (t: Test) => {
    const last = await anvil.head()
    await waitFor('the last head', () => listener.events.at(-1)?.hash === last.hash)
    t.equal(listener.follow(base.hash).length, 1 + Number(last.number) - Number(base.number))
    t.notOk(listener.events.some(({ removed }) => removed))
    await asker.more(2)
    t.ok(asker.isMonotonic, 'one connection was told no older head after a newer one')
  }

  await t.test('whatever the node does, every block comes once it is well again', async (t) => {
    const held = await service.call('eth_getBlockByHash', [base.hash, true])
    for (const weather of badWeathers) {
      node.weather = () => weather
      const mined = await anvil.mine(2)
      await requests(node, 1)
      const { error } = await service.call('eth_getBlockByHash', [mined.hash, false])
      t.match(error?.message, clear, JSON.stringify(weather))
      t.strictSame(
        await service.call('eth_getBlockByHash', [base.hash, true]),
        held,
        'what is held is served',
      )
      node.weather = () => fine
      await reaches(service, mined)
      await becomes(service, anvil, ...balance)
    }
    await reportedAll(t)
  })

  await t.test('heads that jump back and forth are no reorganisation', async (t) => {
    const older = await anvil.head()
    const morePolls = answerOlderHeads(node, anvil, older)
    for (let block = 0; block < 3; block++) {
      const mined = await anvil.mine(1)
      await reaches(service, mined)
      await morePolls()
      t.equal((await service.call('eth_getBlockByNumber', ['latest', false])).result.hash, mined.hash)
      await becomes(service, anvil, ...balance)
    }
    await reportedAll(t)
  })

  await t.test('null for a block that was announced', async (t) => {
    let nulls = 0
    node.answer = between(anvil, (call, answer) =>
      call.method === 'eth_getBlockByHash' && nulls++ < 5 ? { result: null } : answer,
    )
    await reaches(service, await anvil.mine(1))
    t.ok(nulls > 5)
    await reportedAll(t)
  })
  asker.stop()
})

t.test('a node that is down at start, and one that dies under load', { skip }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder)
  await anvil.mine(3)
  const node = await openBetween(t, anvil)
  node.weather = () => (node.requests.length > 3 ? fine : { kind: 'drop' })
  const service = await startGateway(t, folder, { urls: [node.url], requestMsMax: 1_000 })
  t.match(service.said.err, /does not say which chain it has/)
  await reaches(service, await anvil.head())
  const strangers = Array.from(
    { length: 60 },
    (_, index) => `0x${(index + 1).toString(16).padStart(40, 'b')}`,
  )
  const load = strangers.map((stranger) =>
    rightOrClear(t, service, anvil, 'eth_getTransactionCount', [stranger, 'latest']),
  )
  await waitFor('some questions', () => node.calls.some(({ method }) => method === 'eth_getProof'))
  await node.stop()
  await Promise.all(load)
  t.equal(await service.stop(), 0)

  const again = await startGateway(t, folder, { urls: [node.url], requestMsMax: 1_000 })
  await reaches(again, await anvil.head())
  await rightOrClear(t, again, anvil, 'eth_getTransactionCount', [`0x${'cc'.repeat(20)}`, 'latest'])
  const mined = await anvil.mine(2)
  await node.start()
  await reaches(again, mined)
  await becomes(again, anvil, ...balance)
})

for (const [method, what] of [
  ['eth_getBlockReceipts', 'receipts'],
  ['eth_getProof', 'proofs'],
] as const) {
  t.test(`${what} of another block are caught, and asked of the next node`, { skip }, async (t) => {
    const folder = makeFolder(t)
    const anvil = await startAnvil(t, folder)
    await anvil.mine(2)
    const { hash } = await anvil.head()
    // All blocks have one transfer, so that the receipts of one are those of all.
    const [receipt] = await anvil.ask('eth_getBlockReceipts', [hash])
    const other = {
      eth_getBlockReceipts: [{ ...receipt, cumulativeGasUsed: '0x5209' }],
      eth_getProof: await anvil.ask('eth_getProof', [String(holder), [], '0x1']),
    }[method]
    let lies = 0
    const liar = await openBetween(t, anvil)
    const honest = await openBetween(t, anvil)
    const service = await startGateway(t, folder, { urls: [liar.url, honest.url] })
    await reaches(service, await anvil.head())
    // The honest one has no time until the other has lied.
    honest.weather = () => (lies > 0 ? fine : { kind: 'status', status: 503 })
    liar.answer = between(anvil, (call, answer) => {
      if (call.method !== method) return answer
      lies++
      return { result: other }
    })
    const mined = await anvil.mine(1)
    await reaches(service, mined)
    await becomes(service, anvil, ...balance)
    const range = [{ fromBlock: '0x1', toBlock: 'latest' }]
    await becomes(service, anvil, 'eth_getLogs', range)
    t.ok(lies > 0)
    await waitFor('the log line', () =>
      new RegExp(`${liar.url.slice('http://'.length)} lied: `).test(service.said.err),
    )
    t.notMatch(service.said.err, `${honest.url.slice('http://'.length)} lied`)
  })
}
