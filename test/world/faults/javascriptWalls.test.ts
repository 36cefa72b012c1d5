/**
 * JavaScript tracers of one key have no effect on another key. Runs attacks of each kind, and traces of a victim
 * before, during and after them, on every thread of the pool.
 */
import t from 'tap'
import {
  endlessAttacks,
  forgingAttacks,
  type ScriptAttack,
  takingAttacks,
  writingAttacks,
} from '../../faults/scriptAttacks.js'
import { someOf, thirdOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { addressOf, blockAt, examples, quantity } from '../../rpc/demoChain.js'
import { adminOf } from '../../service/adminClient.js'
import { patientLimits } from '../../service/fixtures.js'
import { createKeys } from '../../service/keyedDemo.js'
import { copyDemo } from '../../service/servedDemo.js'
import { type RpcAnswer, readRssBytes, reportsOf, startService } from '../../service/service.js'

const threads = 3
/** Highest resident memory, for any calls. */
const rssBytesMax = 900 * 2 ** 20
const { dataDir, config } = copyDemo(t, {
  demo: { javascriptTracers: true },
  // The times of attackers are those of their tracers.
  limits: { ...patientLimits, poolThreads: threads },
})
const keys = await createKeys(dataDir, ['attacker', 'victim', 'other'])
const service = await startService(['--config', config])
t.teardown(() => service.stop())
const [attacker = '', victim = '', other = ''] = keys
const { hash } = blockAt(45).transactions[0] ?? { hash: '0x' }

function bodyOf(calls: readonly (readonly [method: string, params: readonly unknown[]])[]): string {
  return JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params })))
}

async function ask(key: string, body: string): Promise<string> {
  return (await service.post(`/v3/${key}`, body)).text
}

/** The tokens' balances and past transactions, by the tracers that share a kernel on a thread of the pool. */
const victimCalls = bodyOf([
  ...examples.contracts.map(
    ({ address }) =>
      [
        'debug_traceCall',
        [
          { to: address, data: `0x70a08231${addressOf('bea').slice(2).padStart(64, '0')}` },
          'latest',
          { tracer: 'callTracer' },
        ],
      ] as const,
  ),
  ['debug_traceBlockByNumber', [quantity(45), { tracer: 'callTracer' }]],
  ['debug_traceTransaction', [hash, { limit: 100 }]],
  ['debug_traceTransaction', [hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }]],
  ['trace_replayTransaction', [hash, ['trace', 'stateDiff']]],
])

/** The victim's answers, from each thread at the same time. */
async function victimAnswers(): Promise<string[]> {
  return Promise.all(Array.from({ length: threads }, () => ask(victim, victimCalls)))
}

/** Attacks by one method, or by three. */
async function attack(
  { tracer, timeout = '60s' }: ScriptAttack,
  isShort = false,
): Promise<readonly RpcAnswer[]> {
  const options = { tracer, timeout }
  const call = { from: addressOf('bea'), to: examples.contracts[0]?.address, data: '0x18160ddd' }
  const calls = [
    ['debug_traceTransaction', [hash, options]],
    ['eth_chainId', []],
    ['debug_traceCall', [call, 'latest', options]],
    ['debug_traceBlockByNumber', [quantity(45), options]],
  ] as const
  const asked = isShort ? calls.slice(0, 2) : calls
  const answers = JSON.parse(await ask(attacker, bodyOf(asked))) as RpcAnswer[]
  t.strictSame(
    answers.map(({ id }) => id),
    [...asked.keys()],
    'as many answers as calls',
  )
  t.equal(answers[1]?.result, '0x20f1', 'and the answers to other calls are their own')
  return answers
}

const before = await victimAnswers()
const same = (answers: readonly string[]) => answers.every((answer) => answer === before[0])
t.ok(same(before), 'the victim is answered the same on each thread')
t.notMatch(before[0], /"error":\{/)

t.test('nothing that a tracer writes is read by another call', async (t) => {
  for (const each of thirdOf(writingAttacks)) {
    const during = victimAnswers()
    await attack(each)
    t.ok(same(await during) && same(await victimAnswers()), each.name)
  }
})

t.test('a result is its own JSON, or an error of its call', async (t) => {
  for (const each of thirdOf(forgingAttacks)) {
    const answers = await attack(each)
    for (const { error, result } of answers.filter(({ id }) => id !== 1)) {
      t.match(error, { code: -32000, message: /^the (tracer passed on|result of the tracer)/ }, each.name)
      t.equal(result, undefined)
    }
  }
  const own = `{ fault: function () {}, result: function () { return JSON.parse('{"__proto__":[1,{}],"a":"A"}') } }`
  const text = await ask(
    attacker,
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'debug_traceTransaction',
      params: [hash, { tracer: own }],
    }),
  )
  t.equal(text, '{"jsonrpc":"2.0","id":1,"result":{"__proto__":[1,{}],"a":"A"}}')
})

t.test('what tracers take has a limit, and is given back', async (t) => {
  let highest = 0
  const watch = setInterval(() => {
    highest = Math.max(highest, readRssBytes(service.process.pid))
  }, 20)
  for (const each of someOf(takingAttacks, 4)) {
    const during = victimAnswers()
    for (const { error } of (await attack(each, true)).filter(({ id }) => id !== 1)) {
      if (each.name !== 'memory at each step') t.match(error, { code: -32000 }, each.name)
    }
    t.ok(same(await during), each.name)
  }
  // Attacks of two keys at once, as many as may run.
  const body = (attack: ScriptAttack) =>
    bodyOf([['debug_traceTransaction', [hash, { tracer: attack.tracer }]]])
  const all = someOf(takingAttacks, 3).flatMap((each) => [ask(attacker, body(each)), ask(other, body(each))])
  t.ok(same(await victimAnswers()))
  await Promise.all(all)
  clearInterval(watch)
  t.comment(`at most ${Math.round(highest / 2 ** 20)} MiB were resident`)
  t.ok(highest > 0 && highest < rssBytesMax, `${Math.round(highest / 2 ** 20)} MiB`)
})

t.test('what does not end is ended, its time is counted, and its thread serves on', async (t) => {
  const admin = await adminOf(service, dataDir)
  const cpuSeconds = async () =>
    (await admin.metrics()).get('tidegate_pool_cpu_seconds_total{class="script"}') ?? Number.NaN
  const before = await cpuSeconds()
  for (const each of endlessAttacks) {
    const during = victimAnswers()
    for (const { error } of (await attack(each, true)).filter(({ id }) => id !== 1)) {
      t.match(error, { message: /timeout|timed out/ }, each.name)
    }
    t.ok(same(await during) && same(await victimAnswers()), each.name)
  }
  const spent = await cpuSeconds()
  // The CPU time of the first, whose thread was ended, and of the others, 300 ms each.
  t.ok(spent - before >= 1, `${spent - before} s of CPU time are counted`)
})

t.test('callers who leave take their tracers with them', async (t) => {
  const endless = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'debug_traceTransaction',
    params: [hash, { tracer: endlessAttacks[0]?.tracer }],
  })
  for (let left = 0; left < 3; left++) {
    const controller = new AbortController()
    const sent = fetch(`${service.origin}/v3/${attacker}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: endless,
      signal: controller.signal,
    }).catch((error: Error) => error.name)
    setTimeout(() => controller.abort(), 300 * left)
    t.equal(await sent, 'AbortError')
  }
  // Other tracers get a place once these have ended.
  const quick = '{ fault: function () {}, result: function () { return 7 } }'
  const body = bodyOf([['debug_traceTransaction', [hash, { tracer: quick }]]])
  t.match(JSON.parse(await ask(attacker, body)), [{ result: 7 }])
  t.ok(same(await victimAnswers()))
})

t.test('one key leaves a place to others, and cannot fill all that wait', async (t) => {
  const body = (tracer: string) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'debug_traceTransaction',
      params: [hash, { tracer, timeout: '600s' }],
    })
  const controllers = Array.from({ length: 40 }, () => new AbortController())
  const ended: string[] = []
  const sent = controllers.map(async ({ signal }) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, signal }
    const answer = await fetch(`${service.origin}/v3/${attacker}`, {
      ...options,
      body: body(endlessAttacks[0]?.tracer ?? ''),
    }).then(
      (response) => response.text(),
      () => 'left',
    )
    ended.push(answer)
  })
  // Two run at once, one of each key, and twenty wait.
  await waitFor('those that find no place', () => ended.length >= 19)
  t.ok(ended.every((answer) => answer.includes('server busy')))
  const quick = '{ fault: function () {}, result: function () { return 7 } }'
  for (let asked = 0; asked < 3; asked++) t.match(JSON.parse(await ask(other, body(quick))), { result: 7 })
  // Each of these jobs may have run before one that waited.
  t.ok(
    ended.length <= 22 && ended.every((answer) => answer.includes('server busy')),
    `${ended.length} of 40 ended`,
  )
  t.ok(same(await victimAnswers()))
  for (const controller of controllers) controller.abort()
  await Promise.all(sent)
})

t.test('the process says of none of it that it is a defect', async (t) => {
  t.strictSame(reportsOf(service.said.err), [])
  t.ok(same(await victimAnswers()))
})
