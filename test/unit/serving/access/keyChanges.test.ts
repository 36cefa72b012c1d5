import t from 'tap'
import {
  createKey,
  findKey,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
} from '../../../../src/serving/access/keyChanges.js'
import { keyToJson, noScopes, stateOf } from '../../../../src/serving/access/keyRecord.js'
import { parseKeySettings } from '../../../../src/serving/access/keySettings.js'
import { openRig, why } from './keyRig.js'

const hourMs = 3_600_000

t.test('a key keeps what it was made with, and a change replaces what it names', async (t) => {
  const { ring, store } = openRig(t)
  const settings = parseKeySettings({
    name: 'shop',
    expiresAt: '2031-02-03T04:05:06Z',
    scopes: { networks: ['main'], methods: ['eth_*'] },
    limits: { requestsPerSecond: 25, weight: 4 },
  })
  const { key } = createKey(store, ring.pepper, settings, 'cli:ann')
  t.match(key, {
    name: 'shop',
    expiresAtMs: Date.parse('2031-02-03T04:05:06Z'),
    scopes: { networks: ['main'], methods: ['eth_*'], origins: [], addresses: [] },
    limits: { requestsPerSecond: 25, weight: 4 },
    changedBy: 'cli:ann',
  })
  t.strictSame(findKey(store, 'shop'), key)
  t.strictSame(findKey(store, key.id), key)

  const changes = parseKeySettings({
    expiresAt: null,
    scopes: { methods: ['*'], addresses: ['::1'] },
    limits: { weight: null, sockets: 3 },
  })
  const changed = setKey(store, 'shop', changes, 'admin')
  t.strictSame(changed.scopes, { ...noScopes, networks: ['main'], addresses: ['::1'] })
  t.strictSame(changed.limits, { requestsPerSecond: 25, sockets: 3 })
  t.equal(changed.expiresAtMs, undefined)
  t.equal(changed.changedBy, 'admin')
  t.strictSame(listKeys(store), [changed])
  t.match(keyToJson(changed), {
    id: key.id,
    state: 'live',
    expiresAt: null,
    limits: { requestsPerSecond: 25, sockets: 3, weight: null },
  })
})

t.test('a key can be renamed, to a name that no other has', async (t) => {
  const { ring, store } = openRig(t)
  const { key } = createKey(store, ring.pepper, { name: 'one' }, 'test')
  createKey(store, ring.pepper, { name: 'two' }, 'test')
  t.throws(() => setKey(store, 'one', { name: 'two' }, 'test'), {
    name: 'OperatorError',
    message: 'another key has that name already; choose another, or revoke that key first',
  })
  t.equal(setKey(store, 'one', { name: 'three' }, 'test').id, key.id)
  t.equal(findKey(store, 'three').id, key.id)
  t.throws(() => findKey(store, 'one'), { message: /^there is no key named "one"/ })
  createKey(store, ring.pepper, { name: 'one' }, 'test')
})

t.test('a revoked key cannot be changed', async (t) => {
  const { ring, store } = openRig(t)
  const { key } = createKey(store, ring.pepper, { name: 'one' }, 'test')
  revokeKey(store, 'one', 'test')
  const message = `key ${key.id} is revoked for good; make another key`
  t.throws(() => setKey(store, key.id, { name: 'two' }, 'test'), { name: 'OperatorError', message })
  t.throws(() => rotateKey(store, ring.pepper, key.id, 0, 'test'), { name: 'OperatorError', message })
  t.equal(stateOf(findKey(store, key.id)), 'revoked')
})

t.test('a key ends at its expiry, and goes on where that is moved', async (t) => {
  const { ring, store, pass, setDate } = openRig(t)
  const endMs = Date.now() + hourMs
  const expiresAt = new Date(endMs).toISOString()
  const { text } = createKey(store, ring.pepper, { name: 'trial', expiresAt }, 'test')
  t.match(ring.authorize(text), { ok: true, untilMs: endMs })
  setDate(endMs - 1)
  t.equal(why(ring.authorize(text)), 'ok')
  setDate(endMs)
  t.equal(why(ring.authorize(text)), 'expired', 'although it was remembered as valid')
  setKey(store, 'trial', { expiresAt: new Date(endMs + hourMs).toISOString() }, 'test')
  pass(250)
  t.equal(why(ring.authorize(text)), 'ok')
})

t.test('after a rotation both secrets work until the set time, then the newer alone', async (t) => {
  const { ring, store, pass, setDate } = openRig(t)
  const first = createKey(store, ring.pepper, { name: 'shop' }, 'test')
  t.equal(why(ring.authorize(first.text)), 'ok')
  const second = rotateKey(store, ring.pepper, 'shop', 24 * hourMs, 'test')
  t.equal(second.key.id, first.key.id)
  const untilMs = second.key.earlierUntilMs ?? 0
  t.ok(untilMs > Date.now() + 23 * hourMs && untilMs <= Date.now() + 24 * hourMs)
  pass(250)
  setDate(untilMs - 1)
  for (const { text } of [first, second])
    t.match(ring.authorize(text), { ok: true, key: { id: first.key.id } })
  setDate(untilMs)
  t.equal(why(ring.authorize(first.text)), 'replaced')
  t.equal(why(ring.authorize(second.text)), 'ok')
  t.equal(listKeys(store).length, 1)

  revokeKey(store, 'shop', 'test')
  pass(250)
  t.equal(why(ring.authorize(second.text)), 'revoked', 'the later secret as well')
})

t.test('a second rotation ends the oldest secret, and one without overlap the earlier', async (t) => {
  const { ring, store, pass } = openRig(t)
  const texts = [createKey(store, ring.pepper, { name: 'shop' }, 'test').text]
  const states = () => texts.map((text) => why(ring.authorize(text)))
  for (const overlapMs of [hourMs, hourMs]) {
    texts.push(rotateKey(store, ring.pepper, 'shop', overlapMs, 'test').text)
    pass(250)
  }
  t.strictSame(states(), ['replaced', 'ok', 'ok'])
  texts.push(rotateKey(store, ring.pepper, 'shop', 0, 'test').text)
  pass(250)
  t.strictSame(states(), ['replaced', 'replaced', 'replaced', 'ok'])
})
