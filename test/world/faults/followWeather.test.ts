// @shares
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import {
  answerOlderHeads,
  between,
  followBetween,
  HeadAsker,
  HeadListener,
  openBetween,
  reaches,
  requests,
  startFollower,
} from '../../upstream/followedNode.js'
import { badWeathers, fine } from '../../upstream/weatherNode.js'

t.test(
  'whatever the node does, every block comes once it is well again',
  { skip: withoutAnvil },
  async (t) => {
    const { anvil, node, service } = await followBetween(t, { blocks: 1, timeoutMs: 200 })
    const base = await anvil.head()
    const listener = await HeadListener.open(t, service)
    for (const weather of badWeathers) {
      node.weather = () => weather
      const mined = await anvil.mine(2)
      await requests(node, 1)
      t.equal(
        (await service.call('eth_getBlockByHash', [mined.hash, false])).result,
        null,
        'nothing is served',
      )
      node.weather = () => fine
      await reaches(service, mined)
      t.pass(JSON.stringify(weather))
    }
    const chain = listener.follow(base.hash)
    await waitFor('the last head', () => listener.events.at(-1)?.hash === listener.follow(base.hash).at(-1))
    t.equal(chain.length, new Set(chain).size)
    t.notOk(
      listener.events.some(({ removed }) => removed),
      'no head was taken back',
    )
  },
)

t.test('a node that dies while many blocks are fetched', { skip: withoutAnvil }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder)
  await anvil.ask('anvil_mine', ['0x12c'])
  const node = await openBetween(t, anvil)
  let blocks = 0
  node.answer = between(anvil, (call, answer) => {
    if (call.method === 'eth_getBlockByNumber' && call.params[1] === true) blocks++
    return answer
  })
  const service = await startFollower(t, folder, { urls: [node.url], genesisPath: anvil.genesisPath })
  await waitFor('some blocks', () => blocks > 80)
  await node.stop()
  await waitFor('the log line', () => service.said.err.includes('does not answer'))
  await node.start()
  await reaches(service, await anvil.head())
  t.equal((await service.call('eth_blockNumber')).result, '0x12c')
})

t.test('heads that jump back and forth are no reorganisation', { skip: withoutAnvil }, async (t) => {
  const { anvil, node, service } = await followBetween(t, { blocks: 3 })
  const older = await anvil.head()
  const morePolls = answerOlderHeads(node, anvil, older)
  const listener = await HeadListener.open(t, service)
  const asker = await HeadAsker.open(t, service)
  for (let block = 0; block < 3; block++) {
    const mined = await anvil.mine(1)
    await reaches(service, mined)
    await morePolls()
    t.equal((await service.call('eth_getBlockByNumber', ['latest', false])).result.hash, mined.hash)
  }
  await asker.more(2)
  asker.stop()
  t.ok(asker.isMonotonic, 'one connection was told no older head after a newer one')
  t.equal(listener.follow(older.hash).length, 4)
  t.notOk(listener.events.some(({ removed }) => removed))
})

t.test(
  'null for a block that was announced, and blocks of another chain',
  { skip: withoutAnvil },
  async (t) => {
    const { anvil, node, service } = await followBetween(t, { blocks: 2 })
    let nulls = 0
    node.answer = between(anvil, (call, answer) =>
      call.method === 'eth_getBlockByHash' && nulls++ < 5 ? { result: null } : answer,
    )
    await reaches(service, await anvil.mine(1))
    t.ok(nulls > 5)
    const other = await anvil.ask('eth_getBlockByNumber', ['0x1', true])
    let lies = 0
    node.answer = between(anvil, (call, answer) =>
      call.method === 'eth_getBlockByHash' && lies++ < 1 ? { result: other } : answer,
    )
    const mined = await anvil.mine(1)
    await waitFor('the log line', () => service.said.err.includes('lied: for block '))
    t.match(service.said.err, `${mined.hash} it sent content with the hash ${other.hash}`)
    await reaches(service, mined)
  },
)
