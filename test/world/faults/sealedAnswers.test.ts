/**
 * Two keys on the whole program. One sends any calls, with long answers and with all kinds of ends. The other gets the
 * same answers as before, byte for byte. `DOSE=20` sends more of each attack, and SEED repeats a run.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Dice } from '../../library/property.js'
import { quantity } from '../../rpc/demoChain.js'
import { methodTable } from '../../rpc/methodTable.js'
import { adminOf } from '../../service/adminClient.js'
import { get, post } from '../../service/httpClient.js'
import { createKeys } from '../../service/keyedDemo.js'
import { copyDemo } from '../../service/servedDemo.js'
import { startService } from '../../service/service.js'

const dose = Number(process.env.DOSE ?? 4)
const seed = Number(process.env.SEED ?? Date.now() & 0x7fffffff)
const questionsMax = 300
/** Resident memory of the process, with the answers of all attacks in flight. */
const residentBytesMax = 900 * 2 ** 20

/** Methods whose answers depend on the process, the time, or other calls. */
const unsteady = /^(eth_capabilities|rpc_discover|admin_|web3_|txpool_|eth_(new|uninstall|getFilter))/

const to = `0x${'ee'.repeat(20)}`
const run = (code: string) => [{ to, gas: '0x1312d00' }, 'latest', { [to]: { code } }]
const text = (method: string, params: unknown, id = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const secret = `tg_${'Zq7'.repeat(16)}z`

/** Attacks of a caller, by name. */
const attacks: Readonly<Record<string, (dice: Dice) => string>> = {
  'returns 2 MiB': () => text('eth_call', run('0x622000005ff3')),
  'reverts with 2 MiB': () => text('eth_call', run('0x622000005ffd')),
  'an estimate that reverts': () => text('eth_estimateGas', run('0x622000005ffd')),
  'a trace of 2 MiB': () => text('debug_traceCall', run('0x622000005ff3').slice(0, 2)),
  'full blocks': (dice) => text('eth_getBlockByNumber', [quantity(dice.throw(264)), true]),
  receipts: (dice) => text('eth_getBlockReceipts', [quantity(dice.throw(264))]),
  'all logs': () => text('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }]),
  'a batch': (dice) => {
    const address = () =>
      `0x${dice
        .throw(2 ** 30)
        .toString(16)
        .padStart(40, '0')}`
    const calls = Array.from({ length: 500 }, (_, id) => text('eth_getBalance', [address(), 'latest'], id))
    return `[${calls.join()}]`
  },
  'long data': () => text('eth_call', [{ to, data: `0x${'ab'.repeat(1_000_000)}` }, 'latest']),
  'a key as a parameter': () => text('eth_call', [{ to, note: secret }, 'latest', { [secret]: secret }]),
  'nested deeply': () => `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":${'['.repeat(30_000)}`,
  'names that all objects have': () => text('__proto__', { __proto__: null, constructor: 1 }),
  proofs: (dice) =>
    text('eth_getProof', [to, Array.from({ length: 200 }, () => quantity(dice.throw(2 ** 30))), 'latest']),
}

t.test(`what one key asks changes no answer to another (seed ${seed}, dose ${dose})`, async (t) => {
  const { dataDir, config } = copyDemo(t, {})
  const [attacker = '', victim = ''] = await createKeys(dataDir, ['attacker', 'victim'])
  const service = await startService(['--config', config])
  t.teardown(() => service.stop())
  const admin = await adminOf(service, dataDir)
  const dice = new Dice(seed)
  const all = Object.entries(methodTable).flatMap(([method, { reads = [] }]) =>
    unsteady.test(method) ? [] : reads.map((params) => text(method, params)),
  )
  const questions = Array.from({ length: questionsMax }, () => all[dice.throw(all.length)] as string)
  const ask = (key: string, body: string) => post(`${service.origin}/v3/${key}`, body)

  const before: string[] = []
  for (const body of questions) before.push((await ask(victim, body)).text)
  const compare = async (when: string) => {
    let others = 0
    for (const [at, body] of questions.entries()) {
      const { text: found } = await ask(victim, body)
      if (found === before[at]) continue
      others++
      t.equal(found.slice(0, 500), before[at]?.slice(0, 500), `${when}: ${body.slice(0, 300)}`)
    }
    t.equal(others, 0, `${questions.length} answers ${when}`)
  }

  const counts: Record<string, number> = {}
  const statuses = new Set<number>()
  const attack = async (name: string, body: string) => {
    const { status } = await ask(attacker, body)
    statuses.add(status)
    counts[name] = (counts[name] ?? 0) + 1
  }
  const lanes = Object.entries(attacks).map(async ([name, write]) => {
    for (let time = 0; time < dose; time++) await attack(name, write(dice))
  })
  const compressed = async () => {
    for (let time = 0; time < dose; time++) {
      const response = await fetch(`${service.origin}/v3/${attacker}`, {
        method: 'POST',
        body: gzipSync(text('eth_chainId', [])),
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      })
      t.equal(response.status, 415)
      await response.text()
    }
  }
  // Loops whose callers leave, so that their jobs are stopped beside those of the other key.
  const leave = async () => {
    for (let time = 0; time < dose; time++) {
      const ending = new AbortController()
      const body = text('eth_call', run('0x5b5f56'))
      const headers = { 'content-type': 'application/json' }
      const asked = fetch(`${service.origin}/v3/${attacker}`, {
        method: 'POST',
        body,
        headers,
        signal: ending.signal,
      }).catch(() => undefined)
      await sleep(20)
      ending.abort()
      await asked
    }
  }
  const { hostname, port } = new URL(admin.origin)
  const silent = Array.from({ length: 150 }, () =>
    connect(Number(port), hostname)
      .on('error', () => undefined)
      .resume(),
  )
  const attacked = Promise.all([...lanes, compressed(), leave()])
  await compare('during')
  const probe = await get(`${admin.origin}/live`)
  t.equal(probe.status, 200, 'probes are answered')
  await attacked
  for (const socket of silent) socket.destroy()
  await compare('after')

  t.comment(JSON.stringify(counts), [...statuses].join())
  const state = await get(`${admin.origin}/api/state`, { authorization: `Bearer ${admin.token}` })
  t.equal(state.status, 200)
  t.notOk(state.text.includes('Zq7Zq7Zq'), 'no key in what operators see')
  t.notOk(service.said.err.includes('Zq7Zq7Zq'), 'nor in the log')
  if (process.platform === 'linux') {
    const status = readFileSync(`/proc/${service.process.pid}/status`, 'latin1')
    const peak = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024
    t.ok(peak <= residentBytesMax, `${Math.round(peak / 2 ** 20)} MiB at most`)
  }
})
