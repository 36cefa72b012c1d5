// @shares
/** API keys that three processes share over a real PostgreSQL: created, revoked, and trusted while it is down. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { makeKeyText } from '../../../src/serving/access/keyText.js'
import { type Postgres, startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { makeFolder } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { genesisPath } from '../../rpc/demoChain.js'
import { adminOf } from '../../service/adminClient.js'
import { copyDemoStore, runHere, runProgram, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

const question = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'

interface Member {
  readonly dataDir: string
  readonly config: string
}

/** The data folder and configuration of a process, with the pepper of another. */
function makeMember(
  t: Test,
  { url }: Postgres,
  settings: object = {},
  shared: object = {},
  like?: Member,
): Member {
  const folder = makeFolder(t)
  const dataDir = join(folder, 'data')
  copyDemoStore(dataDir, 'demo')
  if (like !== undefined) {
    mkdirSync(join(dataDir, 'node'), { recursive: true, mode: 0o700 })
    copyFileSync(join(like.dataDir, 'node/pepper'), join(dataDir, 'node/pepper'))
  }
  const networks = [{ name: 'demo', genesis: genesisPath }]
  const content = { dataDir, networks, shared: { url, ...shared }, ...settings }
  return { dataDir, config: writeConfig(folder, content) }
}

async function start(t: Test, { config }: Member): Promise<Service> {
  const service = await startService(['--config', config])
  t.teardown(() => service.stop())
  return service
}

async function statusOf(service: Service, key: string): Promise<number> {
  return (await service.post(`/v3/${key}`, question)).status
}

function reach(service: Service, key: string, status: number): Promise<unknown> {
  return waitFor(
    `${status} from ${service.origin}`,
    async () => (await statusOf(service, key)) === status,
    10,
  )
}

t.test('three processes share their keys', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t)
  const first = makeMember(t, postgres, { admin: { port: 0 } })
  const keys = (member: Member, ...words: string[]) => runHere(['keys', ...words, '--config', member.config])
  const create = async (member: Member, name: string) =>
    (await keys(member, 'create', '--name', name)).out.trim()
  const shop = await create(first, 'shop')
  const members = [
    first,
    makeMember(t, postgres, { edges: process.platform === 'linux' ? 2 : 1 }, {}, first),
    makeMember(t, postgres, { admin: { port: 0 } }, { graceMs: 3_000 }, first),
  ]
  const services: Service[] = []
  for (const member of members) services.push(await start(t, member))
  const [one, two, three] = services as [Service, Service, Service]
  const admin = await adminOf(one, first.dataDir)
  const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
  const strict = await adminOf(three, members[2]?.dataDir ?? '')
  const readJson = async (url: string) => {
    const response = await fetch(url)
    return { status: response.status, answer: JSON.parse(await response.text()) }
  }
  /** Resolves once a process reports that its copy is current. */
  const tellsCurrent = ({ origin }: Service) =>
    waitFor(`current keys at ${origin}`, async () => {
      const { status, answer } = await readJson(`${origin}/health`)
      const { isAnswering, isAccepting } = answer.sharedKeys
      return status === 200 && answer.status === 'ok' && isAnswering && isAccepting
    })
  const ask = async (method: string, path: string, body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const { status, text } = await admin.get(path, { method, headers, ...sent })
    return { status, answer: JSON.parse(text) }
  }

  t.test('a process without their pepper does not start', async (t) => {
    const stranger = makeMember(t, postgres)
    await t.rejects(startService(['--config', stranger.config]), {
      message: /pepper .* is missing.*copy the file/,
    })
  })

  t.test('a key that is revoked at one is refused at the others', async (t) => {
    for (const service of services) await reach(service, shop, 200)
    const socket = new WebSocket(`${three.origin.replace('http', 'ws')}/ws/v3/${shop}`)
    await once(socket, 'open')
    const closed = once(socket, 'close')
    const found = (await ask('GET', '/api/keys')).answer
    t.match(found, [{ name: 'shop', state: 'live' }])
    const startMs = performance.now()
    t.match(await ask('DELETE', `/api/keys/${found[0].id}`), { status: 200, answer: { state: 'revoked' } })
    await Promise.all(services.map((service) => reach(service, shop, 401)))
    t.comment(`refused everywhere ${Math.round(performance.now() - startMs)} ms after it was revoked`)
    t.equal((await closed)[0], 1008)
  })

  t.test('the command line changes them beside running servers', async (t) => {
    const made = await create(members[2] as Member, 'explorer')
    for (const service of services) await reach(service, made, 200)
    await keys(first, 'rotate', 'explorer', '--overlap', '0s')
    for (const service of services) await reach(service, made, 401)
    const { out } = await keys(first, 'list', '--json')
    t.match(JSON.parse(out), [
      { name: 'shop', state: 'revoked' },
      { name: 'explorer', state: 'live' },
    ])
    const audit = await runProgram(['audit', 'verify', '--config', members[1]?.config ?? ''])
    t.match(audit.out, /is whole: 4 entries/)
  })

  t.test('they go on while the database is gone', async (t) => {
    const made = await create(first, 'stays')
    for (const service of services) await reach(service, made, 200)
    const isAnswering = async () => (await admin.metrics()).get('tidegate_shared_keys_answering') === 1
    await waitFor('the metric', isAnswering)
    const socket = new WebSocket(`${three.origin.replace('http', 'ws')}/ws/v3/${made}`)
    await once(socket, 'open')
    const closed = once(socket, 'close')
    for (const service of services) await tellsCurrent(service)
    await postgres.kill()
    const strange = makeKeyText()
    for (const service of [one, two]) {
      await reach(service, strange, 503)
      t.equal(await statusOf(service, made), 200, 'a known key')
    }
    const { text } = await one.post(`/v3/${strange}`, question)
    t.match(JSON.parse(text).error, {
      code: -32005,
      message: 'server busy: API keys cannot be checked at the moment',
      data: { retryAfterMs: 5_000 },
    })
    t.notOk(await isAnswering())
    const believed = { isAnswering: false, ageSeconds: Number, isAccepting: true }
    for (const { origin } of [one, two]) {
      const { status, answer } = await readJson(`${origin}/health`)
      t.match({ status, answer }, { status: 200, answer: { status: 'failing', sharedKeys: believed } })
    }
    t.match(await readJson(`${admin.origin}/ready`), {
      status: 200,
      answer: { ready: true, failing: [], checks: { sharedKeys: 'ok' }, sharedKeys: believed },
    })
    t.match((await ask('GET', '/api/state')).answer, { ready: true, sharedKeys: believed })
    await reach(three, made, 503)
    const over = { isAnswering: false, ageSeconds: Number, isAccepting: false }
    t.match(await readJson(`${three.origin}/health`), {
      status: 503,
      answer: { status: 'failing', sharedKeys: over },
    })
    t.match(await readJson(`${strict.origin}/ready`), {
      status: 503,
      answer: {
        ready: false,
        failing: [{ check: 'sharedKeys', why: /the database that has the API keys last answered \d+ s ago/ }],
        checks: { sharedKeys: 'failing' },
        sharedKeys: over,
      },
    })
    const [code, reason] = await closed
    t.strictSame(
      [code, String(reason)],
      [1008, 'server busy: API keys cannot be checked at the moment'],
      'a WebSocket where keys are believed no longer',
    )
    t.match(await ask('POST', '/api/keys', { name: 'later' }), {
      status: 503,
      answer: { error: /does not answer/ },
    })
    t.match(await keys(first, 'create', '--name', 'later'), { status: 1, err: /does not answer/ })
    await two.stop()
    const again = await start(t, members[1] as Member)
    t.equal(await statusOf(again, made), 200, 'a process that starts meanwhile')
    await postgres.start()
    for (const service of [one, again, three]) {
      await reach(service, strange, 401)
      await reach(service, made, 200)
    }
    for (const service of [one, again, three]) await tellsCurrent(service)
    await waitFor('readiness', async () => (await readJson(`${strict.origin}/ready`)).status === 200)
    const { answer } = await ask('POST', '/api/keys', { name: 'later' })
    for (const service of [one, again, three]) await reach(service, answer.text, 200)
  })
})
