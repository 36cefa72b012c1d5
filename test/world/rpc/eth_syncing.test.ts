// @shares
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { makeReplayedChain } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { blockBytes, genesisPath, headBlock } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { executedHere } from '../../service/fixtures.js'
import { withoutTimes } from '../../service/healthTimes.js'
import { writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const method = 'eth_syncing'
const asked = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })

/** A network that imports the demo chain while it is served. */
async function startSyncing(folder: string): Promise<Service> {
  writeInto(folder, 'chain.rlp', Buffer.concat(blockBytes))
  const config = writeConfig(folder, {
    dataDir: 'data',
    networks: [{ name: 'tides', genesis: genesisPath, source: { type: 'file', path: 'chain.rlp' } }],
  })
  return startService(['--config', config, '--no-auth'])
}

async function wholeHealthOf({ origin }: Service) {
  return JSON.parse(await (await fetch(`${origin}/health`, { headers: { connection: 'close' } })).text())
}

async function healthOf(service: Service): Promise<{ head: number; syncing: boolean }> {
  return (await wholeHealthOf(service)).networks.tides
}

t.test('a network without a source, or whose source is done, is not syncing', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  t.strictSame(await service.call(method), { jsonrpc: '2.0', id: 1, result: false })
  await checkRefusals(t, service, method, [
    [['latest'], -32602, 'too many arguments, want at most 0'],
    [{}, -32602, 'non-array args: params must be an array'],
  ])
})

t.test(
  'a network shows how far its source is from the start on, until that is done, also after a restart',
  async (t) => {
    const folder = makeFolder(t)
    const first = await startSyncing(folder)
    await waitFor('some blocks', async () => Number((await first.call('eth_blockNumber')).result) > 5)
    t.equal(await first.stop(), 0)
    const service = await startSyncing(folder)
    t.teardown(() => service.stop())
    t.ok(Number((await service.call('eth_blockNumber')).result) > 5, 'it goes on from there')
    const numberOf = async () => Number((await service.call('eth_blockNumber')).result)
    const seen: { startingBlock: string; currentBlock: string; highestBlock: string }[] = []
    const health: { head: number; syncing: boolean }[] = []
    await waitFor('the end of the source', async () => {
      const { result } = await service.call(method)
      if (result !== false) {
        seen.push(result)
        health.push(await healthOf(service))
        // The reported block can be read.
        const number = Number(result.currentBlock)
        if ((await numberOf()) < number) t.fail(`block ${number} is told before it can be read`)
      }
      if (result !== false) return false
      const number = await numberOf()
      if (number !== headBlock.number) throw new Error(`in sync at block ${number}`)
      return true
    })
    t.ok(seen.length > 0)
    t.ok(health.some(({ syncing }) => syncing))
    let last = 0
    for (const progress of seen) {
      t.strictSame(Object.keys(progress), ['startingBlock', 'currentBlock', 'highestBlock'])
      t.strictSame(
        Object.values(progress).filter((text) => !/^0x(?:0|[1-9a-f][0-9a-f]*)$/.test(text)),
        [],
      )
      const [starting, current, highest] = Object.values(progress).map(Number) as [number, number, number]
      if (starting > current || current > highest) t.fail(JSON.stringify(progress))
      if (current < last) t.fail(`back from ${last} to ${current}`)
      last = current
    }
    t.strictSame(withoutTimes(await healthOf(service)), {
      head: headBlock.number,
      basis: executedHere,
      syncing: false,
      condition: 'ok',
    })
    t.equal((await service.call('eth_getBlockByNumber', ['latest', false])).result.hash, headBlock.hash)
  },
)

t.test('a network whose source failed says so, and is not in sync, also after a restart', async (t) => {
  const folder = makeFolder(t)
  const goodBlocks = 10
  // A block whose parent is missing comes after the good ones.
  const bytes = [...blockBytes.slice(0, goodBlocks), blockBytes[goodBlocks + 1] as Uint8Array]
  writeInto(folder, 'chain.rlp', Buffer.concat(bytes))
  const config = writeConfig(folder, {
    dataDir: 'data',
    networks: [
      { name: 'tides', genesis: genesisPath, source: { type: 'file', path: 'chain.rlp' } },
      { name: 'still', genesis: genesisPath, source: { type: 'file', path: 'one.rlp' } },
    ],
  })
  writeInto(folder, 'one.rlp', Buffer.from(blockBytes[0] as Uint8Array))
  for (const start of ['first', 'second']) {
    const service = await startService(['--config', config, '--no-auth'])
    t.teardown(() => service.stop())
    let health = await wholeHealthOf(service)
    await waitFor('the end of both sources', async () => {
      health = await wholeHealthOf(service)
      const { status, networks } = health
      // A source that has not begun yet is not behind either, so this very answer is compared.
      return status === 'failing' && networks.still.head === 1 && !networks.still.syncing
    })
    const { status, networks } = health
    const { headAgeSeconds } = networks.tides
    t.ok(headAgeSeconds > 0)
    t.strictSame(
      withoutTimes({ status, networks }),
      {
        status: 'failing',
        networks: {
          tides: {
            head: goodBlocks,
            headAgeSeconds,
            basis: executedHere,
            syncing: true,
            condition: 'failing',
            source: 'failed',
          },
          still: { head: 1, basis: executedHere, syncing: false, condition: 'ok' },
        },
      },
      `${start} start`,
    )
    const head = `0x${goodBlocks.toString(16)}`
    t.match((await service.call(method)).result, { currentBlock: head, highestBlock: head })
    t.equal((await service.call('eth_blockNumber')).result, head, 'what is stored is served')
    t.equal(await service.stop(), 0)
  }
})

t.test('a source that fails when all were up to date takes them out of sync, on every edge', async (t) => {
  const edges = process.platform === 'linux' ? 2 : 1
  const chain = await makeReplayedChain(t, { length: 8, from: 2, intervalMs: 1 })
  const chainFile = readFileSync(chain.plan.file)
  chainFile.fill(0, chainFile.length - 20)
  writeFileSync(chain.plan.file, chainFile)
  const config = JSON.parse(readFileSync(chain.configPath, 'utf8'))
  writeFileSync(chain.configPath, JSON.stringify({ ...config, edges }))
  const steps = await Steps.listen(t)
  const service = await chain.start(steps.env())
  t.teardown(() => service.stop())
  const url = `${service.origin.replace('http', 'ws')}/ws`
  // Twenty connections are of one edge only once in half a million runs.
  const clients = await Promise.all(Array.from({ length: 20 }, () => SocketClient.connect(url)))
  for (const client of clients) {
    t.teardown(() => client.cut())
    const subscribe = { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['syncing'] }
    t.match(await client.ask(JSON.stringify(subscribe)), /"result":"0x/)
  }
  await steps.next(6)
  for (const client of clients) {
    let event = ''
    do event = (await client.next()) ?? 'the end'
    while (event.includes('"result":false'))
    t.match(JSON.parse(event), { params: { result: { syncing: true, status: { currentBlock: '0x7' } } } })
    t.match(JSON.parse((await client.ask(asked)) ?? ''), { result: { highestBlock: '0x7' } })
  }
  for (let look = 0; look < 20; look++) {
    t.match(await wholeHealthOf(service), { status: 'failing' })
  }
})
