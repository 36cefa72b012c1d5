/** One key repeats endless calls. Measures the service that other keys still get. */
import t, { type Test } from 'tap'
import { until, waitFor } from '../../library/until.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'
import type { RpcAnswer } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const overridden = `0x${'b0'.repeat(20)}`
/** JUMPDEST PUSH1 0 JUMP */
const endless = '0x5b600056'
/** PUSH1 7 PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN */
const seven = '0x600760005260206000f3'

/** A balance that no code reads makes each call different, so that no answer is cached. */
function callOf(code: string, id: number): string {
  const overrides = { [overridden]: { code, balance: `0x${(id + 1).toString(16)}` } }
  return request('eth_call', [{ to: overridden }, 'latest', overrides], id)
}

function request(method: string, params: readonly unknown[], id: number): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** The program with an attacker's and five victims' keys, each with a connection. */
async function startAttacked(t: Test, limits: object) {
  const names = ['attacker', 'one', 'two', 'three', 'four', 'five']
  const { service, keys } = await startKeyedDemo(t, names, { limits: { poolThreads: 2, ...limits } })
  const clients = await Promise.all(
    keys.map((key) => SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws/v3/${key}`)),
  )
  t.teardown(async () => {
    for (const client of clients) client.cut()
    await service.stop()
  })
  const [attacker, ...victims] = clients as [SocketClient, ...SocketClient[]]
  return { attacker, victims }
}

async function nextAnswer(client: SocketClient): Promise<RpcAnswer> {
  return JSON.parse((await client.next()) ?? '{}')
}

const callsEach = 20
const proofsEach = 10

t.test('victims of endless calls lose nothing, and wait for one of them at most', async (t) => {
  const { attacker, victims } = await startAttacked(t, {})
  /** Calls that had a thread to themselves until their time or gas was used up. */
  const aborted: RpcAnswer[] = []
  let sent = 0
  // Sends more calls than one request may wait for, one after another.
  for (; sent < 100; sent++) attacker.send(callOf(endless, sent))
  let isOver = false
  const attack = (async () => {
    while (!isOver) {
      const answer = await nextAnswer(attacker)
      if (answer.error?.code === -32000) aborted.push(answer)
      attacker.send(callOf(endless, sent++))
    }
  })()
  /** Number of these calls that ended while a call of a victim waited. */
  const overtaken: number[] = []
  const ask = async (victim: SocketClient, text: string) => {
    const before = aborted.length
    victim.send(text)
    const answer = await nextAnswer(victim)
    overtaken.push(aborted.length - before)
    return answer
  }
  const served = await Promise.all(
    victims.map(async (victim, at) => {
      let calls = 0
      let proofs = 0
      for (let id = 0; id < callsEach; id++) {
        const call = await ask(victim, callOf(seven, at * callsEach + id))
        if (Number(call.result) === 7) calls++
        else t.fail(JSON.stringify(call))
        if (id >= proofsEach) continue
        const proof = await ask(
          victim,
          request('eth_getProof', [overridden, [`0x${id}`, '0xff'], 'latest'], id),
        )
        if (proof.result?.storageProof.length === 2) proofs++
        else t.fail(JSON.stringify(proof))
      }
      return { calls, proofs }
    }),
  )
  t.strictSame(served, Array(victims.length).fill({ calls: callsEach, proofs: proofsEach }))
  // On each thread one call is about to end when another arrives; later calls wait behind it.
  t.ok(Math.max(...overtaken) <= 2, overtaken.join())
  await until(() => aborted.length >= 2)
  isOver = true
  attacker.cut()
  await attack
  t.match(aborted[0]?.error, { code: -32000, message: /^(?:execution aborted|out of gas)/ })
})

t.test('who pays by time is refused until endless calls are paid for', async (t) => {
  const { attacker, victims } = await startAttacked(t, {
    executionMsMax: 500,
    keyUnitsPerSecond: 1,
    keyUnitsBurst: 25_000,
  })
  // A call is charged 100 units, and 50,000 for half a second of CPU; fewer if other processes have the core.
  let refused: RpcAnswer
  let calls = 0
  do {
    attacker.send(callOf(endless, calls++))
    refused = await nextAnswer(attacker)
  } while (refused.error?.code === -32000)
  t.ok(calls < 100, `the ${calls}th call was refused`)
  t.match(refused, { error: { code: -32005, data: { limit: 1 } } })
  const { retryAfterMs } = (refused.error?.data ?? {}) as { retryAfterMs: number }
  t.ok(
    retryAfterMs > 1_000 && retryAfterMs <= 160_000,
    `a debt of a minute at most, and the call: ${retryAfterMs}`,
  )
  for (const [at, victim] of victims.entries()) {
    const answer = await waitFor('a call of a victim to get the core in time', async () => {
      victim.send(callOf(seven, at))
      const answer = await nextAnswer(victim)
      return answer.error?.code !== -32000 && answer
    })
    t.match(Number(answer.result), 7, JSON.stringify(answer.error))
  }
})
