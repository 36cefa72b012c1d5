// @shares
/** Rights of users of a real PostgreSQL: to make tables, and later only to use them. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { UnreachableError } from '../../../../src/data/postgres/connection.js'
import { SharedKeys } from '../../../../src/operation/shared/sharedKeys.js'
import type { Hash32 } from '../../../../src/primitives/bytes.js'
import { createKey, findKey, revokeKey } from '../../../../src/serving/access/keyChanges.js'
import { Pepper } from '../../../../src/serving/access/pepper.js'
import { PostgresLog } from '../../../../src/sources/feed/postgresLog.js'
import { type Postgres, startPostgres, withoutPostgres } from '../../../feed/postgres.js'
import { makeFolder } from '../../../library/folder.js'
import { makeTransaction } from '../../../rollup/invokeTransactions.js'
import { openSharedQueue } from '../../../rollup/queues.js'
import { startSequencer } from '../../../rollup/sequencer.js'

const chain = { chainId: '7357', genesisHash: `0x${'00'.repeat(32)}` } as const
const writes = 'select, insert, update, delete'

/** The URL of a user without the right to make tables. */
async function makeUser({ url, query }: Postgres, name: string): Promise<string> {
  await query(`create role ${name} login`)
  return url.replace('tidegate@', `${name}@`)
}

/** Grants a user the use of the tables of a schema, by the documentation. */
async function grant({ query }: Postgres, name: string, rights: string, schema: string): Promise<void> {
  await query(`grant usage on schema "${schema}" to ${name}`)
  await query(`grant ${rights} on all tables in schema "${schema}" to ${name}`)
}

const mayNot = {
  name: 'OperatorError',
  message:
    /^the user of the database may not make the tables in schema .* \(permission denied for .*\); start once/,
}

function block(number: number) {
  const hashOf = (number: number) => Buffer.alloc(32, number) as Uint8Array as Hash32
  const blockDiff = Buffer.from(`block diff ${number}`)
  return {
    kind: 'block',
    block: { number, hash: hashOf(number) },
    parentHash: hashOf(number - 1),
    blockDiff: blockDiff,
  } as const
}

t.test('users who make no tables use those that are there', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t)
  const { url: owner } = postgres
  const user = await makeUser(postgres, 'gateway')
  const keysAt = async (t: Test, url: string, schema: string, folder = makeFolder(t)) => {
    const paths = { path: join(folder, 'keys.mdb'), pepperPath: join(folder, 'pepper') }
    const keys = await SharedKeys.open({ url, schema, mapBytes: 2 ** 30, ...paths }, { mustAnswer: true })
    t.teardown(() => keys.close())
    return { keys, folder, pepper: Pepper.openShared(keys.store.readPepperFingerprint(), paths.pepperPath) }
  }

  t.test('the writer and the replica of a feed', async (t) => {
    const address = (url: string) => ({ url, schema: 'feed' })
    await t.rejects(PostgresLog.connect(address(user), chain, true), mayNot)
    await (await PostgresLog.connect(address(owner), chain, true)).close()
    await t.rejects(PostgresLog.connect(address(user), chain, true), UnreachableError, 'without any right')
    await grant(postgres, 'gateway', writes, 'feed')
    const log = await PostgresLog.connect(address(user), chain, true)
    t.teardown(() => log.close())
    const epoch = (await log.acquire('one', 60_000)) ?? 0
    await log.append(epoch, 0, [block(1), block(2), block(3)])
    await log.renew(epoch, 'one', 60_000)
    await log.trim(epoch, 1)

    const reader = await makeUser(postgres, 'reader')
    await grant(postgres, 'reader', 'select', 'feed')
    const replica = await PostgresLog.connect(address(reader), chain, false)
    t.teardown(() => replica.close())
    t.match(await replica.readTip(), { sequence: 3, head: { number: 3 } })
    t.match(await replica.read(2), [{ sequence: 3, block: { number: 3 } }])
    await log.release(epoch)
  })

  t.test('shared keys and their quotas', async (t) => {
    await t.rejects(keysAt(t, user, 'keys'), mayNot)
    const first = await keysAt(t, owner, 'keys')
    await grant(postgres, 'gateway', writes, 'keys')
    const folder = makeFolder(t)
    copyFileSync(join(first.folder, 'pepper'), join(folder, 'pepper'))
    const { keys, pepper } = await keysAt(t, user, 'keys', folder)
    const { key } = await keys.change((store) => createKey(store, pepper, { name: 'shop' }, 'ann'))
    await keys.change((store) => revokeKey(store, key.id, 'ann'))
    t.ok(findKey(keys.store, key.id).revokedAtMs)
    const lease = (wanted: number) =>
      keys.use((connection) =>
        connection.query('select granted::int from exchange_lease($1, $2, 0, $3, 15000, 10, 100, null)', [
          key.id,
          'a process',
          wanted,
        ]),
      )
    t.strictSame(await lease(7), [{ granted: 7 }])
    t.strictSame(await lease(-1), [{ granted: 0 }])
    await keys.use((connection) =>
      connection.query("insert into process (name, until) values ('a process', now())"),
    )
    await keys.use((connection) => connection.query('delete from process'))
  })

  t.test('a shared queue', async (t) => {
    const address = (url: string) => ({ url, schema: 'queue' })
    await t.rejects(openSharedQueue(t, address(user)), mayNot)
    await (await openSharedQueue(t, address(owner))).close()
    await grant(postgres, 'gateway', writes, 'queue')
    const queue = await openSharedQueue(t, address(user), { limits: { settledMax: 0 } })
    const sequencer = await startSequencer(t)
    queue.forward({ url: `${sequencer.origin}/rpc` })
    const hash = await queue.submit(makeTransaction(1, 0))
    await queue.reaches(hash, 'ACCEPTED')
    await queue.queue.sweep()
    t.equal(await queue.queue.readRow(hash), undefined)
  })

  t.test('a schema that was made for them', async (t) => {
    await postgres.query('create schema made; grant usage, create on schema made to gateway')
    const { keys, pepper } = await keysAt(t, user, 'made')
    await keys.change((store) => createKey(store, pepper, { name: 'shop' }, 'ann'))
    t.ok(findKey(keys.store, 'shop'))
  })
})
