/** The view of an operator on a consensus client: metrics, and its row of the dashboard. */
import t, { type Test } from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { dashboardOf, logIn } from '../../dashboard/servedDashboard.js'
import { ChainMaker, type MadeBlock, mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { payloadOf } from '../../ingest/payloads.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { openBrowser, Visit, withoutBrowser } from '../../service/browser.js'
import { startEngine } from '../../service/engineNode.js'

const zero = `0x${'00'.repeat(32)}`

async function startCalled(t: Test) {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const maker = await ChainMaker.create(genesis)
  const blocks = await maker.extendBy(maker.genesis, [{}, {}, {}, {}])
  const [one, , , four] = blocks as [MadeBlock, MadeBlock, MadeBlock, MadeBlock]
  const data = makeFolder(t)
  const path = writeInto(makeFolder(t), 'genesis.json', genesis)
  const node = await startEngine(t, { genesis: path, data, flags: ['--engine-from', 'http://127.0.0.1:9'] })
  for (const made of [one, four])
    await node.call('engine_newPayloadV4', [payloadOf(made), [], `0x${'be'.repeat(32)}`, []])
  // The newest block came with its payload; no node has the two below it.
  const state = { headBlockHash: bytesToHex(four.hash), safeBlockHash: zero, finalizedBlockHash: zero }
  await node.call('engine_forkchoiceUpdatedV3', [state])
  await node.call('engine_nothing')
  return { node, dashboard: await dashboardOf(node.service, data) }
}

t.test('metrics count the calls, and the admin API has the gap', async (t) => {
  const { url, token } = (await startCalled(t)).dashboard
  const get = async (path: string) => {
    const answer = await fetch(new URL(path, url), { headers: { authorization: `Bearer ${token}` } })
    return answer.text()
  }
  const gap = { head: 4, fetched: 0, executed: 0, left: 4 }
  const consensus = await waitFor('the gap', async () => {
    const [network] = JSON.parse(await get('/api/networks'))
    return network.chain?.consensus?.gap ? network.chain.consensus : undefined
  })
  t.match(consensus, { calledAt: /^\d{4}-/, gap })
  const text = await waitFor('the counts', async () => {
    const metrics = await get('/metrics')
    return metrics.includes('method="other"') && metrics
  })
  for (const [method, outcome] of [
    ['engine_newPayloadV4', 'VALID'],
    ['engine_newPayloadV4', 'SYNCING'],
    ['engine_forkchoiceUpdatedV3', 'SYNCING'],
    ['other', '-32601'],
  ])
    t.match(text, `tidegate_engine_calls_total{network="engine",method="${method}",outcome="${outcome}"} 1\n`)
  t.match(text, /^tidegate_engine_call_age_seconds\{network="engine"\} \d/m)
  t.match(text, 'tidegate_engine_payload_seconds_count{network="engine"} 2\n')
  for (const state of ['fetched', 'executed', 'left'] as const)
    t.match(text, `tidegate_engine_gap_blocks{network="engine",state="${state}"} ${gap[state]}\n`)
})

t.test('the dashboard shows the last call and the gap', { skip: withoutBrowser }, async (t) => {
  const { url, token } = (await startCalled(t)).dashboard
  const visit = await Visit.open(await openBrowser(t), url)
  await logIn(visit, token)
  await visit.see(
    // A browser that starts late sees a silent client.
    /Consensus client\s+(?:called \d+ s ago|has not called for \d+ \w+, since [-\d]+ [:\d]+)\s+Gap to its head\s+up to 4: 0 fetched, 0 executed, 4 left/,
  )
  t.strictSame(visit.faults, [])
})
