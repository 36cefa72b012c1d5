// @shares
/** Two keys at the program itself, over HTTP and WebSocket, on one edge and on two. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { hashOf } from '../../rollup/queues.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { adminOf } from '../../service/adminClient.js'
import { createKeys } from '../../service/keyedDemo.js'
import { writeConfig } from '../../service/program.js'
import { type RpcAnswer, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

/** The program with two keys, whose sequencer refuses signatures other than `0x1`. */
async function startKeyed(t: Test, settings: object, upstream: object) {
  const sequencer = await startSequencer(t)
  await sequencer.order({ kind: 'react', always: { kind: 'verify' } })
  const folder = makeFolder(t)
  const network = { name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA', idempotent: true }
  const config = writeConfig(folder, {
    dataDir: 'data',
    logLevel: 'error',
    networks: [{ ...network, upstream: { url: `${sequencer.origin}/rpc`, ...upstream } }],
    ...settings,
  })
  const [victim = '', attacker = '', reader = ''] = await createKeys(join(folder, 'data'), ['a', 'b', 'c'])
  const service = await startService(['--config', config])
  t.teardown(() => service.stop())
  const call = async (key: string, method: string, params: unknown) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: `rollupx_${method}`, params })
    return JSON.parse((await service.post(`/roll/v3/${key}`, body)).text) as RpcAnswer
  }
  const submit = (key: string, transaction: unknown) =>
    call(key, 'addInvokeTransaction', { invoke_transaction: transaction })
  const status = async (key: string, hash: string) =>
    (await call(key, 'getTransactionStatus', [hash])).result?.queue_status
  return { sequencer, service, folder, victim, attacker, reader, call, submit, status }
}

t.test('what a key was answered a hash for outlasts the attacks of another during an outage', async (t) => {
  const { sequencer, victim, attacker, submit, status } = await startKeyed(t, {}, { mode: 'accept' })
  await sequencer.order({ kind: 'stop' })
  const dear = { tip: '0x100', signature: ['0x9'] }
  const hashes: string[] = []
  for (let nonce = 4; nonce < 8; nonce++) {
    const transaction = makeTransaction(7, nonce)
    const wrong = { ...transaction, signature: ['0x9'] }
    // The same hash, before the submission with the right signature.
    t.match((await submit(attacker, wrong)).result, { transaction_hash: /^0x/ })
    const { result } = await submit(victim, transaction)
    hashes.push(result.transaction_hash)
    // A transaction with higher fees in its place, and one with a lower nonce.
    const l2_gas = { max_amount: '0x5', max_price_per_unit: '0xffff' }
    const dearer = { ...transaction, ...dear, resource_bounds: { ...transaction.resource_bounds, l2_gas } }
    await submit(attacker, dearer)
    await submit(attacker, makeTransaction(7, nonce - 4, { signature: ['0x9'] }))
  }
  await sequencer.order({ kind: 'start' })
  for (const hash of hashes) {
    const ends = async () => /ACCEPTED|REJECTED/.exec(await status(victim, hash))?.[0]
    t.equal(await waitFor('its verdict', ends), 'ACCEPTED')
  }
  t.strictSame(
    (await sequencer.report()).accepted.map(({ key }) => key.split('/')[1]),
    ['0x4', '0x5', '0x6', '0x7'],
    'each once, in order, and nothing else',
  )
})

t.test('a wait of one key does not make the server unready, a sequencer that is away does', async (t) => {
  const admin = { port: 0, queueAgeMsMax: 1_000 }
  const upstream = { mode: 'accept', unknownAnswersMax: 1_000 }
  const { sequencer, service, attacker, folder, submit } = await startKeyed(
    t,
    { admin, logLevel: 'info' },
    upstream,
  )
  const listener = await adminOf(service, join(folder, 'data'))
  const queueAge = async () => JSON.parse((await listener.get('/ready')).text).checks.queueAge
  await sequencer.order({ kind: 'react', always: { kind: 'error', code: 1_000, message: 'a gap' } })
  await submit(attacker, makeTransaction(7, 0))
  await waitFor('it to wait for long', async () => {
    const health = await (await fetch(`${service.origin}/health`)).json()
    return (health as Health).networks.roll.oldestWaitingMs > 1_500
  })
  t.equal(await queueAge(), 'ok')
  await sequencer.order({ kind: 'stop' })
  // The one that waited is tried seldom by now.
  for (let sender = 1; sender <= 3; sender++) await submit(attacker, makeTransaction(sender, 0))
  t.equal(await waitFor('a failure', async () => (await queueAge()) === 'failing'), true)
})

interface Health {
  readonly networks: { readonly roll: { readonly oldestWaitingMs: number } }
}

for (const edges of process.platform === 'linux' ? [1, 2] : [1]) {
  t.test(`each key gets the verdict on its own submission, edges: ${edges}`, async (t) => {
    const started = await startKeyed(t, { edges }, { waitMs: 20_000 })
    const { sequencer, service, victim, attacker, reader, call, submit, status } = started
    const invalid = { code: 55, message: 'Account validation failed', data: 'Account validation failed' }

    for (let nonce = 0; nonce < 4; nonce++) {
      const wrong = makeTransaction(7, nonce, { signature: ['0x9'] })
      t.strictSame((await submit(attacker, wrong)).error, invalid)
      const { result } = await submit(victim, makeTransaction(7, nonce))
      t.match(result, { transaction_hash: /^0x/ }, 'whatever the attacker was answered')
      const hash = result.transaction_hash
      t.equal(await status(attacker, hash), 'REJECTED', 'each sees its own')
      t.equal(await status(victim, hash), 'ACCEPTED')
      t.equal(await status(reader, hash), 'ACCEPTED', 'who has none sees what the sequencer accepted')
      const signed = async (key: string) => (await call(key, 'getTransactionByHash', [hash])).result.signature
      t.strictSame(await signed(victim), ['0x1', '0x2'])
      t.strictSame(await signed(attacker), ['0x9'])
    }

    // A subscription reports submissions of others only until its own key submits the hash.
    await sequencer.order({ kind: 'react', next: [{ kind: 'verify' }], always: { kind: 'hold' } })
    const { result } = await call(reader, 'chainId', [])
    t.match(result, /^0x/)
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/roll/ws/v3/${victim}`)
    t.teardown(() => client.cut())
    const wrong = makeTransaction(7, 4, { signature: ['0x9'] })
    t.strictSame((await submit(attacker, wrong)).error, invalid)
    const own = submit(victim, makeTransaction(7, 4))
    const hash = await waitFor('its hash', async () =>
      (await sequencer.report()).arrivals.length >= 10 ? hashOf(makeTransaction(7, 4)) : undefined,
    )
    client.send(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'rollupx_subscribeTransactionStatus', params: [hash] }),
    )
    const next = async () => JSON.parse((await client.next()) ?? '{}')
    t.match(await next(), { id: 1, result: /^0x/ })
    t.match(await next(), { params: { result: { status: { queue_status: 'SENT' } } } })
    await sequencer.order({ kind: 'react', always: { kind: 'verify' } })
    t.match(await next(), { params: { result: { status: { queue_status: 'ACCEPTED' } } } })
    t.match((await own).result, { transaction_hash: hash })
  })
}
