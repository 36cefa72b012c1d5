// @shares
import t, { type Test } from 'tap'
import { UnreachableError } from '../../../../src/data/postgres/connection.js'
import { FencedError } from '../../../../src/data/postgres/lease.js'
import { bytesToHex, type Hash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { type FeedEvent, MovedError, TrimmedError } from '../../../../src/sources/feed/blockDiffLog.js'
import { PostgresLog } from '../../../../src/sources/feed/postgresLog.js'
import { type Postgres, postgresBinaries, startPostgres, withoutPostgres } from '../../../feed/postgres.js'
import { until } from '../../../library/until.js'

const leaseMs = 600_000

function hashOf(name: string): Hash32 {
  return keccak256(Buffer.from(name))
}

const chain = { chainId: '7357', genesisHash: bytesToHex(hashOf('block 0')) }

function block(
  number: number,
  branch = '',
  blockDiff: Uint8Array = Buffer.from(`block diff ${number}${branch}`),
): FeedEvent {
  const parent = branch === '' || number % 10 > 0 ? `block ${number - 1}${branch}` : `block ${number - 1}`
  const name = { number, hash: hashOf(`block ${number}${branch}`) }
  return { kind: 'block', block: name, parentHash: hashOf(parent), blockDiff }
}

function unwind(number: number): FeedEvent {
  return { kind: 'unwind', block: { number, hash: hashOf(`block ${number}`) } }
}

async function connect(t: Test, { url }: Postgres, schema: string, isWriter = true): Promise<PostgresLog> {
  const log = await PostgresLog.connect({ url, schema }, chain, isWriter)
  t.teardown(() => log.close())
  return log
}

t.test('a log of block diffs in PostgreSQL', { skip: withoutPostgres }, async (t) => {
  for (const binaries of postgresBinaries) {
    await t.test(`that of ${binaries}`, async (t) => checkLog(t, await startPostgres(t, { binaries })))
  }
})

async function checkLog(t: Test, postgres: Postgres): Promise<void> {
  t.test('gives entries back in order, whole and with consecutive numbers', async (t) => {
    const writer = await connect(t, postgres, 'tidegate_order')
    const reader = await connect(t, postgres, 'tidegate_order', false)
    t.match(await reader.readTip(), { sequence: 0, head: undefined, epoch: 0 })
    const epoch = (await writer.acquire('one', leaseMs)) ?? 0
    t.equal(epoch, 1)
    const large = Buffer.alloc(5 * 2 ** 20, 'not all of it is compressed away')
    for (let at = 0; at < large.length; at += 8) large.writeDoubleLE(Math.sin(at), at)
    const events: FeedEvent[] = [
      block(1),
      block(2, '', large),
      unwind(1),
      block(2, 'b'),
      { ...unwind(1), kind: 'safe' } as FeedEvent,
    ]
    await writer.append(epoch, 0, events.slice(0, 2))
    await writer.append(epoch, 2, events.slice(2))
    const entries = [...(await reader.read(0))]
    while (entries.length < events.length) entries.push(...(await reader.read(entries.length)))
    t.strictSame(
      entries.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5],
    )
    for (const [index, event] of events.entries()) {
      const entry = entries[index]
      t.equal(entry?.kind, event.kind)
      t.equal(entry?.block.number, event.block.number)
      t.ok(Buffer.from(event.block.hash).equals(entry?.block.hash as Uint8Array))
      if (event.kind !== 'block' || entry?.kind !== 'block') continue
      t.ok(Buffer.from(event.blockDiff).equals(entry.blockDiff))
      t.ok(Buffer.from(event.parentHash).equals(entry.parentHash))
    }
    t.strictSame(await reader.read(5), [])
    const tip = await reader.readTip()
    t.match(tip, { sequence: 5, head: { number: 2 }, safe: { number: 1 }, finalized: undefined, epoch: 1 })
    t.ok(tip.leaseMsLeft > 0)
  })

  t.test('refuses whoever has not the newest epoch, and writes nothing of it', async (t) => {
    const first = await connect(t, postgres, 'tidegate_fence')
    const second = await connect(t, postgres, 'tidegate_fence')
    const old = (await first.acquire('first', 0)) ?? 0
    await first.append(old, 0, [block(1)])
    const epoch = (await second.acquire('second', leaseMs)) ?? 0
    t.equal(epoch, old + 1)
    t.equal(await first.acquire('first', leaseMs), undefined, 'the lease holds')
    await t.rejects(first.append(old, 1, [block(2)]), FencedError)
    await t.rejects(first.renew(old, 'first', leaseMs), FencedError)
    await first.release(old)
    await first.trim(old, 0)
    t.match(await second.readTip(), { sequence: 1, epoch })
    await second.append(epoch, 1, [block(2)])
    t.equal((await second.read(0)).length, 2)
    await t.rejects(second.append(epoch, 1, [block(2)]), MovedError, 'a number is given once')
    await t.rejects(first.append(old, 1, [block(2)]), FencedError, 'whatever the newest entry is')
    await second.release(epoch)
    t.equal(await first.acquire('first', leaseMs), epoch + 1)
  })

  t.test('two writers that race for a lease: one gets it', async (t) => {
    const logs = await Promise.all([1, 2, 3, 4].map(() => connect(t, postgres, 'tidegate_race')))
    const epochs = await Promise.all(logs.map((log, index) => log.acquire(`${index}`, leaseMs)))
    t.strictSame(
      epochs.filter((epoch) => epoch !== undefined),
      [1],
    )
  })

  t.test('a store goes on from what is said to be safe before the first block', async (t) => {
    const log = await connect(t, postgres, 'tidegate_safe')
    const epoch = (await log.acquire('one', leaseMs)) ?? 0
    const { block: genesis } = unwind(0)
    await log.append(epoch, 0, [{ kind: 'safe', block: genesis }])
    t.equal(await log.findPosition([hashOf('block 0')]), 0, 'without blocks')
    await log.append(epoch, 1, [block(1)])
    t.equal(await log.findPosition([hashOf('block 0')]), 1)
    t.equal(await log.findPosition([hashOf('block 1'), hashOf('block 0')]), 2)
    t.equal(await log.findPosition([hashOf('another')]), undefined)
  })

  t.test('finds where a store goes on', async (t) => {
    const log = await connect(t, postgres, 'tidegate_position')
    const position = (...names: string[]) => log.findPosition(names.map(hashOf))
    const epoch = (await log.acquire('one', leaseMs)) ?? 0
    await log.append(epoch, 0, [block(1), block(2), unwind(1), block(2, 'b'), unwind(1), block(2), block(3)])
    t.equal(await position('block 0'), 0, 'a store with the genesis alone')
    t.equal(await position('block 3', 'block 2', 'block 1', 'block 0'), 7)
    t.equal(await position('block 2', 'block 1', 'block 0'), 6, 'the last time that it was the head')
    t.equal(await position('block 2b', 'block 1', 'block 0'), 4, 'a head that was unwound')
    t.equal(await position('block 3c', 'block 2', 'block 1'), 6, 'a head that the log never had')
    t.equal(await position('of another chain'), undefined)
    await log.trim(epoch, 1)
    t.strictSame(
      (await log.read(6)).map(({ block }) => block.number),
      [3],
    )
    t.equal(await position('block 2'), 6, 'the parent of the oldest')
    t.equal(await position('block 1'), undefined)
    await t.rejects(log.read(3), TrimmedError)
  })

  t.test('tells readers of new entries', async (t) => {
    const writer = await connect(t, postgres, 'tidegate_news')
    const reader = await connect(t, postgres, 'tidegate_news', false)
    let news = 0
    reader.onNews(() => news++)
    const epoch = (await writer.acquire('one', leaseMs)) ?? 0
    await writer.append(epoch, 0, [block(1)])
    await until(() => news === 1)
    await writer.release(epoch)
    await until(() => news === 2)
    t.equal(news, 2)
  })

  t.test('is refused where it is of another chain, of a newer release, or not there', async (t) => {
    await connect(t, postgres, 'tidegate_other')
    const other = { ...chain, chainId: '1' }
    const { url } = postgres
    for (const isWriter of [true, false]) {
      await t.rejects(
        PostgresLog.connect({ url, schema: 'tidegate_other' }, other, isWriter),
        /is of the chain with id 7357 .*, not 1 and .*; name another schema/,
      )
    }
    await postgres.query('insert into tidegate_other.migration (version) values (1000)')
    await t.rejects(
      connect(t, postgres, 'tidegate_other'),
      /made by a newer release \(version 1000, this one knows 1\)/,
    )
    await t.rejects(connect(t, postgres, 'nothing here', false), UnreachableError)
  })

  t.test('a database that was killed has all that was appended', async (t) => {
    const writer = await connect(t, postgres, 'tidegate_kill')
    const epoch = (await writer.acquire('one', leaseMs)) ?? 0
    await writer.append(epoch, 0, [block(1), block(2)])
    let isReported = false
    writer.onNews(() => {
      isReported = true
    })
    await postgres.kill()
    await until(() => isReported)
    await t.rejects(writer.append(epoch, 2, [block(3)]), UnreachableError)
    await t.rejects(connect(t, postgres, 'tidegate_kill', false), UnreachableError)
    await postgres.start()
    const again = await connect(t, postgres, 'tidegate_kill')
    t.match(await again.readTip(), { sequence: 2, epoch })
    await again.append(epoch, 2, [block(3)])
    t.equal((await again.read(0)).length, 3)
  })
}
