import { createHmac } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createKey, listKeys, revokeKey } from '../../../../src/serving/access/keyChanges.js'
import { KeyChecker } from '../../../../src/serving/access/keyChecker.js'
import { makeKeyText } from '../../../../src/serving/access/keyText.js'
import { openRig, why } from './keyRig.js'

t.test('a key opens from its creation to its revocation', async (t) => {
  const { ring, store, pass } = openRig(t)
  const startMs = Date.now()
  const { key, text } = createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  t.match(key, { id: /^[0-9a-f]{12}$/, name: 'explorer', revokedAtMs: undefined })
  t.ok(key.createdAtMs >= startMs && key.createdAtMs <= Date.now())
  t.strictSame(
    { ...ring.authorize(text), credentials: [] },
    { ok: true, credentials: [], key, untilMs: undefined },
  )
  t.equal(ring.authorize(text), ring.authorize(text), 'the same answer, made once')
  t.strictSame(listKeys(store), [key])

  t.strictSame(revokeKey(store, key.id, 'test'), key)
  pass(250)
  t.equal(why(ring.authorize(text)), 'revoked')
  t.type(listKeys(store)[0]?.revokedAtMs, 'number')
})

t.test('a refusal says why', async (t) => {
  const { ring, store } = openRig(t)
  const { text } = createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  t.equal(why(ring.authorize('')), 'missing')
  t.equal(why(ring.authorize('hello')), 'malformed')
  t.equal(why(ring.authorize(`${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`)), 'malformed')
  t.equal(why(ring.authorize(makeKeyText())), 'unknown')
})

t.test('names are unique among live keys', async (t) => {
  const { ring, store } = openRig(t)
  const { key } = createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  t.throws(() => createKey(store, ring.pepper, { name: 'explorer' }, 'test'), {
    name: 'OperatorError',
    message: 'a key named "explorer" exists already; choose another name or revoke that key first',
  })
  revokeKey(store, key.id, 'test')
  t.not(createKey(store, ring.pepper, { name: 'explorer' }, 'test').key.id, key.id)
  t.equal(listKeys(store).length, 2)
})

t.test('revoking needs the name or the id of a key, and twice changes nothing', async (t) => {
  const { ring, store } = openRig(t)
  const { key, text } = createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  t.throws(() => revokeKey(store, '0'.repeat(12), 'test'), {
    name: 'OperatorError',
    message: 'there is no key with id 000000000000; find its id with: tidegate keys list',
  })
  t.throws(() => revokeKey(store, 'shop', 'test'), {
    name: 'OperatorError',
    message: 'there is no key named "shop" that is not revoked; find its id with: tidegate keys list',
  })
  for (const wrong of [text, text.slice(0, 20)]) {
    t.throws(() => revokeKey(store, wrong, 'test'), {
      name: 'UsageError',
      message:
        'a key is named by its name or its id of 12 hex digits, not by its text; find them with: tidegate keys list',
    })
  }
  revokeKey(store, key.id, 'test')
  const revoked = listKeys(store)
  t.strictSame([revokeKey(store, key.id, 'test')], revoked)
  t.strictSame(listKeys(store), revoked)
})

t.test('the store holds the HMAC of a key under the pepper, never the key', async (t) => {
  const { ring, store, dataDir, paths } = openRig(t)
  const { text, key } = createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  const digest = createHmac('sha256', readFileSync(paths.pepper)).update(text).digest()
  t.equal(digest.subarray(0, 6).toString('hex'), key.id)
  t.strictSame(Buffer.from(store.readKey(digest)?.digest ?? []), digest)
  for (const file of readdirSync(join(dataDir, 'node'))) {
    t.equal(readFileSync(join(dataDir, 'node', file)).includes(text.slice(3, 30)), false, file)
  }
})

t.test('the pepper is 32 bytes in a file and folder that only the owner can read', async (t) => {
  const { paths, dataDir } = openRig(t)
  t.equal(statSync(paths.pepper).size, 32)
  t.equal(statSync(paths.pepper).mode & 0o777, 0o600)
  t.equal(statSync(join(dataDir, 'node')).mode & 0o777, 0o700)
})

t.test('a pepper that others can read is refused', async (t) => {
  const { store, paths } = openRig(t)
  chmodSync(paths.pepper, 0o644)
  t.throws(() => KeyChecker.open(store, paths), {
    name: 'OperatorError',
    message: /\(mode 0644\); run: chmod 600 /,
  })
})

t.test('without its pepper a store with keys is refused, and one without makes another', async (t) => {
  const { store, paths, ring } = openRig(t)
  rmSync(paths.pepper)
  t.doesNotThrow(() => KeyChecker.open(store, paths))
  rmSync(paths.pepper)
  createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  t.throws(() => KeyChecker.open(store, paths), {
    name: 'OperatorError',
    message: `the pepper ${paths.pepper} is missing, and without it no API key can be checked; restore it from a backup, or remove ${store.path} as well to begin without keys`,
  })
  t.equal(existsSync(paths.pepper), false)
})

t.test('a pepper of another installation or of another length is told', async (t) => {
  const { store, paths, ring } = openRig(t)
  createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  writeFileSync(paths.pepper, Buffer.alloc(32, 1))
  t.throws(() => KeyChecker.open(store, paths), {
    name: 'OperatorError',
    message: /is not the one that the API keys/,
  })
  writeFileSync(paths.pepper, '')
  t.throws(() => KeyChecker.open(store, paths), {
    name: 'OperatorError',
    message: /is damaged: it must be 32 bytes long/,
  })
})

t.test('the first start makes a demo key, and later starts show the same one', async (t) => {
  const { ring, store, paths } = openRig(t)
  const first = ring.ensureDemoKey({ keepText: true })
  t.equal(first?.isNew, true)
  t.equal(why(ring.authorize(first?.text ?? '')), 'ok')
  t.equal(statSync(paths.demoKey).mode & 0o777, 0o600)
  t.strictSame(KeyChecker.open(store, paths).ensureDemoKey({ keepText: true }), {
    text: first?.text,
    isNew: false,
  })
  t.match(listKeys(store), [{ name: 'demo' }])
})

t.test('a demo key that was revoked, or whose file is gone, is not made again', async (t) => {
  const { ring, store, paths, pass } = openRig(t)
  ring.ensureDemoKey({ keepText: true })
  const kept = readFileSync(paths.demoKey)
  rmSync(paths.demoKey)
  t.equal(ring.ensureDemoKey({ keepText: true }), undefined)
  writeFileSync(paths.demoKey, kept, { mode: 0o600 })
  revokeKey(store, listKeys(store)[0]?.id ?? '', 'test')
  pass(250)
  t.equal(ring.ensureDemoKey({ keepText: true }), undefined)
  t.equal(listKeys(store).length, 1)
})

t.test('outside the demo network the first key is shown once and kept nowhere', async (t) => {
  const { ring, paths } = openRig(t)
  t.equal(ring.ensureDemoKey({ keepText: false })?.isNew, true)
  t.equal(ring.ensureDemoKey({ keepText: false }), undefined)
  t.equal(ring.ensureDemoKey({ keepText: true }), undefined)
  t.equal(existsSync(paths.demoKey), false)
})

t.test('where keys exist no demo key is made', async (t) => {
  const { ring, store } = openRig(t)
  createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  t.equal(ring.ensureDemoKey({ keepText: true }), undefined)
  t.equal(listKeys(store).length, 1)
})

t.test('a stale file of an earlier store gives way to the new demo key', async (t) => {
  const { ring, paths } = openRig(t)
  writeFileSync(paths.demoKey, `${makeKeyText()}\n`, { mode: 0o600 })
  const made = ring.ensureDemoKey({ keepText: true })
  t.equal(made?.isNew, true)
  t.equal(readFileSync(paths.demoKey, 'latin1'), `${made?.text}\n`)
})

t.test('guesses with a right checksum drive no valid key out', async (t) => {
  const { ring, store } = openRig(t)
  const { text } = createKey(store, ring.pepper, { name: 'explorer' }, 'test')
  // More guesses than there are places for keys.
  const before = ring.authorize(text)
  for (let count = 0; count < 12_000; count++) if (ring.authorize(makeKeyText()).ok) t.fail('a guess opened')
  t.equal(ring.authorize(text), before)
  t.equal(listKeys(store).length, 1)
})

t.test('a change of one key leaves the others remembered, and says which it was', (t) => {
  const { ring, store, pass } = openRig(t)
  const [one, other] = [
    createKey(store, ring.pepper, { name: 'one' }, 'test'),
    createKey(store, ring.pepper, { name: 'other' }, 'test'),
  ]
  pass(1_000)
  const start = ring.readChanges(0)
  t.strictSame(start.ids, [one.key.id, other.key.id])
  const remembered = ring.authorize(one.text)
  t.ok(ring.authorize(other.text).ok)
  revokeKey(store, other.key.id, 'test')
  t.strictSame(ring.readChanges(start.generation).ids, [other.key.id])
  t.equal(ring.authorize(one.text), remembered, 'not made anew')
  t.equal(why(ring.authorize(other.text)), 'revoked', 'no later than the change is told')
  const end = ring.readChanges(start.generation)
  t.strictSame(ring.readChanges(end.generation), { generation: end.generation, ids: [] })
  t.equal(ring.readChanges(end.generation + 1).ids, undefined, 'a store that was put back')
  t.end()
})

t.test('more changes than are kept may have been of any key', (t) => {
  const { ring, store } = openRig(t)
  const { text } = createKey(store, ring.pepper, { name: 'stays' }, 'test')
  const start = ring.readChanges(0).generation
  const digestOf = (number: number) => createHmac('sha256', 'x').update(String(number)).digest()
  const before = ring.authorize(text)
  for (let number = 0; number < 1_001; number++) {
    const row = { digest: digestOf(number), name: `key ${number}`, createdAtMs: 0, revokedAtMs: undefined }
    t.equal(store.writeKey(row), 'written') || t.bailout('no key was written')
  }
  t.equal(ring.readChanges(start).ids, undefined)
  t.equal(ring.readChanges(start + 1).ids?.length, 1_000)
  t.not(ring.authorize(text), before, 'forgotten and found again')
  t.equal(why(ring.authorize(text)), 'ok')
  t.end()
})
