import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { askBody, rpc } from '../../../bench/load/rpc.js'
import { AttackTools } from '../../../bench/neighbours/attackTools.js'
import type { Reported } from '../../../bench/neighbours/tally.js'
import { Victims } from '../../../bench/neighbours/victims.js'
import { startTidegate, type TidegateProcess } from '../../../bench/servers/tidegateServer.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { inTime, once } from '../../library/until.js'
import { fixtureDir } from '../../service/fixtures.js'

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
  /** Forwards the first two answers unchanged: from them victims learn the right answers. */
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
  const sum = (failures: Reported) => Object.values(failures).reduce((total, count) => total + count, 0)
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
  const program = fileURLToPath(new URL('../../../bench/neighbours/attacker.js', import.meta.url))
  const attacker = fork(program, ['probes', server.keyedUrls[0] as string])
  t.teardown(() => attacker.kill('SIGKILL'))
  t.same((await once(attacker, 'message'))[0], {})
  const ended = once(attacker, 'exit')
  attacker.send(2_000)
  const [reported] = (await once(attacker, 'message')) as [Reported]
  t.type(reported, 'object')
  t.same(await ended, [0, null])
  t.notOk(server.hasEnded())
})

t.test('an attacker ends with whoever started it', async (t) => {
  const program = fileURLToPath(new URL('../../../bench/neighbours/attacker.js', import.meta.url))
  const attacker = fork(program, ['loop', 'http://127.0.0.1:1/v3/key'])
  t.teardown(() => attacker.kill('SIGKILL'))
  await once(attacker, 'message')
  const ended = once(attacker, 'exit')
  attacker.disconnect()
  t.same(await ended, [1, null])
})

t.test('attack tools count answers over HTTP and over WebSockets, and ends of connections', async (t) => {
  const server = await started(t, ['attacker'])
  const tools = new AttackTools(server.keyedUrls[0] as string, server.keyIds[0] as string)
  const raw = await tools.connect()
  tools.readStatuses(raw)
  raw.write('PUT / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
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
