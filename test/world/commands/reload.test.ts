// @shares
/**
 * SIGHUP: members of the configuration file that a running server applies, those that it reports, and those without
 * effect.
 */
import { join } from 'node:path'
import t from 'tap'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { genesisPath } from '../../rpc/demoChain.js'
import { copyDemoStore, runHere, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { refusedUpgrade, SocketClient } from '../../transport/socketClient.js'

const origin = 'https://page.example'

interface Line {
  readonly level: number
  readonly msg: string
  readonly changed?: readonly string[]
  readonly restart?: readonly string[]
}

function linesOf({ said }: Service): Line[] {
  const whole = said.err.slice(0, said.err.lastIndexOf('\n') + 1)
  const lines = whole.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line) as Line)
}

/** Sends SIGHUP and returns the log line about it. */
async function reload(service: Service): Promise<Line> {
  const isAbout = ({ msg }: Line) => msg.startsWith('reloaded') || msg.startsWith('nothing is reloaded')
  const before = linesOf(service).filter(isAbout).length
  service.process.kill('SIGHUP')
  return waitFor('the end of the reload', () => linesOf(service).filter(isAbout)[before])
}

const allowed = async (service: Service): Promise<string | null> => {
  const response = await fetch(`${service.origin}/health`, { headers: { origin, connection: 'close' } })
  await response.text()
  return response.headers.get('access-control-allow-origin')
}

for (const [edges, transport] of [
  [1, 'node'],
  [2, 'uws'],
] as const) {
  const skip = edges > 1 && process.platform !== 'linux'
  t.test(`edges: ${edges}, ${transport}`, { skip }, async (t) => {
    const folder = makeFolder(t)
    const dataDir = join(folder, 'data')
    copyDemoStore(dataDir, 'demo')
    copyDemoStore(dataDir, 'second')
    const networks = (hosts: readonly string[]) => [
      { name: 'demo', genesis: genesisPath },
      { name: 'second', genesis: genesisPath, networkId: 77, hosts },
    ]
    const write = (settings: object) =>
      writeConfig(folder, { dataDir, edges, networks: networks([]), ...settings })
    const config = write({ cors: { origins: ['https://other.example'] } })
    const service = await startService(['--config', config, '--no-auth', '--transport', transport])
    t.teardown(() => service.stop())
    const socketUrl = `${service.origin.replace('http', 'ws')}/ws`
    const open = await SocketClient.connect(socketUrl)
    t.teardown(() => open.cut())
    t.equal(await allowed(service), null)
    t.equal((await refusedUpgrade(socketUrl, { origin })).status, 403)

    await t.test('origins, hosts and the log level change on every edge', async (t) => {
      write({ cors: { origins: [origin] }, networks: networks(['localhost']), logLevel: 'debug' })
      t.match(await reload(service), {
        level: 30,
        changed: ['cors', 'logLevel', 'networks.second.hosts'],
        restart: [],
      })
      await waitFor('each edge to allow the origin', async () => {
        const found = await Promise.all(Array.from({ length: 20 }, () => allowed(service)))
        return found.every((value) => value === origin)
      })
      const client = await SocketClient.connect(socketUrl, { origin })
      client.cut()
      const { port } = new URL(service.origin)
      const asked = await fetch(`http://localhost:${port}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'net_version' }),
      }).catch(() => undefined)
      // If localhost is ::1 alone, no server listens there.
      if (asked !== undefined) t.match(await asked.json(), { result: '77' })
      await service.post('/nowhere', '{}')
      await waitFor('a line of level debug', () => linesOf(service).some(({ level }) => level === 20))
    })

    await t.test('a reload is in the audit log, with what changed', async (t) => {
      const { out } = await waitFor('the entry', async () => {
        const found = await runHere(['audit', '--config', config, '--json'])
        return found.out.includes('configuration reloaded') && found
      })
      t.match(JSON.parse(out).at(-1), {
        actor: 'SIGHUP',
        action: 'configuration reloaded',
        detail: 'cors, logLevel, networks.second.hosts',
      })
    })

    await t.test('an invalid file changes nothing and says why', async (t) => {
      writeInto(folder, 'tidegate.json', '{ "logLevel": "loud" }')
      const { level, msg } = await reload(service)
      t.equal(level, 50)
      t.match(msg, /nothing is reloaded: .*\n.*logLevel: expected one of trace,/)
      writeInto(folder, 'tidegate.json', '{')
      t.match((await reload(service)).msg, 'nothing is reloaded')
      t.equal(await allowed(service), origin)
    })

    await t.test('what needs a restart is named, each time', async (t) => {
      // A flag wins over the file, so the port does not change.
      write({ port: 1, limits: { batchCallsMax: 7 }, networks: [networks([])[0]] })
      const restart = ['limits.batchCallsMax', 'networks.second']
      t.match(await reload(service), { restart })
      const again = await reload(service)
      t.strictSame([again.changed, again.restart], [[], restart])
      t.equal((await service.post('/second', '{"jsonrpc":"2.0","id":1,"method":"net_version"}')).status, 200)
    })

    await t.test('signals without a meaning here neither end the server nor open a debugger', async (t) => {
      for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
        service.process.kill(signal)
        await waitFor('a line about it', () => linesOf(service).some(({ msg }) => msg.startsWith(signal)))
      }
      t.notMatch(service.said.err, 'Debugger')
      t.match(await open.ask('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'), '"result"')
    })
  })
}
