// @shares
import { randomUUID } from 'node:crypto'
import { type AddressInfo, connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { FaultError } from '../../../src/primitives/faults.js'
import type { Felt } from '../../../src/serving/rollup/felt.js'
import { SharedDatabase } from '../../../src/serving/rollup/sharedDatabase.js'
import { SharedSubmissions } from '../../../src/serving/rollup/sharedSubmissions.js'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { once, until, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { chainId, limitsOfTests, NobodysDeliveries, openSharedQueue, refusal } from '../../rollup/queues.js'
import { startSequencer } from '../../rollup/sequencer.js'

const skip = withoutPostgres
const sender = '0x1' as Felt

/** A queue that does not exist yet. */
async function newAddress(test: Test) {
  const postgres = await startPostgres(test)
  return { postgres, address: { url: postgres.url, schema: `queue_${randomUUID()}` } }
}

t.test('processes have one queue: its transactions, places and limits', { skip }, async (t) => {
  const { address } = await newAddress(t)
  const limits = { waitingMax: 3 }
  const one = await openSharedQueue(t, address, { limits })
  const other = await openSharedQueue(t, address, { limits })
  const hash = await one.submit(makeTransaction(1, 0))
  t.match(await other.queue.readRow(hash), { state: 'RECEIVED' })
  t.equal((await other.queue.readTransaction(hash))?.nonce, '0x0')
  await t.rejects(other.submit(makeTransaction(1, 0)), refusal(59))
  await t.rejects(other.submit(makeTransaction(1, 0, { calldata: ['0x9'] })), refusal(52))
  const hashes = [hash, await other.submit(makeTransaction(1, 1)), await one.submit(makeTransaction(2, 0))]
  const full = { fault: { kind: 'SubmissionsFull' } }
  for (const { submit } of [one, other]) {
    t.match(await submit(makeTransaction(3, 0)).catch((error: FaultError) => error), full)
  }
  await waitFor('both to know', () => [one, other].every(({ queue }) => queue.counts().waiting === 3))
  for (const { queue } of [one, other]) {
    t.equal((await queue.readWaiting(2)).length, 2, 'as many as are asked for')
    t.same((await queue.readWaiting(9)).map((row) => row.hash).sort(), [...hashes].sort(), 'all that wait')
  }
  // A change by one process is reported in the other.
  const reported: string[] = []
  other.queue.onStatusOf(hash, ({ state }) => reported.push(state))
  await one.deliveries.settle(hash, undefined)
  await until(() => reported.length > 0)
  t.strictSame(reported, ['ACCEPTED'])
  t.equal(typeof (await other.submit(makeTransaction(3, 0))), 'string')
})

t.test('submissions of many processes at once are stored once each', { skip }, async (t) => {
  const { postgres, address } = await newAddress(t)
  const queues = await Promise.all([1, 2, 3].map(() => openSharedQueue(t, address, { idempotent: true })))
  const all = Array.from({ length: 600 }, (_, i) => makeTransaction(1 + (i % 50), Math.floor(i / 50)))
  const hashes = await Promise.all(all.flatMap((each) => queues.map(({ submit }) => submit(each))))
  const [row] = await postgres.query(
    `select count(*)::integer as rows, (select waiting::integer from "${address.schema}".queue) as waiting,
      (select waiting_bytes from "${address.schema}".queue) = sum(body_bytes) as has_bytes,
      bool_and(body_bytes = length(body)) as has_bodies from "${address.schema}".submission`,
  )
  t.equal(new Set(hashes).size, 600)
  t.strictSame(row, { rows: 600, waiting: 600, has_bytes: true, has_bodies: true })
})

t.test('a sender is served by nonce, whatever the same transaction changes', { skip }, async (t) => {
  const { address } = await newAddress(t)
  const { queue, submit, deliveries } = await openSharedQueue(t, address)
  const hashes = await Promise.all([2, 0, 1].map((nonce) => submit(makeTransaction(1, nonce))))
  const [second, zeroth, first] = hashes as [Felt, Felt, Felt]
  const [secondRow, zerothRow] = await Promise.all([second, zeroth].map((hash) => queue.readRow(hash)))
  if (secondRow === undefined || zerothRow === undefined) throw new Error('they are gone')
  const begun = await deliveries.beginSending(sender)
  t.equal(begun?.hash, zeroth)
  // All three calls become one transaction of the database.
  const [, next] = await Promise.all([
    deliveries.settle(zerothRow, undefined),
    deliveries.beginSending(sender),
    deliveries.settle(secondRow, { code: 55, text: 'no' }),
  ])
  t.equal(next?.hash, first)
})

t.test('one process sends, and another when it ends', { skip }, async (t) => {
  const { address } = await newAddress(t)
  const sequencer = await startSequencer(t)
  const url = `${sequencer.origin}/rpc`
  const one = await openSharedQueue(t, address)
  const other = await openSharedQueue(t, address)
  const turns = [one.forward({ url }), other.forward({ url })]
  await until(() => turns.some(({ forwarder }) => forwarder !== undefined))
  const early = await other.submit(makeTransaction(1, 0))
  await one.reaches(early, 'ACCEPTED')
  t.equal(turns.filter(({ forwarder }) => forwarder !== undefined).length, 1, 'never both')
  const [sending, waiting] = turns[0]?.forwarder === undefined ? [other, one] : [one, other]
  await sending.close()
  const late = await waiting.submit(makeTransaction(1, 1))
  await waiting.reaches(late, 'ACCEPTED')
  t.equal((await sequencer.report()).arrivals.length, 2)
})

t.test('who lost the lease can neither send nor write', { skip }, async (t) => {
  const { postgres, address } = await newAddress(t)
  const { submit, queue } = await openSharedQueue(t, address)
  const store = await SharedSubmissions.open(await openDatabase(t, address))
  const hash = await submit(makeTransaction(1, 0))
  await postgres.query(`update "${address.schema}".lease set epoch = 7`)
  const deliveriesOf = (epoch: number, isHeld: boolean) =>
    new NobodysDeliveries(
      store.fencedBy(epoch, () => isHeld),
      limitsOfTests,
      queue,
    )
  const fenced = { name: 'FencedError' }
  for (const epoch of [6, 8]) {
    await t.rejects(deliveriesOf(epoch, true).beginSending(sender), fenced)
    await t.rejects(deliveriesOf(epoch, true).settle(hash, undefined), fenced)
  }
  t.match(await queue.readRow(hash), { state: 'RECEIVED' })
  // By the sender's own clock its lease is over, so it may not send transactions that it has set to SENT.
  await t.rejects(deliveriesOf(7, false).beginSending(sender), fenced)
  t.match(await deliveriesOf(7, true).beginSending(sender), { hash, wasSent: true })
})

t.test('without its database everything is refused at once, and goes on by itself', { skip }, async (t) => {
  const { postgres, address } = await newAddress(t)
  const sequencer = await startSequencer(t)
  const { submit, queue, forward, reaches } = await openSharedQueue(t, address)
  const turn = forward({ url: `${sequencer.origin}/rpc` })
  const stored = await submit(makeTransaction(1, 0))
  await reaches(stored, 'ACCEPTED')
  await postgres.kill()
  const refused = await waitFor('a refusal', () =>
    submit(makeTransaction(1, 1)).then(
      () => undefined,
      (error: FaultError) => error,
    ),
  )
  t.match(refused, { fault: { kind: 'NotStored', retryAfterMs: 500 } })
  const unread = await Promise.resolve(queue.readRow(stored)).catch((error: FaultError) => error)
  t.match(unread, { fault: { kind: 'SubmissionsUnread' } })
  await until(() => turn.forwarder === undefined)
  await postgres.start()
  const late = await waitFor('the database', () => submit(makeTransaction(1, 1)).catch(() => undefined))
  await waitFor('the sequencer', async () => {
    const row = await Promise.resolve(queue.readRow(late)).catch(() => undefined)
    return row?.state === 'ACCEPTED'
  })
  t.match(await queue.readRow(stored), { state: 'ACCEPTED' })
})

/** A connection to the database. If `isCutting`, it is cut as soon as a transaction's last statement has passed. */
async function cutAtCommit(t: Test, url: string) {
  const way = { isCutting: false, url: '' }
  const { hostname, port } = new URL(url)
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const end of [near, far]) end.on('error', () => end.destroy())
    far.pipe(near)
    near.on('close', () => far.destroy())
    near.on('data', (bytes) => {
      // A message with this text alone: its length in bytes, the text, a zero byte.
      if (!way.isCutting || !bytes.includes('\x0bcommit\0')) return far.write(bytes)
      far.unpipe(near)
      // The answer shows that the database got the statement.
      far.once('data', () => near.destroy()).resume()
      return far.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const own = new URL(url)
  own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  way.url = own.href
  return way
}

t.test('a transaction whose commit was not answered may have been stored', { skip }, async (t) => {
  const { address } = await newAddress(t)
  const way = await cutAtCommit(t, address.url)
  const { submit, queue } = await openSharedQueue(t, { ...address, url: way.url }, { idempotent: true })
  const transaction = makeTransaction(1, 0)
  way.isCutting = true
  const refused = await submit(transaction).catch((error: FaultError) => error)
  t.match(refused, { fault: { kind: 'NotStored', retryAfterMs: 500, isUnsure: true } })
  way.isCutting = false
  const hash = await waitFor('the database', () => submit(transaction).catch(() => undefined))
  t.match(await queue.readRow(hash), { state: 'RECEIVED' })
  t.equal(queue.counts().waiting, 1, 'stored once')
})

t.test('answers wait for the disk, whatever the database is set to', { skip }, async (t) => {
  const { postgres, address } = await newAddress(t)
  await postgres.query('alter role tidegate set synchronous_commit to off')
  const database = await openDatabase(t, address)
  const setting = await database.transaction((writes) => writes.query('show synchronous_commit'))
  t.strictSame(setting, [{ synchronous_commit: 'on' }])
})

t.test('a queue of another chain is refused', { skip }, async (t) => {
  const { address } = await newAddress(t)
  await openDatabase(t, address)
  await t.rejects(
    SharedDatabase.open(address, '0x1' as Felt, () => undefined),
    {
      name: 'OperatorError',
      message: /keeps transactions of chain 0x\w+, and the chain id is 0x1 now/,
    },
  )
})

async function openDatabase(test: Test, address: { readonly url: string; readonly schema: string }) {
  const database = await SharedDatabase.open(address, chainId, () => undefined)
  test.teardown(() => database.close())
  return database
}
