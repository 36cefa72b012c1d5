import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { attacks } from '../../../bench/neighboursAttacks.js'
import { AttackTools } from '../../../bench/neighboursAttackTools.js'
import { outcomeOf, phaseOf, phaseTable } from '../../../bench/neighboursPhases.js'
import {
  bodyBytesMax,
  hardTexts,
  malformedRequests,
  malformedTexts,
} from '../../../bench/neighboursProbes.js'
import { answerKind, Tally } from '../../../bench/neighboursTally.js'
import { Victims, type VictimsHeard } from '../../../bench/neighboursVictims.js'
import type { Told } from '../../../bench/outcome.js'
import { askBody, rpc } from '../../../bench/rpc.js'
import { parseTargets } from '../../../bench/targets.js'
import { startTidegate, type TidegateProcess } from '../../../bench/tidegateServer.js'
import { defaultConfigFile } from '../../../src/config/file.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { fixtureDir } from '../../service.js'
import { inTime, once } from '../../until.js'

const demo = {
  name: 'demo',
  folder: join(fixtureDir, 'networks/demo'),
  genesisPath: join(packageRoot(), 'data/devnet/genesis.json'),
}

/** A server on the demo chain with keys of these names. */
async function started(t: Test, keyNames: readonly string[]): Promise<TidegateProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-neighbours-'))
  const server = await startTidegate(folder, [demo], { keyNames })
  t.teardown(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })
  return server
}

async function listen(t: Test, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v3/key`
}

t.test('victims have keys of their own and find every answer right', async (t) => {
  const server = await started(t, ['one', 'two'])
  t.equal(new Set(server.keyedUrls).size, 2)
  await t.rejects(askBody(server.said, rpc('eth_chainId', [])), /401/)
  const victims = new Victims(server.keyedUrls)
  t.teardown(() => victims.close())
  await victims.learn()
  const { reads, proofs } = await victims.ask(1)
  t.equal(reads.latencies.length, 100)
  t.equal(reads.lateness.length, 100)
  t.same(reads.failures, {})
  t.equal(proofs.latencies.length, 10)
  t.same(proofs.failures, {})
})

t.test('answers that are wrong, refused or never come are counted as failures', async (t) => {
  const server = await started(t, ['one'])
  const [url] = server.keyedUrls
  let asked = -1
  /** Passes the first two on as they are: from them victims learn what is right. */
  const liar = createServer(async (request, response) => {
    const body = await text(request)
    const answer = await askBody(url as string, body)
    const isProof = body.includes('eth_getProof')
    asked++
    if (asked < 2) return response.end(answer)
    if (isProof) return response.end(answer.replace(/"nonce":"0x/, '"nonce":"0x1'))
    if (asked % 3 === 0) return response.end(answer.replace(/.{3}"}$/, 'fff"}'))
    if (asked % 3 === 1) return response.writeHead(503).end('{"error":{"code":-32005}}')
    response.socket?.destroy()
  })
  const victims = new Victims([await listen(t, liar)])
  t.teardown(() => victims.close())
  await victims.learn()
  const { reads, proofs } = await victims.ask(1)
  const sum = (failures: Told) => Object.values(failures).reduce((total, count) => total + count, 0)
  t.equal(sum(reads.failures), 50)
  for (const why of ['wrong answer', '503 error -32005', 'ECONNRESET']) {
    t.ok(reads.failures[why] ?? 0, why)
  }
  t.equal(sum(proofs.failures), 5)
  t.ok(Object.keys(proofs.failures).every((why) => why.startsWith('nonce is')))
})

t.test('a victim that asks a server which proves another value learns nothing', async (t) => {
  const server = await started(t, ['one'])
  const [url] = server.keyedUrls
  const liar = createServer(async (request, response) => {
    const answer = await askBody(url as string, await text(request))
    response.end(answer.replace(/"value":"0x/, '"value":"0x1'))
  })
  const victims = new Victims([await listen(t, liar)])
  t.teardown(() => victims.close())
  await t.rejects(victims.learn(), /slot .* is 0x/)
})

t.test('an attacker begins when it is told, tells what it was told, and ends', async (t) => {
  const server = await started(t, ['attacker'])
  const program = fileURLToPath(new URL('../../../bench/neighboursAttacker.js', import.meta.url))
  const attacker = fork(program, ['probes', server.keyedUrls[0] as string])
  t.teardown(() => attacker.kill('SIGKILL'))
  t.same((await once(attacker, 'message'))[0], {})
  const ended = once(attacker, 'exit')
  attacker.send(2_000)
  const [told] = (await once(attacker, 'message')) as [Told]
  t.type(told, 'object')
  t.same(await ended, [0, null])
  t.notOk(server.hasEnded())
})

t.test('an attacker ends with whoever started it', async (t) => {
  const program = fileURLToPath(new URL('../../../bench/neighboursAttacker.js', import.meta.url))
  const attacker = fork(program, ['loop', 'http://127.0.0.1:1/v3/key'])
  t.teardown(() => attacker.kill('SIGKILL'))
  await once(attacker, 'message')
  const ended = once(attacker, 'exit')
  attacker.disconnect()
  t.same(await ended, [1, null])
})

t.test('attack tools count answers over HTTP and over WebSockets, and ends of connections', async (t) => {
  const server = await started(t, ['attacker'])
  const tools = new AttackTools(server.keyedUrls[0] as string)
  const raw = await tools.connect()
  tools.readStatuses(raw)
  raw.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  await once(raw, 'data')
  raw.destroy()
  const { socket, connection } = await tools.openSocket()
  socket.send('{')
  await once(socket, 'message')
  socket.send(rpc('eth_chainId', []))
  await once(socket, 'message')
  socket.ping()
  await once(socket, 'pong')
  connection.destroy()
  await once(socket, 'close')
  const closed = tools.tally.counts()
  t.match(closed, { '405': 1, 'message error -32700': 1, 'message result': 1, pong: 1 })
  t.equal(tools.serial() + 1, tools.serial())
  let asked = 0
  const over = new Promise<void>((resolve) => {
    tools.ask(2, () => {
      if (++asked > 20) {
        tools.isOver = true
        resolve()
      }
      return '{}'
    })
  })
  await inTime('20 answers', over)
  t.ok((tools.tally.counts()['200 error -32600'] ?? 0) >= 15)
})

t.test('hard texts fill what a body may hold, and no two probes are alike', async (t) => {
  const hard = hardTexts(bodyBytesMax).map((build) => Buffer.byteLength(build()))
  for (const [at, bytes] of hard.entries()) {
    t.ok(bytes <= bodyBytesMax && bytes > bodyBytesMax - 100, `${at}: ${bytes} bytes`)
  }
  const all = [...malformedTexts, ...hardTexts(500), ...malformedRequests('/v3/key')].map((build) => build())
  t.equal(new Set(all).size, all.length)
})

t.test('attacks have names of their own', async (t) => {
  t.equal(new Set(attacks.map(({ name }) => name)).size, attacks.length)
  t.equal(new Set(attacks.map(({ title }) => title)).size, attacks.length)
})

t.test('an answer is told by its result or its first error', async (t) => {
  t.equal(answerKind('{"jsonrpc":"2.0","id":1,"result":"0x1"}'), 'result')
  t.equal(answerKind('[{"id":1,"error":{"code":-32005,"message":"x"}},{"error":{"code":1}}]'), 'error -32005')
  const tally = new Tally()
  tally.add('a')
  tally.add('b', 3)
  t.equal(tally.total, 4)
  t.same(Object.entries(tally.counts()), [
    ['b', 3],
    ['a', 1],
  ])
})

t.test('the worst phase counts, failures of all phases do, and each end of the server', async (t) => {
  const heard = (latency: number, failed = 0): VictimsHeard => {
    const latencies = Array<number>(1_000).fill(latency)
    const reads = { latencies, lateness: latencies.map(() => 0.5), failures: {} }
    return { reads, proofs: { ...reads, failures: failed === 0 ? {} : { 'no answer': failed } } }
  }
  const more = { peakResidentBytes: 200e6, hasServerEnded: false, recoverySeconds: 0, told: {} }
  const phases = [
    phaseOf('idle', heard(2), more),
    phaseOf('floods', heard(40, 3), {
      ...more,
      peakResidentBytes: 900e6,
      told: { '503 error -32005': 1_200 },
    }),
    phaseOf('loops', heard(8), { ...more, hasServerEnded: true, recoverySeconds: undefined }),
  ]
  const outcome = outcomeOf(phases, 5, { residentBytes: 300e6, peakResidentBytes: 800e6 })
  t.match(outcome, {
    own: { rate: 250, latencies: { p99: 40 }, peakResidentBytes: 900e6, residentBytes: 300e6 },
    rivals: { idle: { latencies: { p99: 2 } } },
    ratios: { idle: { value: 0.05, by: 'p99' } },
    failures: 4,
    note: 'worst of 2 attacks: floods; 3 reads and proofs failed; the server ended 1 times',
  })
  const table = phaseTable(phases).join('\n')
  t.match(table, /^floods +40 +40 +20\.0 +40 +40 +40 +40 +0\.50 +0\+3 +900 +0\.0$/m)
  t.match(table, /^ {4}proofs failed: no answer × 3\n {4}told: 503 error -32005 × 1,200$/m)
  t.match(table, /^loops .*–\n {4}the server ended$/m)
})

t.test('memory beside attackers is bounded by the sum of the budgets', async (t) => {
  const { limits } = defaultConfigFile()
  const edge = [
    limits.answerCacheBytes,
    limits.proofCacheBytes,
    limits.memoBytes,
    limits.bufferedBodyBytesMax,
    limits.socketBufferedBytesMax,
    limits.subscriptionBytesMax,
    limits.batchAnswerBytesMax,
  ].reduce((sum, bytes) => sum + bytes)
  // As docs/memory.md has it: the program itself, keys, open WebSockets, arguments of waiting jobs,
  // requests that wait for their turn, bodies read last.
  const fixed = 160e6 + 10_000 * 600 + limits.socketsMax * 2_500 + (64 + 64 + 16) * 2 ** 20
  const thread = 4 * 10e6 + 4 * 2 ** 20 + limits.executionMemoryBytesMax
  const sum = (fixed + edge + 2 * thread) / 1e6
  const targets = parseTargets(readFileSync(join(packageRoot(), 'bench/targets.json'), 'utf8'))
  const target = targets.find((each) => each.scenario === 'neighbours' && 'maxMB' in each)
  const { maxMB } = target as { readonly maxMB: number }
  t.ok(Math.abs(maxMB - sum) < 10, `${maxMB} beside ${sum}`)
  for (const page of ['docs/memory.md', 'bench/README.md']) {
    t.match(
      readFileSync(join(packageRoot(), page), 'utf8'),
      `${maxMB.toLocaleString('en')} MB`,
      `${page} says so`,
    )
  }
})
