import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommandLine } from '../../../../src/operation/commands/runCommandLine.js'
import { isKeyText } from '../../../../src/serving/access/keyText.js'

interface Outcome {
  readonly status: number
  readonly out: string
  readonly err: string
}

/** Runs one command line in this process. */
async function run(dataDir: string, ...words: string[]): Promise<Outcome> {
  const out: string[] = []
  const err: string[] = []
  const status = await runCommandLine([...words, '--data', dataDir], {
    out: (text) => out.push(text),
    err: (text) => err.push(text),
  })
  return { status, out: out.join('\n'), err: err.join('\n') }
}

t.test('create prints the key alone on standard output', async (t) => {
  const { status, out, err } = await run(t.testdir(), 'keys', 'create', '--name', 'block explorer')
  t.equal(status, 0)
  t.equal(isKeyText(out), true)
  t.match(
    err,
    /^Made key [0-9a-f]{12} \(block explorer\)\. Copy it now; only its hash is stored, so it is not shown again:$/,
  )
})

t.test('list shows what became of each key', async (t) => {
  const dataDir = t.testdir()
  await run(dataDir, 'keys', 'create', '--name', 'one')
  await run(dataDir, 'keys', 'create', '--name', 'block explorer')
  const [one] = JSON.parse((await run(dataDir, 'keys', 'list', '--json')).out)
  t.match(one, { name: 'one', state: 'live', revokedAt: null, createdAt: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ })

  const { status, out } = await run(dataDir, 'keys', 'revoke', one.id)
  t.equal(status, 0)
  t.equal(out, `Revoked key ${one.id} (one); running servers refuse it within a second.`)

  const table = (await run(dataDir, 'keys', 'list')).out.split('\n')
  t.equal(table.length, 3)
  t.equal(table[0], 'ID            NAME            CREATED               STATE')
  t.match(
    table[1],
    /^[0-9a-f]{12} {2}one {13}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}revoked \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/,
  )
  t.match(table[2], /^[0-9a-f]{12} {2}block explorer {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}live$/)
  t.match(JSON.parse((await run(dataDir, 'keys', 'list', '--json')).out), [
    { state: 'revoked', revokedAt: /Z$/ },
    { state: 'live' },
  ])

  const again = await run(dataDir, 'keys', 'revoke', one.id)
  t.equal(again.status, 0)
  t.match(again.out, new RegExp(`^Key ${one.id} \\(one\\) was revoked already, on `))
})

t.test('a folder without keys says how to make one, and is left as it is', async (t) => {
  const dataDir = join(t.testdir(), 'none')
  t.strictSame(await run(dataDir, 'keys', 'list'), {
    status: 0,
    out: '',
    err: `No keys in ${dataDir} yet; make one with: tidegate keys create --name NAME`,
  })
  t.equal((await run(dataDir, 'keys', 'list', '--json')).out, '[]')
  t.strictSame(await run(dataDir, 'keys', 'revoke', '000000000000'), {
    status: 1,
    out: '',
    err: `tidegate: there are no keys in ${dataDir}; check --data`,
  })
  t.equal(existsSync(dataDir), false)
})

t.test('a bad name is wrong usage, a taken one a failure', async (t) => {
  const dataDir = t.testdir()
  t.equal((await run(dataDir, 'keys', 'create', '--name', ' x')).status, 2)
  t.equal((await run(dataDir, 'keys', 'create', '--name', 'x')).status, 0)
  t.strictSame(await run(dataDir, 'keys', 'create', '--name', 'x'), {
    status: 1,
    out: '',
    err: 'tidegate: a key named "x" exists already; choose another name or revoke that key first',
  })
})

t.test('a key given in place of its id is refused without being repeated', async (t) => {
  const dataDir = t.testdir()
  const { out: text } = await run(dataDir, 'keys', 'create', '--name', 'x')
  t.strictSame(await run(dataDir, 'keys', 'revoke', text), {
    status: 2,
    out: '',
    err: 'tidegate: a key is named by its name or its id of 12 hex digits, not by its text; find them with: tidegate keys list',
  })
})

t.test('a key is made, changed, shown and rotated by its name', async (t) => {
  const dataDir = t.testdir()
  const words = ['--network', 'main', '--network', 'demo', '--method', 'eth_*', '--units-per-day', '5000']
  const made = await run(dataDir, 'keys', 'create', '--name', 'shop', '--json', '--expires', '90d', ...words)
  t.equal(made.status, 0)
  const { key, id, ...rest } = JSON.parse(made.out)
  t.equal(isKeyText(key), true)
  t.match(rest, {
    state: 'live',
    scopes: { networks: ['main', 'demo'], methods: ['eth_*'], origins: [], addresses: [] },
    limits: { unitsPerDay: 5_000, sockets: null },
    changedBy: /^cli/,
  })
  t.ok(Math.abs(Date.parse(rest.expiresAt) - Date.now() - 90 * 86_400_000) < 86_400_000)

  const set = await run(
    dataDir,
    'keys',
    'set',
    'shop',
    '--method',
    '*',
    '--units-per-day',
    'none',
    '--weight',
    '3',
  )
  t.equal(set.err, `Changed key ${id}; running servers follow within a second.`)
  const shown = await run(dataDir, 'keys', 'show', id)
  t.match(shown.out, /^state {2,}live until .*$/m)
  t.match(shown.out, /^networks {2,}main, demo\nmethods {2,}all$/m)
  t.match(shown.out, /^weight {2,}3$/m)
  t.notMatch(shown.out, /units per day/)

  const rotated = await run(dataDir, 'keys', 'rotate', 'shop', '--overlap', '7d')
  t.equal(isKeyText(rotated.out), true)
  t.not(rotated.out, key)
  t.match(rotated.err, /^Key [0-9a-f]{12} \(shop\) has a new secret\. The earlier one is valid until /)
  t.match((await run(dataDir, 'keys', 'show', 'shop')).out, /^earlier secret {2,}valid until /m)
  t.match(JSON.parse((await run(dataDir, 'keys', 'list', '--json')).out), [{ id, name: 'shop' }])
})

t.test('a setting that cannot be is told', async (t) => {
  const dataDir = t.testdir()
  await run(dataDir, 'keys', 'create', '--name', 'shop')
  const cases: readonly (readonly [string, RegExp])[] = [
    ['set shop', /^tidegate: keys set needs at least one setting to change/],
    ['set shop --address 10.0.0.300', /^tidegate: scopes\.addresses\.0: expected an IP address or block/],
    ['set shop --weight 1000', /^tidegate: limits\.weight: expected an integer from 1 to 100/],
    ['set shop --weight much', /^tidegate: --weight: expected an integer, or none, got "much"$/],
    ['set shop --expires soon', /^tidegate: expiresAt: expected a time such as/],
    ['create --name old --expires 2020-01-31', /^tidegate: expiresAt: a new key has to end later than now/],
    ['create --name old --expires 0d', /^tidegate: expiresAt: a new key has to end later than now/],
    ['create --name x --requests-burst 5', /^tidegate: limits\.requestsBurst: expected requestsPerSecond/],
    ['set shop --requests-burst 5', /^tidegate: limits\.requestsBurst: expected requestsPerSecond beside it/],
    ['rotate shop --overlap 1y', /^tidegate: --overlap: expected a time such as 24h, 30m or 0, got "1y"$/],
  ]
  for (const [words, err] of cases) {
    t.match(await run(dataDir, 'keys', ...words.split(' ')), { status: 2, out: '', err }, words)
  }
  const { status } = await run(dataDir, 'keys', 'set', 'shop', '--expires', '2020-01-31')
  t.equal(status, 0, 'a key that is there can be ended so')
  t.match((await run(dataDir, 'keys', 'list')).out, /^[^\n]*\n[0-9a-f]{12} {2}shop [^\n]*expired [^\n]*$/)
})
