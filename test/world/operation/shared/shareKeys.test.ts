// @shares
/** `tidegate keys share`, with a real PostgreSQL: the shared keys, and the refusals. */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { KeyChecker } from '../../../../src/serving/access/keyChecker.js'
import { type Postgres, startPostgres, withoutPostgres } from '../../../feed/postgres.js'
import { makeFolder, writeInto } from '../../../library/folder.js'
import { genesisPath } from '../../../rpc/demoChain.js'
import { runHere } from '../../../service/program.js'

interface Place {
  readonly dataDir: string
  /** A command on the keys of the data folder, and on the shared keys. */
  local(...words: string[]): ReturnType<typeof runHere>
  shared(...words: string[]): ReturnType<typeof runHere>
}

function openPlace(t: Test, { url }: Postgres, schema: string, like?: Place): Place {
  const folder = makeFolder(t)
  const dataDir = join(folder, 'data')
  if (like !== undefined) {
    mkdirSync(join(dataDir, 'node'), { recursive: true, mode: 0o700 })
    copyFileSync(join(like.dataDir, 'node/pepper'), join(dataDir, 'node/pepper'))
  }
  const networks = [{ name: 'demo', genesis: genesisPath }]
  const config = writeInto(folder, 'tidegate.json', { dataDir, networks, shared: { url, schema } })
  return {
    dataDir,
    local: (...words) => runHere([...words, '--data', dataDir]),
    shared: (...words) => runHere([...words, '--config', config]),
  }
}

async function made(outcome: Promise<{ readonly status: number; readonly out: string }>): Promise<string> {
  return (await outcome).out.trim()
}

async function listOf(outcome: Promise<{ readonly out: string }>): Promise<{ id: string; name: string }[]> {
  return JSON.parse((await outcome).out)
}

/** The reason that a server with the shared keys gives for a key. */
async function why({ dataDir }: Place, text: string): Promise<string> {
  const store = NodeStore.open({ path: join(dataDir, 'node/shared-keys.mdb') })
  try {
    const paths = { pepper: join(dataDir, 'node/pepper'), demoKey: join(dataDir, 'none') }
    const check = KeyChecker.open(store, paths).authorize(text)
    return check.ok ? 'ok' : check.why
  } finally {
    await store.close()
  }
}

t.test('keys of a data folder are shared', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t)
  let count = 0
  const open = (t: Test, like?: Place) => openPlace(t, postgres, `shared ${like ? count : ++count}`, like)

  t.test('with all that they have, once', async (t) => {
    const place = open(t)
    const { local, shared } = place
    const shop = await made(local('keys', 'create', '--name', 'shop', '--method', 'eth_*', '--sockets', '3'))
    const second = await made(local('keys', 'rotate', 'shop', '--overlap', '0'))
    const third = await made(local('keys', 'rotate', 'shop', '--overlap', '1h'))
    const secret = writeInto(makeFolder(t), 'secret', Buffer.alloc(32, 7))
    await local('keys', 'jwt', 'add', 'shop', '--secret-file', secret)
    const old = await made(local('keys', 'create', '--name', 'old', '--expires', '30d'))
    await local('keys', 'revoke', 'old')
    await local('keys', 'create', '--name', 'old')
    const before = await listOf(local('keys', 'list', '--json'))

    const { status, out, err } = await shared('keys', 'share')
    t.equal(status, 0, err)
    t.strictSame(
      out.trim().split('\n').sort(),
      before.map(({ id, name }) => `Shared key ${id} (${name}).`).sort(),
    )
    t.match(err, `Shared 3 keys of ${place.dataDir}. Processes that share keys follow within a second.`)
    t.strictSame(await listOf(shared('keys', 'list', '--json')), before)
    t.strictSame(
      [await why(place, shop), await why(place, second), await why(place, third), await why(place, old)],
      ['replaced', 'ok', 'ok', 'revoked'],
    )
    const entries = JSON.parse((await shared('audit', '--json')).out)
    t.strictSame(
      entries.map(({ action, keyId }: Record<string, string>) => `${action} ${keyId}`).sort(),
      before.map(({ id }) => `key shared ${id}`).sort(),
    )
    t.match(entries[0].actor, /^cli/)
    t.match(await shared('audit', 'verify'), { status: 0, out: /is whole: 3 entries/ })

    t.match(await shared('keys', 'share'), { status: 0, out: '', err: /Shared 0 keys.*; 3 keys had been/ })
    await local('keys', 'create', '--name', 'later')
    t.match(await shared('keys', 'share'), {
      status: 0,
      out: /^Shared key [0-9a-f]{12} \(later\)\.\n$/,
      err: /Shared 1 key of .*; 3 keys had been shared before\./,
    })
    t.match(await shared('audit', 'verify'), { out: /is whole: 4 entries/ })
    t.strictSame(
      await listOf(local('keys', 'list', '--json')),
      await listOf(shared('keys', 'list', '--json')),
    )
    const again = await made(shared('keys', 'rotate', 'shop', '--overlap', '0s'))
    t.strictSame(
      [await why(place, third), await why(place, again)],
      ['replaced', 'ok'],
      'goes on as a shared key',
    )
  })

  t.test('not where one was changed since it was shared, or its name is taken', async (t) => {
    const place = open(t)
    const { local, shared } = place
    await local('keys', 'create', '--name', 'shop')
    await local('keys', 'create', '--name', 'explorer')
    t.match(await shared('keys', 'share', 'shop'), { status: 0, out: /\(shop\)/ })
    t.equal((await listOf(shared('keys', 'list', '--json'))).length, 1, 'the one that was named')
    await shared('keys', 'revoke', 'shop')
    const [{ id = '' } = {}] = await listOf(local('keys', 'list', '--json'))
    t.match(await shared('keys', 'share'), {
      status: 1,
      err: new RegExp(`differ from the shared ones: ${id} \\(shop\\)\\. Nothing was changed`),
    })
    t.match(await listOf(shared('keys', 'list', '--json')), [{ state: 'revoked' }])
    await shared('keys', 'create', '--name', 'explorer')
    t.match(await shared('keys', 'share', 'explorer'), {
      status: 1,
      err: /other shared keys have the names of these: [0-9a-f]{12} \(explorer\)\. Rename/,
    })
    await shared('keys', 'set', 'explorer', '--name', 'older')
    t.match(await shared('keys', 'share', 'explorer'), { status: 0 })
    t.match(await shared('keys', 'share', 'nobody'), { status: 1, err: /there is no key named "nobody"/ })
    t.match(await shared('audit', 'verify'), { out: /is whole: 5 entries/ })
  })

  t.test('not under another pepper', async (t) => {
    const place = open(t)
    await place.shared('keys', 'create', '--name', 'first')
    const other = open(t, place)
    rmSync(join(other.dataDir, 'node/pepper'))
    await other.local('keys', 'create', '--name', 'shop')
    t.match(await other.shared('keys', 'share'), {
      status: 1,
      err: /the shared keys were made with another pepper than those in .*cannot be shared/,
    })
    writeFileSync(join(other.dataDir, 'node/pepper'), Buffer.alloc(32, 1), { mode: 0o600 })
    t.match(await other.shared('keys', 'share'), {
      status: 1,
      err: /is not the one that the API keys in .*node\.mdb were made with/,
    })
    t.match(await listOf(place.shared('keys', 'list', '--json')), [{ name: 'first' }])
  })

  t.test('not where there are none, or nowhere to share them', async (t) => {
    const { local, shared } = open(t)
    t.match(await shared('keys', 'share'), { status: 1, err: /there are no keys in .* to share/ })
    await local('keys', 'create', '--name', 'shop')
    t.match(await local('keys', 'share'), { status: 2, err: /needs a configuration with "shared"/ })
  })

  t.test('thousands at once', async (t) => {
    const { dataDir, local, shared } = open(t)
    await local('keys', 'create', '--name', 'first')
    const store = NodeStore.open({ path: join(dataDir, 'node/node.mdb') })
    const keys = Array.from({ length: 3_000 }, (_, at) => {
      const digest = Buffer.alloc(32)
      digest.writeUInt32BE(at)
      return { row: { digest, name: `key ${at}`, createdAtMs: at, revokedAtMs: undefined }, secrets: [] }
    })
    store.applyNews({ after: undefined, sequence: 0, keys, entries: [], pepperFingerprint: undefined }, 0)
    await store.close()
    t.match(await shared('keys', 'share'), { status: 0, err: /Shared 3000 keys/ })
    t.match(await shared('audit', 'verify'), { out: /is whole: 3000 entries/ })
    t.equal((await listOf(shared('keys', 'list', '--json'))).length, keys.length)
  })
})
