/**
 * A fresh node under a consensus client has beacon nodes alone, with the blocks of all forks from Paris to Osaka that
 * go-ethereum made (`../shared/engine`). Some of the beacon nodes lie. Skipped where the recordings are absent.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BeaconChain } from '../../consensus/beaconChain.js'
import { BeaconServer } from '../../consensus/beaconServer.js'
import { engineRecordings, withoutEngineRecordings } from '../../consensus/engineRecordings.js'
import { recordedPayloads } from '../../consensus/recordedPayloads.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { type EngineNode, startEngine } from '../../service/engineNode.js'
import { get } from '../../service/httpClient.js'
import { writeConfig } from '../../service/program.js'

const genesis = join(engineRecordings, 'genesis-ladder.json')
const zero = `0x${'00'.repeat(32)}`
const given = withoutEngineRecordings ? [] : recordedPayloads('03-ladder.jsonl')

async function startBeacon(t: Test, chain = new BeaconChain(given)): Promise<BeaconServer<BeaconChain>> {
  const server = new BeaconServer(chain)
  await server.start()
  t.teardown(() => server.stop())
  return server
}

const flagsFor = (servers: readonly BeaconServer<BeaconChain>[]) =>
  servers.flatMap(({ url }) => ['--engine-beacon', url])

async function choose(node: EngineNode, hash: unknown): Promise<string> {
  const state = { headBlockHash: hash, safeBlockHash: zero, finalizedBlockHash: zero }
  return (await node.call('engine_forkchoiceUpdatedV3', [state])).result.payloadStatus.status
}

async function give(node: EngineNode, index: number): Promise<string> {
  const { payload, parentRoot, requests } = given[index] as (typeof given)[number]
  const hashes: string[] = []
  return (await node.call('engine_newPayloadV4', [payload, hashes, parentRoot, requests])).result.status
}

const health = async ({ service }: EngineNode) =>
  JSON.parse((await get(`${service.origin}/health`)).text).networks.engine

t.test('blocks of all forks come from a beacon node', { skip: withoutEngineRecordings }, async (t) => {
  const beacon = await startBeacon(t)
  // The chosen block is the payload of a block below the head of the beacon node, and was not given.
  beacon.view.headBack = 3
  const node = await startEngine(t, { genesis, flags: flagsFor([beacon]) })
  const hash = given.at(-6)?.payload.blockHash
  t.equal(await choose(node, hash), 'SYNCING')
  await waitFor('the head', async () => (await choose(node, hash)) === 'VALID')
  t.equal((await node.service.call('eth_blockNumber')).result, given.at(-6)?.payload.blockNumber)
  t.match(await health(node), { beaconNodes: { 1: { since: /^20/ } } })
  const paths = beacon.asked.filter((path) => path.startsWith('/eth/v2/'))
  t.ok(paths.length <= 3 * given.length, `${paths.length} requests for ${given.length} blocks`)
  // The newest one was given, and the two below it were not.
  t.equal(await give(node, given.length - 1), 'SYNCING')
  const newest = given.at(-1)?.payload.blockHash
  await waitFor('the newest head', async () => (await choose(node, newest)) === 'VALID')
  beacon.view.headBack = 0
})

t.test(
  'beacon nodes that lie, and a node without an answer, delay nobody for long',
  { skip: withoutEngineRecordings },
  async (t) => {
    const servers = await Promise.all(Array.from({ length: 7 }, () => startBeacon(t)))
    const [other, malformed, cut, long, silent, none, honest] = servers as [
      BeaconServer<BeaconChain>,
      BeaconServer<BeaconChain>,
      BeaconServer<BeaconChain>,
      BeaconServer<BeaconChain>,
      BeaconServer<BeaconChain>,
      BeaconServer<BeaconChain>,
      BeaconServer<BeaconChain>,
    ]
    const isBlock = (path: string) => path.startsWith('/eth/v2/')
    const liars = [other, malformed, cut, long, none]
    other.view.change = (_, index) => other.view.blocks[(index + 7) % given.length]?.data
    malformed.view.change = (data) =>
      JSON.parse(JSON.stringify(data).replace(/"state_root":"0x../g, '"state_root":"0xzz'))
    cut.weather = (path) => ({ kind: isBlock(path) ? 'half' : 'fine' })
    long.weather = (path) =>
      isBlock(path)
        ? { kind: 'status', status: 200, body: `{"data":"${'0'.repeat(10 * 2 ** 20)}"}` }
        : { kind: 'fine' }
    silent.weather = () => ({ kind: 'drop' })
    none.view.change = () => undefined
    // Until all others were asked, it has no block.
    const haveLied = () => liars.every(({ asked }) => asked.some(isBlock))
    honest.view.change = (data) => (haveLied() ? data : undefined)
    // The node without an answer costs this much.
    const config = writeConfig(makeFolder(t), { limits: { fetchMsMax: 5_000 } })
    const flags = [...flagsFor(servers), '--engine-from', 'http://127.0.0.1:9', '--config', config]
    const node = await startEngine(t, { genesis, flags })
    const newest = given.at(-1)?.payload
    t.equal(await give(node, given.length - 1), 'SYNCING')
    t.equal(await choose(node, newest?.blockHash), 'SYNCING')
    await waitFor('the head', async () => (await choose(node, newest?.blockHash)) === 'VALID')
    t.equal((await node.service.call('eth_blockNumber')).result, newest?.blockNumber)
    t.ok(haveLied(), 'each was asked')
    const { err } = node.service.said
    await waitFor('the reports', () => /lied: for the payload/.test(node.service.said.err))
    t.match(node.service.said.err, /lied: a beacon block that is malformed/)
    t.notMatch(err, /has a bad block/)
  },
)
