// @shares
/** One suite for both stores of keys: the node store, and PostgreSQL with a copy in each process. */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { SharedKeys } from '../../../../src/operation/shared/sharedKeys.js'
import {
  addToken,
  createKey,
  findKey,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
  tryCreateKey,
} from '../../../../src/serving/access/keyChanges.js'
import { KeyChecker } from '../../../../src/serving/access/keyChecker.js'
import { KeyFreshness, keyFreshnessBytes } from '../../../../src/serving/access/keyFreshness.js'
import { embeddedKeyRepository, type KeyRepository } from '../../../../src/serving/access/keyRepository.js'
import { makeKeyText } from '../../../../src/serving/access/keyText.js'
import type { Pepper } from '../../../../src/serving/access/pepper.js'
import { verifierOfSecret } from '../../../../src/serving/access/tokens.js'
import { startPostgres, withoutPostgres } from '../../../feed/postgres.js'
import { makeFolder } from '../../../library/folder.js'
import { until } from '../../../library/until.js'
import { onSmallDisk, withoutSmallDisk } from '../../../store/smallDisk.js'

const mapBytes = 2 ** 30

interface Place {
  readonly book: KeyRepository
  readonly pepper: Pepper
  readonly ring: KeyChecker
}

function ringPaths(folder: string) {
  return { pepper: join(folder, 'pepper'), demoKey: join(folder, 'demo-key') }
}

function openPlace(book: KeyRepository, folder: string): Place {
  // A clock so fast that each question reads the store.
  const ring = KeyChecker.open(book.store, ringPaths(folder), { clockMs: () => performance.now() * 1_000 })
  return { book, pepper: ring.pepper, ring }
}

function why({ ring }: Pick<Place, 'ring'>, text: string): string {
  const check = ring.authorize(text)
  return check.ok ? 'ok' : check.why
}

function behaves(t: Test, open: (t: Test) => Promise<Place>): void {
  t.test('a key is made, found, changed, rotated and revoked', async (t) => {
    const place = await open(t)
    const { book, pepper } = place
    const first = await book.change((keys) => createKey(keys, pepper, { name: 'shop' }, 'ann'))
    t.equal(why(place, first.text), 'ok')
    t.strictSame(findKey(book.store, 'shop'), first.key)
    const settings = { limits: { unitsPerDay: 7 }, scopes: { methods: ['eth_call'] } }
    const changed = await book.change((keys) => setKey(keys, first.key.id, settings, 'bob'))
    t.match(changed, { limits: { unitsPerDay: 7 }, changedBy: 'bob' })
    t.match(listKeys(book.store), [changed])
    const second = await book.change((keys) => rotateKey(keys, pepper, 'shop', 0, 'ann'))
    t.equal(why(place, first.text), 'replaced')
    t.equal(why(place, second.text), 'ok')
    const third = await book.change((keys) => rotateKey(keys, pepper, 'shop', 60_000, 'ann'))
    t.equal(why(place, second.text), 'ok', 'within the overlap')
    t.equal(why(place, third.text), 'ok')
    const secret = Buffer.alloc(32, 7)
    await book.change((keys) => addToken(keys, 'shop', verifierOfSecret(secret, pepper), 'ann'))
    t.equal(findKey(book.store, 'shop').tokens.length, 1)
    await book.change((keys) => revokeKey(keys, 'shop', 'ann'))
    for (const text of [second.text, third.text]) t.equal(why(place, text), 'revoked')
    t.equal(why(place, first.text), 'revoked', 'a secret leads to its key for good')
    t.throws(() => findKey(book.store, 'shop'), { name: 'OperatorError' })
  })

  t.test('a name belongs to one key that is not revoked', async (t) => {
    const { book, pepper } = await open(t)
    const create = (name: string) => book.change((keys) => createKey(keys, pepper, { name }, 'ann'))
    const one = await create('one')
    await create('two')
    await t.rejects(create('one'), { message: /exists already/ })
    await t.rejects(
      book.change((keys) => setKey(keys, 'two', { name: 'one' }, 'ann')),
      { message: /another key has that name/ },
    )
    await book.change((keys) => revokeKey(keys, 'one', 'ann'))
    await book.change((keys) => setKey(keys, 'two', { name: 'one' }, 'ann'))
    await create('two')
    t.strictSame(
      // Keys that are made within a millisecond have no order.
      listKeys(book.store)
        .map(({ name, revokedAtMs }) => `${name}${revokedAtMs === undefined ? '' : ', revoked'}`)
        .sort(),
      ['one', 'one, revoked', 'two'],
    )
    await t.rejects(
      book.change((keys) => setKey(keys, one.key.id, { name: 'three' }, 'ann')),
      { message: /revoked for good/ },
    )
  })

  t.test('the first key is made once', async (t) => {
    const { book, pepper } = await open(t)
    const make = () =>
      book.change((keys) => tryCreateKey(keys, pepper, { name: 'demo' }, 'ann', { onlyFirst: true }))
    t.ok(await make())
    t.equal(await make(), undefined)
    t.equal(listKeys(book.store).length, 1)
  })

  t.test('what fails changes nothing, and each change is in the audit log', async (t) => {
    const { book, pepper } = await open(t)
    const { key } = await book.change((keys) => createKey(keys, pepper, { name: 'shop' }, 'ann'))
    await t.rejects(
      book.change((keys) => createKey(keys, pepper, { name: 'shop' }, 'ann')),
      { name: 'OperatorError' },
    )
    await t.rejects(
      book.change((keys) => revokeKey(keys, 'nobody', 'ann')),
      { name: 'OperatorError' },
    )
    const reload = { action: 'configuration reloaded', keyId: undefined, detail: 'cors' } as const
    await book.note({ ...reload, atMs: 5, actor: 'SIGHUP' })
    await book.change((keys) => revokeKey(keys, 'shop', 'bob'))
    const entries = [...(book.store.audit?.read() ?? [])]
    t.match(entries, [
      { sequence: 1, action: 'key created', keyId: key.id, actor: 'ann', detail: 'name' },
      { sequence: 2, ...reload, atMs: 5 },
      { sequence: 3, action: 'key revoked', keyId: key.id, actor: 'bob' },
    ])
    t.equal(entries.length, 3)
    t.match(book.store.audit?.verify(), { entries: entries.length, fault: undefined })
  })

  t.test('changes at the same time are all made', async (t) => {
    const { book, pepper } = await open(t)
    const names = Array.from({ length: 20 }, (_, index) => `key ${index}`)
    await Promise.all(names.map((name) => book.change((keys) => createKey(keys, pepper, { name }, 'ann'))))
    t.strictSame(
      listKeys(book.store)
        .map(({ name }) => name)
        .sort(),
      [...names].sort(),
    )
    t.match(book.store.audit?.verify(), { entries: 20, fault: undefined })
  })
}

t.test('keys of a node store', async (t) => {
  behaves(t, async (t) => {
    const folder = t.testdir()
    const store = NodeStore.open({ path: join(folder, 'node.mdb'), mapBytes })
    t.teardown(() => store.close())
    return openPlace(embeddedKeyRepository(store), folder)
  })
})

t.test('keys in PostgreSQL', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t)
  let count = 0
  const optionsOf = (schema: string, folder: string) => ({
    url: postgres.url,
    schema,
    path: join(folder, 'shared-keys.mdb'),
    pepperPath: join(folder, 'pepper'),
    mapBytes,
  })
  const openIn = async (t: Test, schema: string, folder = t.testdir()) => {
    const book = await SharedKeys.open(optionsOf(schema, folder), { mustAnswer: true })
    t.teardown(() => book.close())
    return { ...openPlace(book, folder), book, folder }
  }
  const freshnessOf = (graceMs: number) => new KeyFreshness(new SharedArrayBuffer(keyFreshnessBytes), graceMs)
  behaves(t, (t) => openIn(t, `book ${count++}`))

  t.test('a change at one process is seen at the others, whoever makes it', async (t) => {
    const one = await openIn(t, 'many')
    const folder = makeFolder(t)
    copyFileSync(join(one.folder, 'pepper'), join(folder, 'pepper'))
    const other = await openIn(t, 'many', folder)
    const keyFreshness = freshnessOf(600_000)
    other.book.follow(keyFreshness, (text) => t.fail(text))
    const { text, key } = await one.book.change((keys) =>
      createKey(keys, one.pepper, { name: 'shop' }, 'ann'),
    )
    await until(() => why(other, text) === 'ok')
    t.notOk(keyFreshness.isLost)
    // Both change the same key at the same time, repeatedly: each change is made once.
    const rounds = Array.from({ length: 20 }, (_, round) => round + 1)
    await Promise.all(
      [one, other].map(async ({ book }, at) => {
        for (const round of rounds) {
          const limits = at === 0 ? { sockets: round } : { subscriptions: round }
          await book.change((keys) => setKey(keys, 'shop', { limits }, `process ${at}`))
        }
      }),
    )
    one.book.follow(freshnessOf(600_000), (text) => t.fail(text))
    await until(() => [one, other].every(({ book }) => book.store.audit?.last === 41))
    for (const { book } of [one, other]) {
      t.match(findKey(book.store, key.id).limits, { sockets: 20, subscriptions: 20 })
      t.match(book.store.audit?.verify(), { entries: 41, fault: undefined })
    }
    await other.book.change((keys) => revokeKey(keys, 'shop', 'bob'))
    await until(() => why(one, text) === 'revoked')
    t.equal(why(other, text), 'revoked')
  })

  t.test('another pepper is refused, and so is none where there are keys', async (t) => {
    const one = await openIn(t, 'pepper')
    await one.book.change((keys) => createKey(keys, one.pepper, { name: 'shop' }, 'ann'))
    const fresh = makeFolder(t)
    await t.rejects(openIn(t, 'pepper', fresh), {
      name: 'OperatorError',
      message: /pepper .* is missing.*; copy the file/,
    })
    writeFileSync(join(fresh, 'pepper'), Buffer.alloc(32, 1), { mode: 0o600 })
    await t.rejects(openIn(t, 'pepper', fresh), {
      name: 'OperatorError',
      message: /is not the one that the shared API keys were made with; copy the file/,
    })
  })

  t.test('a database that was put back replaces the copy', async (t) => {
    const one = await openIn(t, 'back')
    const old = await one.book.change((keys) => createKey(keys, one.pepper, { name: 'old' }, 'ann'))
    await one.book.close()
    await postgres.query('drop schema back cascade')
    const again = await openIn(t, 'back', one.folder)
    t.strictSame(listKeys(again.book.store), [])
    t.equal(why(again, old.text), 'unknown')
    await again.book.change((keys) => createKey(keys, again.pepper, { name: 'new' }, 'ann'))
    t.match(again.book.store.audit?.verify(), { entries: 1, fault: undefined })
  })

  t.test('on a full disk known keys go on until one changes', { skip: withoutSmallDisk }, (t) =>
    onSmallDisk(t, 2_000, async ({ folder, leave }) => {
      const writer = await openIn(t, 'full')
      const shop = await writer.book.change((keys) => createKey(keys, writer.pepper, { name: 'shop' }, 'ann'))
      copyFileSync(join(writer.folder, 'pepper'), join(folder, 'pepper'))
      const first = await SharedKeys.open(optionsOf('full', folder), { mustAnswer: true })
      const sequence = first.store.readCopied()?.sequence as number
      // The copy was whole an hour ago, which is longer than it takes until that is stored again.
      const nothing = { after: sequence, sequence, keys: [], entries: [], pepperFingerprint: undefined }
      first.store.applyNews(nothing, Date.now() - 3_600_000)
      await first.close()
      leave(-4)
      const book = await SharedKeys.open(optionsOf('full', folder), { mustAnswer: false })
      t.teardown(() => book.close())
      const said: string[] = []
      const keyFreshness = freshnessOf(600_000)
      book.follow(keyFreshness, (text) => said.push(text))
      await until(() => !keyFreshness.isLost)
      const { ring } = openPlace(book, folder)
      t.equal(why({ ring }, shop.text), 'ok')
      t.strictSame(said, [])
      await writer.book.change((keys) => revokeKey(keys, 'shop', 'ann'))
      await until(() => keyFreshness.isLost)
      t.match(said[0], /^API keys cannot be followed: the disk that holds \S+ is full/)
      const late = await SharedKeys.open(optionsOf('full', folder), { mustAnswer: false })
      await late.close()
      leave(2_000)
      await until(() => !keyFreshness.isLost)
      t.equal(why({ ring }, shop.text), 'revoked')
    }),
  )

  t.test(
    'without the database known keys go on for a while, and others are not refused for good',
    async (t) => {
      const place = await openIn(t, 'lost')
      const keyFreshness = freshnessOf(600_000)
      const said: string[] = []
      place.book.follow(keyFreshness, (text) => said.push(text))
      const ring = KeyChecker.open(place.book.store, ringPaths(place.folder), { keyFreshness })
      const soonOver = KeyChecker.open(place.book.store, ringPaths(place.folder), {
        keyFreshness: freshnessOf(0),
      })
      const shop = await place.book.change((keys) => createKey(keys, place.pepper, { name: 'shop' }, 'ann'))
      await place.book.change((keys) => createKey(keys, place.pepper, { name: 'gone' }, 'ann'))
      await until(() => !keyFreshness.isLost)
      const strange = makeKeyText()
      t.equal(why({ ring }, strange), 'unknown')
      await postgres.kill()
      await until(() => keyFreshness.isLost)
      t.equal(why({ ring }, shop.text), 'ok')
      t.equal(why({ ring }, strange), 'unreachable')
      t.equal(why({ ring }, 'tg_mistyped'), 'malformed')
      t.equal(why({ ring: soonOver }, shop.text), 'unreachable', 'longer ago than keys are believed')
      const failing = place.book.change((keys) => revokeKey(keys, 'gone', 'ann'))
      await t.rejects(failing, { name: 'OperatorError', message: /does not answer/ })
      await t.rejects(openIn(t, 'lost', place.folder), { message: /does not answer/ })
      const nowhere = makeFolder(t)
      await t.rejects(SharedKeys.open(optionsOf('lost', nowhere), { mustAnswer: false }), {
        name: 'OperatorError',
        message: /no copy of them yet/,
      })
      await postgres.start()
      await until(() => !keyFreshness.isLost)
      t.equal(why({ ring }, strange), 'unknown')
      t.match(said[0], /^API keys cannot be followed: /)
      t.match(said.at(-1), /answers again$/)
      await place.book.change((keys) => revokeKey(keys, 'gone', 'ann'))
    },
  )
})
