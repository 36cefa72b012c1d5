// @shares
/** The meaning of each answer of a sequencer for a transaction. */
import t from 'tap'
import { waitFor } from '../../library/until.js'
import { forms, startForwarding } from '../../rollup/forwardingSequencer.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { chainId, hashOf, openQueue } from '../../rollup/queues.js'
import type { RawAnswer, Reaction } from '../../rollup/sequencer.js'

const { sequencer, urls, newSender, arrivalsOf } = await startForwarding(t)

const timesAsked = async (hash: string) =>
  (await sequencer.report()).asked.filter((each) => each === hash).length

/** Forms in which a sequencer reports that it has the requested transaction. */
const presentIn = {
  rpc: '{"result":{"finality_status":"RECEIVED"}}',
  gateway: '{"tx_status":"RECEIVED"}',
} as const

t.test('taken under another hash is neither accepted nor rejected, and said to the operator', async (t) => {
  for (const form of forms) {
    const { queue, submit, reaches, forward, logged } = openQueue(t, t.testdir())
    forward({ url: urls[form], form })
    await sequencer.order({ kind: 'hash', chainId: '0x1' })
    const hash = await submit(makeTransaction(newSender(), 0))
    // From the second attempt on the sequencer reports it as known, by the hash that it has there.
    await waitFor('it to be asked', async () => (await timesAsked(hash)) >= 3)
    t.equal((await queue.readRow(hash))?.state, 'SENT', form)
    await sequencer.order({ kind: 'hash', chainId })
    t.match(logged, [new RegExp(`knows ${hash} as 0x.*; check the chain id of the network`)])
    await sequencer.order({ kind: 'say', next: [{ status: 200, body: presentIn[form] }] })
    await reaches(hash, 'ACCEPTED')
  }
})

t.test('only a result with our hash, and without an error, is an acceptance', async (t) => {
  const result = (hash: string) => `"result":{"transaction_hash":"${hash}"}`
  const error = '"error":{"code":-32603,"message":"internal"}'
  const bodies: readonly (readonly [status: number, body: (hash: string) => string])[] = [
    [200, () => `{"result":null,${error}}`],
    [200, (hash) => `{${result(hash)},${error}}`],
    [503, () => '{"result":null}'],
    [503, (hash) => `{${result(hash)}}`],
    [500, (hash) => `{${result(hash)}}`],
    [200, () => '{"result":null}'],
    [200, () => '{"result":true}'],
    [200, () => '{"result":{}}'],
    [200, () => `{${result('0x')}}`],
    [200, () => `{${result(`0x${'f'.repeat(64)}`)}}`],
    [200, () => '[]'],
    [200, () => ''],
  ]
  const gatewayBodies: typeof bodies = [
    [200, () => '{"code":"TRANSACTION_RECEIVED"}'],
    [200, () => '{"code":"TRANSACTION_RECEIVED","transaction_hash":null}'],
    [200, (hash) => `{"transaction_hash":"${hash}"}`],
    [502, (hash) => `{"code":"TRANSACTION_RECEIVED","transaction_hash":"${hash}"}`],
    [500, (hash) => `{"code":"TRANSACTION_RECEIVED","transaction_hash":"${hash}"}`],
  ]
  for (const [form, cases] of [
    ['rpc', bodies],
    ['gateway', gatewayBodies],
  ] as const) {
    const { submit, reaches, forward } = openQueue(t, t.testdir())
    forward({ url: urls[form], form, unknownAnswersMax: 10 })
    for (const [status, body] of cases) {
      const sender = newSender()
      const written = makeTransaction(sender, 0)
      await sequencer.order({
        kind: 'react',
        next: [{ kind: 'status', status, body: body(hashOf(written)) }],
      })
      await reaches(await submit(written), 'ACCEPTED')
      const { arrivals } = await arrivalsOf(sender)
      const seen = `${form} ${status} ${body('HASH')}`
      t.strictSame(
        arrivals.map(({ reaction }) => reaction),
        ['status', 'accept'],
        seen,
      )
    }
    const written = makeTransaction(newSender(), 0)
    const hash = hashOf(written)
    const padded = `0x0${hash.slice(2).toUpperCase()}`
    const body =
      form === 'rpc'
        ? `{${result(padded)},"error":null}`
        : `{"code":"TRANSACTION_RECEIVED","transaction_hash":"${padded}"}`
    await sequencer.order({ kind: 'react', next: [{ kind: 'status', status: 200, body }] })
    await reaches(await submit(written), 'ACCEPTED')
    t.notOk(
      (await sequencer.report()).accepted.some((each) => each.hash === hash),
      `${form}: our hash, written otherwise`,
    )
  }
})

t.test('only "not found" means that the sequencer does not have a transaction', async (t) => {
  const rpcAnswers: readonly RawAnswer[] = [
    { status: 429, body: '{"error":{"code":29,"message":"Transaction hash not found"}}' },
    { status: 403, body: '{"error":{"code":29}}' },
    { status: 200, body: '{"error":{"code":-32603,"message":"internal"}}' },
    { status: 200, body: '{"error":{"code":-32601,"message":"no such method"}}' },
    { status: 200, body: '{"result":null}' },
    { status: 200, body: 'null' },
    { status: 200, body: '<html>' },
    { status: 200, body: '{"result":{"finality_status":"SOMETHING"}}' },
  ]
  const gatewayAnswers: readonly RawAnswer[] = [
    { status: 429, body: '{"tx_status":"NOT_RECEIVED"}' },
    { status: 404, body: '' },
    { status: 400, body: '{"code":"StarknetErrorCode.TRANSACTION_NOT_FOUND"}' },
    { status: 200, body: 'null' },
    { status: 200, body: '<html>' },
  ]
  // An executed transaction whose answer was lost is refused for its nonce.
  await sequencer.order({ kind: 'forget', forgets: true })
  for (const [form, answers] of [
    ['rpc', rpcAnswers],
    ['gateway', gatewayAnswers],
  ] as const) {
    const { submit, reaches, forward, logged } = openQueue(t, t.testdir())
    forward({ url: urls[form], form })
    for (const answer of answers) {
      await sequencer.order({ kind: 'react', next: [{ kind: 'dropAfter' }] })
      await sequencer.order({ kind: 'say', next: [answer] })
      const hash = await submit(makeTransaction(newSender(), 0))
      await reaches(hash, 'ACCEPTED')
      t.ok((await timesAsked(hash)) >= 2, `${form} ${answer.status} ${answer.body}`)
      t.match(logged.pop(), new RegExp(`does not say whether it has ${hash} \\(.+\\); asking on`))
    }
  }
  await sequencer.order({ kind: 'forget', forgets: false })
})

t.test('a transport that refuses is no word on the transaction, whatever it says', async (t) => {
  for (const form of forms) {
    const { submit, reaches, forward } = openQueue(t, t.testdir())
    forward({ url: urls[form], form })
    const refusal =
      form === 'rpc'
        ? '{"error":{"code":55,"message":"Account validation failed"}}'
        : '{"code":"StarknetErrorCode.VALIDATE_FAILURE","message":""}'
    const next: Reaction[] = [401, 403, 404, 408, 429, 502, 503, 504].map((status) => ({
      kind: 'status',
      status,
      body: refusal,
    }))
    if (form === 'rpc') {
      for (const code of [-32005, -32097, 429]) next.push({ kind: 'error', code, message: 'rate limit' })
    } else {
      const code = 'StarknetErrorCode.TRANSACTION_LIMIT_EXCEEDED'
      next.push({ kind: 'gatewayError', status: 400, code, message: '' })
    }
    // Each transaction has its own sender, so that the pause after a failed attempt does not delay others.
    for (const reaction of next) {
      const sender = newSender()
      await sequencer.order({ kind: 'react', next: [reaction] })
      await reaches(await submit(makeTransaction(sender, 0)), 'ACCEPTED')
      t.strictSame(
        (await arrivalsOf(sender)).arrivals.map((each) => each.reaction),
        [reaction.kind, 'accept'],
        `${form} ${JSON.stringify(reaction)}`,
      )
    }
  }
})

t.test('nobody is asked before the time that Retry-After names, in seconds or as a date', async (t) => {
  const { submit, reaches, forward } = openQueue(t, t.testdir())
  forward({ url: urls.rpc, inFlightMax: 1 })
  const first = newSender()
  const other = newSender()
  for (const [status, retryAfter, date, waitMs] of [
    [429, '1', undefined, 1_000],
    [503, 'Wed, 21 Oct 2015 07:28:02 GMT', 'Wed, 21 Oct 2015 07:28:00 GMT', 2_000],
    [200, '1', undefined, 1_000],
  ] as const) {
    const headers = { 'retry-after': retryAfter, ...(date !== undefined && { date }) }
    const body = '{"error":{"code":-32005,"message":"too many requests"}}'
    await sequencer.order({ kind: 'react', next: [{ kind: 'status', status, body, headers }] })
    const nonce = waitMs + status
    const hash = await submit(makeTransaction(first, nonce))
    await reaches(await submit(makeTransaction(other, nonce)), 'ACCEPTED')
    await reaches(hash, 'ACCEPTED')
    const { arrivals } = await sequencer.report()
    const [refused, ...later] = arrivals.slice(
      arrivals.findLastIndex(({ reaction }) => reaction === 'status'),
    )
    const soonestMs = Math.min(...later.map(({ atMs }) => atMs))
    t.ok(soonestMs - (refused?.atMs ?? Number.NaN) >= waitMs, `${status} ${retryAfter}`)
  }
})

t.test(
  'an answer that nobody understands is a refusal after so many, and frees the next nonces',
  async (t) => {
    for (const form of forms) {
      const { queue, submit, reaches, forward, logged } = openQueue(t, t.testdir())
      forward({ url: urls[form], form, unknownAnswersMax: 3 })
      const sender = newSender()
      const unknown: Reaction =
        form === 'rpc'
          ? { kind: 'error', code: 4711, message: 'strange', data: { why: 'so' } }
          : { kind: 'gatewayError', status: 500, code: 'StarknetErrorCode.STRANGE', message: 'so' }
      await sequencer.order({ kind: 'react', next: [unknown, unknown, unknown] })
      const first = await submit(makeTransaction(sender, 0))
      const second = await submit(makeTransaction(sender, 1))
      await reaches(second, 'ACCEPTED')
      const text = form === 'rpc' ? '4711: strange: {"why":"so"}' : 'STRANGE: so'
      t.strictSame((await queue.readRow(first))?.rejection, { code: 63, text })
      t.strictSame(
        logged,
        [1, 2, 3].map((n) => `unknown answer ${n} of 3 of the sequencer to ${first}: ${text}`),
      )
      // The status has no word of the interface, and is about this request alone.
      await sequencer.order({
        kind: 'react',
        next: Array.from({ length: 3 }, () => ({ kind: 'status', status: 413, body: '<html>' })),
      })
      const third = await submit(makeTransaction(sender, 2))
      await reaches(third, 'REJECTED')
      t.strictSame((await queue.readRow(third))?.rejection, { code: 63, text: 'HTTP status 413' })
    }
  },
)

t.test(
  'a transaction that got through in spite of answers that nobody understands is accepted',
  async (t) => {
    const { submit, reaches, forward } = openQueue(t, t.testdir())
    const unknown: Reaction = { kind: 'error', code: 4711, message: 'strange' }
    await sequencer.order({ kind: 'react', next: [{ kind: 'dropAfter' }, unknown, unknown, unknown] })
    forward({ url: urls.rpc, unknownAnswersMax: 3 })
    await reaches(await submit(makeTransaction(newSender(), 0)), 'ACCEPTED')
  },
)

t.test('an invalid nonce is no refusal of a transaction that the sequencer has from others', async (t) => {
  const { submit, reaches, forward } = openQueue(t, t.testdir())
  forward({ url: urls.rpc })
  await sequencer.order({ kind: 'react', next: [{ kind: 'error', code: 52, message: 'Invalid nonce' }] })
  await sequencer.order({ kind: 'say', next: [{ status: 200, body: presentIn.rpc }] })
  await reaches(await submit(makeTransaction(newSender(), 0)), 'ACCEPTED')
})

t.test('every error of a JSON-RPC sequencer', async (t) => {
  const { queue, submit, reaches, forward } = openQueue(t, t.testdir())
  forward({ url: urls.rpc })
  for (const code of [52, 53, 54, 55, 58, 61, 63, 64, 65, 69]) {
    await sequencer.order({
      kind: 'react',
      next: [{ kind: 'error', code, message: 'its message', data: 'its data' }],
    })
    const hash = await submit(makeTransaction(newSender(), 0))
    await reaches(hash, 'REJECTED')
    const text = code === 55 || code === 63 ? 'its data' : undefined
    t.strictSame((await queue.readRow(hash))?.rejection, { code, text }, `${code}`)
  }
  await sequencer.order({ kind: 'react', next: [{ kind: 'error', code: -32602, message: 'bad felt' }] })
  const hash = await submit(makeTransaction(newSender(), 0))
  await reaches(hash, 'REJECTED')
  t.strictSame((await queue.readRow(hash))?.rejection, { code: 63, text: 'bad felt' })
  await sequencer.order({ kind: 'react', next: [{ kind: 'error', code: 59, message: 'known' }] })
  await reaches(await submit(makeTransaction(newSender(), 0)), 'ACCEPTED')
})

t.test('every error of a gateway', async (t) => {
  const { queue, submit, reaches, forward } = openQueue(t, t.testdir())
  forward({ url: urls.gateway, form: 'gateway' })
  const cases: readonly (readonly [
    status: number,
    name: string,
    message: string,
    code: number,
    text?: string,
  ])[] = [
    [400, 'StarknetErrorCode.INSUFFICIENT_ACCOUNT_BALANCE', 'poor', 54],
    [400, 'StarknetErrorCode.INSUFFICIENT_MAX_FEE', 'low', 53],
    [400, 'StarknetErrorCode.INVALID_TRANSACTION_NONCE', 'got 5', 52],
    [500, 'StarknetErrorCode.VALIDATE_FAILURE', 'bad signature', 55, 'bad signature'],
    [400, 'StarknetErrorCode.VALIDATE_FAILURE', 'Invalid transaction nonce. Expected: 5', 52],
    [400, 'INVALID_TRANSACTION_VERSION', '', 61],
    [400, 'StarknetErrorCode.ENTRY_POINT_NOT_FOUND_IN_CONTRACT', '', 58],
    [400, 'StarknetErrorCode.INVALID_PROOF', '', 69],
    [400, 'StarknetErrorCode.OUT_OF_RANGE_FEE', 'too much', 63, 'OUT_OF_RANGE_FEE: too much'],
    [400, 'StarkErrorCode.MALFORMED_REQUEST', '', 63, 'MALFORMED_REQUEST'],
  ]
  for (const [status, name, message, code, text] of cases) {
    await sequencer.order({ kind: 'react', next: [{ kind: 'gatewayError', status, code: name, message }] })
    const hash = await submit(makeTransaction(newSender(), 0))
    await reaches(hash, 'REJECTED')
    t.strictSame((await queue.readRow(hash))?.rejection, { code, text }, name)
  }
  const duplicate = {
    kind: 'gatewayError',
    status: 400,
    code: 'StarknetErrorCode.DUPLICATED_TRANSACTION',
  } as const
  await sequencer.order({ kind: 'react', next: [{ ...duplicate, message: '' }] })
  await reaches(await submit(makeTransaction(newSender(), 0)), 'ACCEPTED')
})
