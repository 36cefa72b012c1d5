// @shares
/** Messages and actions of a server between the stop signal and its exit, and its reports to systemd. */
import { spawn, spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { endlessCall, fixtureConfig } from '../../service/fixtures.js'
import { copyDemo, type DemoSettings } from '../../service/servedDemo.js'
import { type Service, startService } from '../../service/service.js'

const hoursMs = 3_600_000

async function start(t: Test, settings: DemoSettings, env: Record<string, string> = {}): Promise<Service> {
  const service = await startService(['--config', copyDemo(t, settings).config, '--no-auth'], env)
  t.teardown(() => {
    service.process.kill('SIGKILL')
  })
  return service
}

async function read(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { headers: { connection: 'close' } })
  return { status: response.status, text: await response.text() }
}

for (const edges of [1, 2]) {
  const skip = edges > 1 && process.platform !== 'linux' && 'edges share a port on Linux alone'
  t.test(`edges: ${edges}: the delay before the drain`, { skip }, async (t) => {
    const service = await start(t, { edges, drainDelayMs: hoursMs })
    const admin = await waitFor(
      'the admin listener',
      () => /"admin":"(http:[^"]+)"/.exec(service.said.err)?.[1],
    )
    t.equal((await read(`${service.origin}/health`)).status, 200)
    const closed = once(service.process, 'close')
    service.process.kill('SIGTERM')
    await waitFor('each edge to say that it drains', async () => {
      const found = await Promise.all(Array.from({ length: 20 }, () => read(`${service.origin}/health`)))
      return found.every(({ status }) => status === 503)
    })
    t.match(JSON.parse((await read(`${service.origin}/health`)).text), { status: 'draining' })
    const ready = await read(`${admin}/ready`)
    t.equal(ready.status, 503)
    t.match(JSON.parse(ready.text), { ready: false, failing: [{ check: 'draining' }] })
    t.match((await service.call('eth_chainId')).result, '0x', 'requests are answered meanwhile')
    service.process.kill('SIGTERM')
    t.strictSame(await closed, [null, 'SIGTERM'], 'a second signal ends it at once')
  })
}

t.test('after the delay it stops by itself', async (t) => {
  const service = await start(t, { drainDelayMs: 200 })
  t.equal(await service.stop(), 0)
})

for (const [signal, to] of [
  ['SIGTERM', 'npm alone, as `kill` sends it'],
  ['SIGINT', 'npm and the server, as Ctrl-C sends it'],
] as const) {
  const skip = process.platform === 'win32' && 'its signals are others'
  t.test(
    `${signal} to ${to}: the server of \`npm start\` stops, and npm ends with it`,
    { skip },
    async (t) => {
      const { config } = copyDemo(t, { drainDelayMs: 500, admin: false })
      const words = ['start', '--', '--config', config, '--no-auth', '--port', '0']
      const child = spawn('npm', words, { cwd: packageRoot(), detached: true, stdio: 'pipe' })
      t.teardown(() => child.exitCode === null && process.kill(-(child.pid as number), 'SIGKILL'))
      let said = ''
      const closed = once(child, 'close')
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text) => {
          said += text
        })
      }
      const origin = await waitFor('an address', () => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0])
      await waitFor('an answer', () =>
        read(`${origin}/health`).then(
          ({ status }) => status === 200,
          () => false,
        ),
      )
      process.kill((child.pid as number) * (signal === 'SIGINT' ? -1 : 1), signal)
      t.strictSame(await closed, [0, null])
      await t.rejects(read(`${origin}/health`), 'nobody listens')
    },
  )
}

t.test('calls that outlast the grace period are cut off, and the exit status is 0', async (t) => {
  const limits = { requestMsMax: hoursMs, executionMsMax: hoursMs, executionGasBlocks: 1_000 }
  const service = await start(t, { graceMs: 3_000, limits })
  const calls = Array.from({ length: 6 }, () => service.post('/', endlessCall).catch(() => undefined))
  // Answered by the same thread, so those calls have arrived.
  for (let round = 0; round < 10; round++) await service.call('eth_chainId')
  t.equal(await service.stop(), 0)
  t.strictSame(await Promise.all(calls), Array(6).fill(undefined))
})

const withoutPython = spawnSync('python3', ['--version']).status !== 0 && 'there is no python3 here'
const withoutNotify =
  withoutPython ||
  (spawnSync('systemd-notify', ['--version']).status !== 0 && 'there is no systemd-notify here')

/** Prints each datagram as one line. */
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    print(s.recv(4096).decode().replace('\\n', ' ').strip(), flush=True)
`

/** A socket like systemd's; `heard` are the messages that arrive. */
async function listenAsSystemd(
  t: Test,
): Promise<{ readonly path: string; readonly heard: readonly string[] }> {
  const path = join(makeFolder(t), 'notify')
  const python = spawn('python3', ['-c', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => python.kill('SIGKILL'))
  const heard: string[] = []
  createInterface({ input: python.stdout }).on('line', (line) => heard.push(line))
  await waitFor('the socket', () => heard.includes('bound'))
  return { path, heard }
}

t.test('systemd hears of start, watchdog, reload and stop', { skip: withoutNotify }, async (t) => {
  const { path, heard } = await listenAsSystemd(t)
  const service = await start(t, {}, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '200000', WATCHDOG_PID: '' })
  const count = (start: string) => heard.filter((line) => line.startsWith(start)).length
  await waitFor('READY', () => count('READY=1') === 1)
  await waitFor('WATCHDOG', () => count('WATCHDOG=1') >= 3)
  service.process.kill('SIGHUP')
  await waitFor('READY after the reload', () => count('READY=1') === 2)
  t.match(
    heard.find((line) => line.startsWith('RELOADING=1')),
    /^RELOADING=1 MONOTONIC_USEC=\d+$/,
  )
  t.ok(heard.indexOf('READY=1') < heard.findIndex((line) => line.startsWith('RELOADING=1')))
  t.equal(await service.stop(), 0)
  await waitFor('STOPPING', () => count('STOPPING=1') === 1)
})

t.test('a message that cannot be sent does not end the watchdog', { skip: withoutNotify }, async (t) => {
  const { path, heard } = await listenAsSystemd(t)
  const programs = makeFolder(t)
  const service = await start(t, {}, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '200000', PATH: programs })
  await waitFor('a line about it', () => service.said.err.includes('systemd does not get'))
  const { stdout } = spawnSync('sh', ['-c', 'command -v systemd-notify'], { encoding: 'utf8' })
  symlinkSync(stdout.trim(), join(programs, 'systemd-notify'))
  await waitFor('WATCHDOG', () => heard.includes('WATCHDOG=1'))
  t.equal(service.said.err.split('systemd does not get').length, 2)
  t.equal(await service.stop(), 0)
})

t.test('a server without the program systemd-notify serves, and says so once', async (t) => {
  const env = { NOTIFY_SOCKET: '/nowhere/notify', PATH: '/nowhere' }
  const service = await start(t, {}, env)
  await waitFor('a line about it', () => service.said.err.includes('systemd does not get'))
  service.process.kill('SIGHUP')
  await waitFor('the reload', () => service.said.err.includes('reloaded'))
  t.equal(service.said.err.split('systemd does not get').length, 2)
  t.equal(await service.stop(), 0)
})

/**
 * Runs the program on a terminal, which closes once the server has printed all its lines. Prints whether SIGHUP ended
 * the program, and whether it wrote a line of JSON.
 */
const terminal = `
import os, pty, signal, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b''
while b'Try it:' not in seen:
    seen += os.read(master, 4096)
os.close(master)
_, status = os.waitpid(pid, 0)
print(os.WTERMSIG(status) == signal.SIGHUP, b'"level"' in seen, b'info: the admin listener has started' in seen)
`

t.test(
  'a server whose terminal goes ends with it, and writes no JSON there',
  { skip: withoutPython },
  async (t) => {
    const main = join(packageRoot(), 'dist/src/main.js')
    const words = [process.execPath, main, 'serve', '--port', '0', '--config', fixtureConfig, '--no-auth']
    const python = spawn('python3', ['-c', terminal, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => python.kill('SIGKILL'))
    let out = ''
    python.stdout.on('data', (chunk) => {
      out += chunk
    })
    await once(python, 'close')
    t.equal(out.trim(), 'True False True')
  },
)
