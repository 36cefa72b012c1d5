// @scene a consensus client chooses a head far above the store
/** A fresh node gets only the newest block of a consensus client; nodes send the blocks below it, and one of them lies. */
import t from 'tap'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { decodeRlpList, encodeRlp } from '../../../src/primitives/rlp.js'
import {
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../ingest/chainMaker.js'
import { payloadOf } from '../../ingest/payloads.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { type EngineNode, startEngine } from '../../service/engineNode.js'
import { get } from '../../service/httpClient.js'
import { writeConfig } from '../../service/program.js'
import { type FrontAnswer, type FrontCall, json, openFront } from '../../upstream/front.js'

const beaconRoot = `0x${'be'.repeat(32)}`
const blocksCount = 300
const zero = `0x${'00'.repeat(32)}`

const give = async (node: EngineNode, made: MadeBlock): Promise<string> =>
  (await node.call('engine_newPayloadV4', [payloadOf(made), [], beaconRoot, []])).result.status

const choose = async (node: EngineNode, { hash }: Pick<MadeBlock, 'hash'>): Promise<string> => {
  const state = { headBlockHash: bytesToHex(hash), safeBlockHash: zero, finalizedBlockHash: zero }
  return (await node.call('engine_forkchoiceUpdatedV3', [state])).result.payloadStatus.status
}

/** The block without its transactions: its header stays. */
function withoutTransactions(raw: string): string {
  const [header, , ...others] = decodeRlpList(hexToBytes(raw))
  return bytesToHex(encodeRlp([header as never, [], ...others]))
}

const health = async ({ service }: EngineNode) =>
  JSON.parse((await get(`${service.origin}/health`)).text).networks.engine

t.test('a fresh node comes to the chosen head, and passes over a node that lies about bodies', async (t) => {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const maker = await ChainMaker.create(genesis)
  const plans = Array.from({ length: blocksCount }, (_, index) => ({
    transactions: [{ to: contracts.store, data: storeInput(BigInt(index), 1n) }],
  }))
  const blocks = await maker.extendBy(maker.genesis, plans)
  const path = writeInto(makeFolder(t), 'genesis.json', genesis)
  const ahead = await startEngine(t, { genesis: path })
  for (const made of blocks) await give(ahead, made)
  const head = blocks.at(-1) as MadeBlock
  t.equal(await choose(ahead, head), 'VALID')

  let lies = 0
  const isBlock = ({ method, params }: FrontCall) =>
    method === 'debug_getRawBlock' || (method === 'eth_getBlockByHash' && params[1] === true)
  /** Changes the results of calls for whole blocks. */
  const front = (change: (result: unknown) => unknown) =>
    openFront(t, ahead.service.origin, async ({ calls }, pass) => {
      const { status, body } = await pass()
      const asked = calls.filter(isBlock).map(({ id }) => id)
      const answers = [JSON.parse(String(body))].flat() as FrontAnswer[]
      const changed = answers.map((answer) =>
        asked.includes(answer.id) && answer.result ? { ...answer, result: change(answer.result) } : answer,
      )
      return json(status, calls.length > 1 ? changed : changed[0])
    })
  const liar = await front((block) => {
    lies++
    return typeof block === 'string' ? withoutTransactions(block) : { ...(block as object), transactions: [] }
  })
  // Until the other node has lied, this one has no block.
  const honest = await front((block) => (lies > 0 ? block : null))
  const flags = ['--engine-from', liar, '--engine-from', honest]
  const fresh = await startEngine(t, { genesis: path, flags })
  t.equal(await give(fresh, head), 'SYNCING')
  t.equal(await choose(fresh, head), 'SYNCING')
  await waitFor('the head', async () => (await choose(fresh, head)) === 'VALID')
  t.equal((await fresh.service.call('eth_blockNumber')).result, `0x${blocksCount.toString(16)}`)
  t.equal((await fresh.service.call('eth_syncing')).result, false)
  t.ok(lies > 0, 'the liar was asked')
  await waitFor('the report of the lie', () => /lied/.test(fresh.service.said.err))
  t.match(fresh.service.said.err, /300 blocks up to 300, the chosen head, come from nodes/)
})

t.test('without a node the head stays, and the health report says what is missing', async (t) => {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const maker = await ChainMaker.create(genesis)
  const blocks = await maker.extendBy(maker.genesis, [{}, {}, {}])
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  const limits = { engineMissingMs: 1_000, fetchMsMax: 1_000 }
  const flags = ['--config', writeConfig(folder, { limits }), '--engine-from', 'http://127.0.0.1:9']
  const node = await startEngine(t, { genesis: path, flags })
  const head = blocks.at(-1) as MadeBlock
  t.equal(await give(node, head), 'SYNCING')
  const trouble = await waitFor('the trouble', async () => {
    t.equal(await choose(node, head), 'SYNCING')
    return (await health(node)).trouble
  })
  t.match(trouble, /no node sends the header of block 2/)
  for (const made of blocks) t.equal(await give(node, made), 'VALID')
  t.equal(await choose(node, head), 'VALID')
  await waitFor('the end of the trouble', async () => (await health(node)).trouble === undefined)
})

t.test('limits.engineReceivedMax bounds the payloads that wait for their parents', async (t) => {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const maker = await ChainMaker.create(genesis)
  const blocks = await maker.extendBy(maker.genesis, [{}, {}, {}, {}])
  const [first, second, ...others] = blocks as [MadeBlock, MadeBlock, ...MadeBlock[]]
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  const limits = { engineReceivedMax: 2, engineMissingMs: 100, engineRetryMs: 10, fetchMsMax: 100 }
  const flags = ['--config', writeConfig(folder, { limits }), '--engine-from', 'http://127.0.0.1:9']
  const node = await startEngine(t, { genesis: path, flags })
  for (const made of [second, ...others]) t.equal(await give(node, made), 'SYNCING')
  t.equal(await give(node, first), 'VALID')
  const head = blocks.at(-1) as MadeBlock
  t.equal(await choose(node, head), 'SYNCING')
  const trouble = await waitFor('the trouble', async () => (await health(node)).trouble)
  t.match(trouble, /no node sends the header of block 2/, 'the oldest one was forgotten')
  t.equal(await give(node, second), 'VALID')
  await waitFor('the head', async () => (await choose(node, head)) === 'VALID')
})
