// @shares
/** Rows that were written before submissions were kept by key: they are read, sent and judged as others. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pack } from 'msgpackr'
import t, { type Test } from 'tap'
import { Connection } from '../../../src/data/postgres/connection.js'
import { openEnvironment, openTable } from '../../../src/data/store/lmdb/environment.js'
import { NodeStore } from '../../../src/data/store/node/nodeStore.js'
import { nobody, quantityToWord } from '../../../src/data/store/node/submissions.js'
import { numberKey } from '../../../src/data/store/tables.js'
import type { Felt } from '../../../src/serving/rollup/felt.js'
import { migrations } from '../../../src/serving/rollup/sharedSchema.js'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { Dice } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { ModelSequencer } from '../../rollup/modelSequencer.js'
import {
  callerOf,
  chainId,
  hashOf,
  keyIdOf,
  type OpenQueue,
  openQueue,
  openSharedQueue,
} from '../../rollup/queues.js'

const states = ['RECEIVED', 'SENT', 'ACCEPTED', 'REJECTED'] as const

/** One row of each state, of one sender. */
const before = states.map((state, at) => {
  const transaction = makeTransaction(7, at)
  const times = { receivedAtMs: Date.now() - 1_000 + at, changedAtMs: Date.now() - 500 + at }
  return {
    state,
    at,
    hash: hashOf(transaction),
    body: JSON.stringify(transaction),
    nonce: `0x${at.toString(16)}`,
    ...times,
  }
})

/** Looks at them, and has them delivered. */
async function checkRows(t: Test, queue: OpenQueue): Promise<void> {
  const someone = callerOf(5)
  t.match(queue.queue.counts(), { waiting: 2, settled: 2 })
  for (const { hash, state, nonce } of before) {
    for (const key of [nobody, someone.keyId]) {
      t.match(await queue.queue.readRow(hash, key), { state, nonce, sender: '0x7', key: nobody, digest: '' })
      t.equal((await queue.queue.readTransaction(hash, key))?.nonce, nonce)
    }
  }
  t.strictSame((await queue.queue.readRow(hashOf(makeTransaction(7, 3))))?.rejection, {
    code: 55,
    text: 'why',
  })
  // Whoever submits it again has a row of its own.
  const [received] = before
  if (received === undefined) return
  t.equal(await queue.submit(makeTransaction(7, 0), someone), received.hash)
  t.match(await queue.queue.readRow(received.hash, someone.keyId), { key: keyIdOf(5), state: 'RECEIVED' })
  const sequencer = new ModelSequencer(new Dice(1))
  queue.forward({ client: sequencer.client() })
  await waitFor('all to be judged', () => queue.queue.counts().waiting === 0)
  for (const { hash, state } of before) {
    const end = state === 'REJECTED' ? state : 'ACCEPTED'
    await waitFor(`${hash} to be ${end}`, async () => (await queue.queue.readRow(hash))?.state === end)
  }
  t.equal(queue.queue.counts().settled, 5)
  await queue.queue.sweep(Date.now() + 10 * 3_600_000)
  t.equal(queue.queue.counts().settled, 0, 'none is kept for ever')
}

t.test('in the node store', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'node.mdb')
  const mapBytes = 2 ** 30
  const made = NodeStore.open({ path, mapBytes })
  made.openSubmissions('roll', chainId)
  await made.close()
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  const put = (table: string, key: readonly Uint8Array[], value: Uint8Array) =>
    openTable(environment, table)?.putSync(Buffer.concat(key), value)
  const network = Buffer.from('roll\0')
  const sender = quantityToWord('0x7')
  for (const { state, at, hash, body, nonce, receivedAtMs, changedAtMs } of before) {
    const word = quantityToWord(hash)
    const none = new Uint8Array(0)
    const rejection = state === 'REJECTED' ? [55, 'why'] : [null, null]
    const place = [sender, quantityToWord(nonce as Felt)]
    put(
      'submissions',
      [network, word],
      pack([at, ...place, receivedAtMs, changedAtMs, body.length, ...rejection]),
    )
    put('submissionBodies', [network, word], Buffer.from(body))
    if (at < 2) put('submissionNonces', [network, ...place], word)
    else put('submissionsSettled', [network, numberKey(changedAtMs), word], none)
  }
  put('meta', [Buffer.from('schema')], pack(3))
  await environment.close()
  for (let round = 0; round < 2; round++) await openQueue(t, folder).close()
  await checkRows(t, openQueue(t, folder))
})

t.test('in PostgreSQL', { skip: withoutPostgres }, async (t) => {
  const { url, query } = await startPostgres(t)
  const schema = `queue_${randomUUID()}`
  const old = await Connection.open({ url, schema })
  t.teardown(() => old.close())
  await old.migrate(migrations.slice(0, 1), {
    text: `with made as (insert into queue (chain_id, version, waiting, waiting_bytes, settled) values ($1, 4, 2, $2, 2))
      insert into lease default values`,
    values: [chainId, before[0] && 2 * before[0].body.length],
  })
  for (const { state, at, hash, body, nonce, receivedAtMs, changedAtMs } of before) {
    await query(
      `insert into "${schema}".submission (hash, state, sender, nonce, received_at_ms, changed_at_ms, body_bytes, code,
        reason, version, body) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        ...[hash, '0x7', nonce]
          .map((felt) => Buffer.from(quantityToWord(felt as Felt)))
          .toSpliced(1, 0, state as never),
        ...[receivedAtMs, changedAtMs, body.length],
        ...(state === 'REJECTED' ? [55, 'why'] : [null, null]),
        ...[at + 1, body],
      ],
    )
  }
  await (await openSharedQueue(t, { url, schema })).close()
  await checkRows(t, await openSharedQueue(t, { url, schema }))
  // A process of the release before, whose connection is older than the tables.
  await t.rejects(old.query('select version, waiting, waiting_bytes, settled from queue for update'), {
    name: 'UnreachableError',
  })
})
