import { execFileSync, spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { chooseTransport } from '../../../src/serving/transport/chooseTransport.js'
import { chainOf, headOf } from '../../commands/importing.js'
import { makeDemoFolder, start } from '../../commands/serving.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { genesisPath, headBlock, quantity } from '../../rpc/demoChain.js'
import { executedHere, spendingBatch } from '../../service/fixtures.js'
import { withoutTimes } from '../../service/healthTimes.js'
import { copyDemoStore, runHere, runProgram, startProgram, writeConfig } from '../../service/program.js'
import { serveDemo } from '../../service/servedDemo.js'
import type { Service } from '../../service/service.js'
import { refusedUpgrade, SocketClient } from '../../transport/socketClient.js'

const keyPattern = /tg_[0-9A-Za-z]{49}/g
const noCurl = spawnSync('curl', ['--version'], { stdio: 'ignore' }).status !== 0 && 'there is no curl'

/** A server of the demo network ends with 0 on a signal, logs that, and leaves a store that opens. */
async function checkSignal(
  t: Test,
  { service, log }: Awaited<ReturnType<typeof start>>,
  folder: string,
  signal: NodeJS.Signals,
): Promise<void> {
  const exit = once(service.process, 'exit')
  service.process.kill(signal)
  t.strictSame(await exit, [0, null], signal)
  t.match(log(), /"msg":"stopping"/)
  t.ok(((await headOf(folder, 'demo')) ?? 0) >= headBlock.number)
}

/** Asks for the newest block's number under a key; the HTTP status and the body. */
async function askWith(service: Service, key: string) {
  const body = '{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber","params":[]}'
  const { status, text } = await service.post(`/v3/${key}`, body)
  return { status, body: JSON.parse(text) }
}

/** The printed requests as `[whole line, address, body]`. Waits until all are printed. */
async function printedRequests(service: Service, count: number): Promise<string[][]> {
  const find = () =>
    service.lines.flatMap((line) => {
      const found = /^ {2}(curl -s (http:\S+) -H 'Content-Type: application\/json' -d '(.*)')$/.exec(line)
      return found ? [found.slice(1)] : []
    })
  await waitFor('the printed requests', () => find().length >= count)
  return find()
}

/** Sends the printed commands, like a reader who pastes them, and checks the answers. */
async function checkPrinted(t: Test, service: Service): Promise<void> {
  const requests = await printedRequests(service, 4)
  t.equal(requests.length, 4)
  const results = new Map<string, unknown>()
  for (const [line, url, body] of requests as [string, string, string][]) {
    const ask = async () => {
      // curl below blocks this process; meanwhile the server may close a kept connection.
      const headers = { 'content-type': 'application/json', connection: 'close' }
      const response = await fetch(url, { method: 'POST', headers, body })
      t.equal(response.status, 200, body)
      return response.text()
    }
    let text = await ask()
    const { method } = JSON.parse(body)
    await t.test(`curl says the same: ${method}`, { skip: noCurl }, async (t) => {
      // Meanwhile the head may have changed, and with it the answer.
      for (let before = ''; before !== text; ) {
        before = text
        const said = execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8' })
        text = await ask()
        if (before === text) t.equal(said, text, line)
      }
    })
    results.set(method, JSON.parse(text).result)
  }
  const latest = results.get('eth_getBlockByNumber') as { number: string }
  // Blocks are made during these calls.
  const head = Number(results.get('eth_blockNumber'))
  t.ok(head >= headBlock.number && head <= Number(latest.number), `asked at block ${head}`)
  t.match(results.get('rollupx_addInvokeTransaction'), { transaction_hash: /^0x[0-9a-f]{60,63}$/ })
  t.match(results.get('eth_getStorageAt'), /^0x[0-9a-f]{64}$/)
  t.not(results.get('eth_getStorageAt'), `0x${'0'.repeat(64)}`, 'an example shows something')
}

t.test('the first start makes a key and prints requests that work; so does the second', async (t) => {
  const folder = await makeDemoFolder(t)
  const { service: first, log } = await start(t, ['--data', folder, '--log-level', 'trace'])
  await checkPrinted(t, first)
  const text = first.lines.join('\n')
  t.match(text, /^Tidegate listens on http:\/\/127\.0\.0\.1:\d+$/m)
  t.match(text, /^ {2}demo: chain id 8433, head \d+, http:\/\/127\.0\.0\.1:\d+\/v3\/tg_/m)
  t.match(text, /Made the API key "demo" for you/)
  const { notice } = await chooseTransport('auto', true)
  if (notice !== undefined) t.ok(first.lines.includes(`Note: ${notice}.`), text)
  else t.notMatch(text, /^Note/m)
  t.ok(notice === undefined || !log().includes(notice), 'what is printed is not logged too')
  const socketUrl = /^ +(ws:\/\/127\.0\.0\.1:\d+\/ws\/v3\/tg_\S+)$/m.exec(text)?.[1] ?? ''
  const socket = await SocketClient.connect(socketUrl)
  t.match(await socket.ask('{"jsonrpc":"2.0","id":8,"method":"eth_chainId"}'), /"id":8,"result":"0x20f1"/)
  const keys = new Set(text.match(keyPattern))
  t.equal(keys.size, 1)
  const [key = ''] = keys
  // Refused requests are logged at this level.
  await askWith(first, `${key.slice(0, -1)}!`)
  await first.post(`/demo/extra/${key}`, '{}')
  await first.post(`/v3/${key}`, 'no json')
  t.equal(await first.stop(), 0)
  t.strictSame(await socket.closed, { code: 1001, reason: 'the server is stopping' })
  t.notMatch(log(), keyPattern, 'no key in the log')
  t.notMatch(log(), key.slice(3, 40))
  t.match(log(), /request refused/)

  const running = await start(t, ['--data', folder])
  const { service: second } = running
  await checkPrinted(t, second)
  const again = second.lines.join('\n')
  t.notMatch(again, /Made the API key/)
  t.strictSame(new Set(again.match(keyPattern)), keys, 'the same key')
  await checkSignal(t, running, folder, 'SIGTERM')
})

t.test('an imported network gets a key once; then the operator has to have kept it', async (t) => {
  const folder = makeFolder(t)
  copyDemoStore(folder, 'tides')
  const flags = ['--data', folder, '--network', 'tides']
  const { service: first } = await start(t, flags)
  const requests = await printedRequests(first, 2)
  t.equal(requests.length, 2)
  const [key = ''] = first.lines.join('\n').match(keyPattern) ?? []
  t.equal((await askWith(first, key)).status, 200)
  await first.stop()
  const { service: second } = await start(t, flags)
  await printedRequests(second, 2)
  const text = second.lines.join('\n')
  t.notMatch(text, keyPattern)
  t.match(text, /Keys exist already.*tidegate keys create --name NAME/)
  t.match(text, /YOUR_API_KEY/)
  t.equal((await askWith(second, key)).status, 200)
})

t.test('a chain that was imported as demo is served as it is', async (t) => {
  const folder = makeFolder(t)
  const chain = writeInto(folder, 'own.rlp', chainOf(1, 20))
  const words = ['import', '--network', 'demo', '--data', folder, '--genesis', genesisPath, chain]
  t.match(await runHere(words), { status: 0 })
  for (const flags of [['--network', 'demo'], []]) {
    const { service } = await start(t, [...flags, '--data', folder, '--no-auth'])
    t.match(await service.call('eth_blockNumber'), { result: '0x14' })
    t.match(await service.call('eth_syncing'), { result: false })
    t.equal(await service.stop(), 0)
  }
  t.equal(await headOf(folder, 'demo'), 20)
})

t.test('without keys asked for, the printed requests hold none and work', async (t) => {
  const folder = await makeDemoFolder(t)
  const running = await start(t, ['--data', folder, '--no-auth'])
  const { service } = running
  await checkPrinted(t, service)
  t.notMatch(service.lines.join('\n'), /tg_|v3/)
  t.equal((await askWith(service, 'anything')).status, 200, 'a key in the path is not looked at')
  await checkSignal(t, running, folder, 'SIGINT')
})

t.test('keys: made and revoked by another process, refused where they are not right', async (t) => {
  const folder = makeFolder(t)
  copyDemoStore(folder, 'tides')
  const config = writeConfig(folder, { limits: { keyUnitsPerSecond: 1 } })
  const flags = ['--config', config, '--data', folder, '--network', 'tides', '--log-level', 'trace']
  const { service, log } = await start(t, flags)
  const made = await runProgram(['keys', 'create', '--name', 'explorer', '--data', folder])
  t.equal(made.status, 0)
  const key = made.out.trim()
  t.match(key, keyPattern)
  await waitFor('the new key to be accepted', async () => (await askWith(service, key)).status === 200)
  t.strictSame((await askWith(service, key)).body, {
    jsonrpc: '2.0',
    id: 7,
    result: quantity(headBlock.number),
  })

  const unknown = 'tg_0000000000000000000000000000000000000000000'
  for (const [presented, message] of [
    [
      '',
      'unauthorized: an API key is required in the path: /v3/<key>, or in the header Authorization: Bearer <key>',
    ],
    ['abc', 'unauthorized: this is not an API key; check that it was copied whole'],
    [unknown, 'unauthorized: this is not an API key; check that it was copied whole'],
    [key.slice(0, -1), 'unauthorized: this is not an API key; check that it was copied whole'],
    [key.toLowerCase(), 'unauthorized: this is not an API key; check that it was copied whole'],
  ] as const) {
    t.strictSame(await askWith(service, presented), {
      status: 401,
      body: { jsonrpc: '2.0', id: null, error: { code: -32001, message } },
    })
  }
  t.strictSame((await service.post('/', '{}')).status, 401)
  const socketBase = `${service.origin.replace('http', 'ws')}/ws/v3`
  const refused = await refusedUpgrade(`${socketBase}/${key.slice(0, -1)}`)
  t.equal(refused.status, 401)
  t.match(JSON.parse(refused.text), { error: { code: -32001, message: /not an API key/ } })
  await refusedUpgrade(`${socketBase}/${key}/extra`)
  const socket = await SocketClient.connect(`${socketBase}/${key}`)
  t.match(await socket.ask('{"jsonrpc":"2.0","id":8,"method":"eth_blockNumber"}'), /"id":8,"result":"0x108"/)
  const { text: spent } = await service.post(`/v3/${key}`, spendingBatch)
  t.match(spent, /"code":-32602.*"limit exceeded: this call costs 60 /, 'what the key may spend is limited')

  const [id] = /[0-9a-f]{12}/.exec(made.err) ?? []
  const revoked = await runHere(['keys', 'revoke', id ?? '', '--data', folder])
  t.equal(revoked.status, 0, revoked.err)
  await waitFor('the revoked key to be refused', async () => (await askWith(service, key)).status === 401)
  t.strictSame(await socket.closed, {
    code: 1008,
    reason: 'unauthorized: this API key has been revoked',
  })
  t.match(await askWith(service, key), {
    body: { error: { code: -32001, message: 'unauthorized: this API key has been revoked' } },
  })

  const other = makeFolder(t)
  const foreign = (await runHere(['keys', 'create', '--name', 'x', '--data', other])).out.trim()
  t.match(await askWith(service, foreign), {
    status: 401,
    body: { error: { message: 'unauthorized: unknown API key' } },
  })
  await service.stop()
  t.notMatch(log(), keyPattern)
})

t.test(
  'a server that is stopped while it makes the demo network ends with 0 and says nothing more',
  async (t) => {
    const folder = makeFolder(t)
    const run = startProgram(['serve', '--data', folder, '--port', '0'])
    await waitFor('blocks', async () => ((await headOf(folder, 'demo').catch(() => undefined)) ?? 0) > 5)
    // Signals are obeyed once all listeners are open, the admin listener last. Its first answer comes after that.
    const started = /"admin":"([^"]+)","msg":"the admin listener has started"/
    const admin = await waitFor('the listeners', () => started.exec(run.said.err)?.[1])
    await fetch(`${admin}/live`)
    run.process.kill('SIGTERM')
    const { status, out, err } = await run.finished
    t.equal(status, 0, err)
    t.notMatch(out, /listens on|curl/)
    t.match(await runHere(['verify', '--data', folder, '--blocks', '1']), { status: 0 })
  },
)

t.test('health answers GET and HEAD alone, without a key', async (t) => {
  const folder = makeFolder(t)
  copyDemoStore(folder, 'tides')
  const { service } = await start(t, ['--data', folder, '--network', 'tides'])
  const response = await fetch(`${service.origin}/health`)
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), 'application/json')
  t.strictSame(withoutTimes(JSON.parse(await response.text())), {
    status: 'ok',
    networks: {
      tides: { head: headBlock.number, basis: executedHere, syncing: false, condition: 'ok' },
    },
  })
  const post = await fetch(`${service.origin}/health`, { method: 'POST' })
  t.equal(post.status, 405)
  t.equal(post.headers.get('allow'), 'GET, HEAD, OPTIONS')
})

t.test('other machines are served without the fault of a library, unless it is insisted on', async (t) => {
  for (const wanted of ['auto', 'uws'] as const) {
    const choice = await chooseTransport(wanted, false).catch((error: Error) => error)
    if (choice instanceof Error) continue
    const { service } = await serveDemo(t, { host: '0.0.0.0', transport: wanted }, [])
    await waitFor('the last line', () => service.lines.some((line) => line.startsWith('Try it')))
    const notes = service.lines.filter((line) => line.startsWith('Note: '))
    t.strictSame(notes, choice.notice === undefined ? [] : [`Note: ${choice.notice}.`])
    const { headers } = await fetch(`${service.origin}/health`)
    t.equal(headers.get('uwebsockets') === null, choice.transport.name === 'node')
  }
})

t.test('on node:http the program serves as on uWebSockets.js', async (t) => {
  const folder = await makeDemoFolder(t)
  const flags = ['--data', folder, '--no-auth', '--transport', 'node']
  const { service, log } = await start(t, flags)
  const asked = '{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}'
  const { headers } = await fetch(`${service.origin}/health`)
  t.equal(headers.get('uwebsockets'), null)
  const { status, text } = await service.post('/', asked)
  t.equal(status, 200)
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.equal(await client.ask(asked), text)
  client.socket.close()
  t.notMatch(log(), 'uWebSockets', 'whoever chose it need not be told')
  await checkSignal(t, { service, log }, folder, 'SIGTERM')
})
