/** Number of requests of a gateway to its node for each head, while stored values stay current. */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { reachesTip } from '../../../faults/storm.js'
import { accounts, StormChain } from '../../../faults/stormChain.js'
import { answerFrom } from '../../../faults/stormNodes.js'
import { makeFolder } from '../../../library/folder.js'
import { waitFor } from '../../../library/until.js'
import type { Service } from '../../../service/service.js'
import { startGateway } from '../../../upstream/followedNode.js'
import { type NodeCall, WeatherNode } from '../../../upstream/weatherNode.js'

const heads = 12
/** `takingMsMax` of the watch of heads. */
const rarePollMs = 4_000
/** A busy machine may take as long for an answer. */
const nodeMs = 60_000

function isPoll({ method, params }: NodeCall): boolean {
  return method === 'eth_getBlockByNumber' && params[0] === 'latest'
}

interface Opened {
  readonly chain: StormChain
  readonly node: WeatherNode
  readonly service: Service
}

async function open(t: Test, hasSockets: boolean): Promise<Opened> {
  const chain = await StormChain.fromSeed(1)
  const view = {
    get tip() {
      return chain.tip
    },
    has: () => true,
  }
  const node = new WeatherNode((call) => answerFrom(chain, view, true, call))
  node.hasSockets = hasSockets
  await node.start()
  t.teardown(() => node.stop())
  const service = await startGateway(t, makeFolder(t), { urls: [node.url], timeoutMs: nodeMs })
  await reachesTip(service, chain)
  return { chain, node, service }
}

async function readBalances(service: Service): Promise<unknown[]> {
  const answers = await Promise.all(accounts.map((each) => service.call('eth_getBalance', [each, 'latest'])))
  return answers.map(({ result }) => result)
}

/** Waits until the node gets only polls for its head: headers below the head are linked by then. */
async function settle(node: WeatherNode): Promise<void> {
  const others = () => node.requests.filter((calls) => !calls.every(isPoll)).length
  let before = -1
  await waitFor('rest', async () => {
    const isCalm = others() === before
    before = others()
    const polls = node.calls.length
    await waitFor('time', () => node.hasSockets || node.calls.length > polls + 3)
    return isCalm
  })
}

const methodsOf = (requests: readonly (readonly NodeCall[])[]) =>
  JSON.stringify(requests.map((calls) => calls.map(({ method, params }) => [method, params[0]]))).slice(
    0,
    1_500,
  )

/** Waits for a head after which stored values are read without a request to the node, and compares them. */
async function requireCurrent(t: Test, { chain, node, service }: Opened): Promise<void> {
  const balances = await waitFor('a head with all held values', async () => {
    await chain.advance(0)
    node.tell(await askHead(node))
    await reachesTip(service, chain)
    const before = node.requests.length
    const read = await readBalances(service)
    // On a busy machine the proofs of a head may come too late to be waited for.
    return node.requests.slice(before).every((calls) => calls.every(isPoll)) && read
  })
  const wanted = accounts.map((each) => node.answer({ method: 'eth_getBalance', params: [each, 'latest'] }))
  t.strictSame(
    balances,
    (await Promise.all(wanted)).map((each) => 'result' in each && each.result),
  )
}

async function askHead(node: WeatherNode): Promise<unknown> {
  const head = await node.answer({ method: 'eth_getBlockByNumber', params: ['latest', false] })
  return 'result' in head && head.result
}

/** Checks the requests for `heads` heads: one batch fetches each, and a poll finds it if no socket reports it. */
function checkCounts(t: Test, asked: readonly (readonly NodeCall[])[], pollsMax: number): void {
  const polls = asked.filter((calls) => calls.every(isPoll)).length
  const batches = asked.length - polls
  t.ok(batches <= 1.1 * heads, `${batches} batches for ${heads} heads: ${methodsOf(asked)}`)
  t.ok(polls <= pollsMax, `${polls} polls for ${heads} heads: ${methodsOf(asked)}`)
}

/** Occupies both cores of a small machine until the test ends. */
function occupyCores(t: Test): void {
  for (let count = 0; count < 4; count++) {
    const loop = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
    t.teardown(() => loop.kill('SIGKILL'))
  }
}

for (const [beside, lateMs, isBusy] of [
  ['at rest', 0, false],
  ['with answers 400 ms late', 400, false],
  ['beside busy loops', 0, true],
] as const) {
  t.test(`two requests a head by polls, ${beside}`, async (t) => {
    const { chain, node, service } = await open(t, false)
    await readBalances(service)
    await settle(node)
    if (isBusy) occupyCores(t)
    const { answer } = node
    let left = heads
    let isFetched = true
    // Each poll after the answers about a head finds another block; earlier polls are too many.
    node.answer = async (call) => {
      if (!isPoll(call)) {
        await sleep(lateMs)
        if (call.method === 'debug_getRawBlock') isFetched = true
      } else if (left > 0 && isFetched) {
        isFetched = false
        left--
        await chain.advance(0)
      }
      return answer(call)
    }
    const before = node.requests.length
    const startMs = performance.now()
    await waitFor('the heads', () => left === 0)
    await reachesTip(service, chain)
    node.answer = answer
    const asked = node.requests.slice(before)
    // After the last head there are only polls.
    const last = asked.findLastIndex((calls) => !calls.every(isPoll))
    // These heads come at irregular times, so the node is polled every four seconds while a head is fetched.
    const rarePolls = Math.floor((performance.now() - startMs) / rarePollMs)
    checkCounts(t, asked.slice(0, last + 1), 1.1 * heads + rarePolls)
    await requireCurrent(t, { chain, node, service })
  })
}

for (const isBusy of [false, true]) {
  t.test(`one request a head with a socket, ${isBusy ? 'beside busy loops' : 'at rest'}`, async (t) => {
    const { chain, node, service } = await open(t, true)
    await readBalances(service)
    await waitFor('a subscription', () => node.subscribers > 0)
    await settle(node)
    if (isBusy) occupyCores(t)
    const before = node.requests.length
    const startMs = performance.now()
    for (let count = 0; count < heads; count++) {
      await chain.advance(0)
      node.tell(await askHead(node))
      await reachesTip(service, chain)
    }
    // A subscription without an event for four seconds is compared with a poll, as on a busy machine.
    const silences = Math.floor((performance.now() - startMs) / rarePollMs)
    checkCounts(t, node.requests.slice(before), silences + 1)
    await requireCurrent(t, { chain, node, service })
  })
}
