// @shares
import t from 'tap'
import { until, waitFor } from '../../library/until.js'
import { forms, startForwarding } from '../../rollup/forwardingSequencer.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { queueStores, refusal } from '../../rollup/queues.js'

const { sequencer, urls, newSender, arrivalsOf } = await startForwarding(t)

for (const [where, open] of await queueStores(t)) {
  t.test(`a transaction arrives whole in either form, and has the same hash there, ${where}`, async (t) => {
    for (const form of forms) {
      const { submit, reaches, forward, logged } = await open(t, t.testdir())
      const forwarding = forward({ url: urls[form], form })
      await until(() => forwarding.forwarder !== undefined)
      t.equal(forwarding.forwarder?.isAnswered, undefined, 'it was not asked yet')
      const sender = newSender()
      const hash = await submit(
        makeTransaction(sender, 0, { signature: ['17'], proof_facts: ['0x5'], proof: 'AAAA' }),
      )
      await reaches(hash, 'ACCEPTED')
      t.equal(forwarding.forwarder?.isAnswered, true)
      const { arrivals, accepted } = await arrivalsOf(sender)
      t.strictSame(
        accepted.map((each) => each.hash),
        [hash],
        form,
      )
      const shape = makeTransaction(sender, 0, { signature: ['0x11'], proof_facts: ['0x5'], proof: 'AAAA' })
      const { l1_gas, l2_gas, l1_data_gas } = shape.resource_bounds
      const gatewayShape = {
        ...shape,
        type: 'INVOKE_FUNCTION',
        resource_bounds: { L1_GAS: l1_gas, L2_GAS: l2_gas, L1_DATA_GAS: l1_data_gas },
        nonce_data_availability_mode: 0,
        fee_data_availability_mode: 0,
      }
      t.strictSame(arrivals[0]?.transaction, form === 'rpc' ? shape : gatewayShape, form)
      t.strictSame(logged, [])
    }
  })

  t.test(`what is no word on the transaction is tried again, ${where}`, async (t) => {
    for (const form of forms) {
      const { submit, reaches, forward } = await open(t, t.testdir())
      forward({ url: urls[form], form, timeoutMs: 500 })
      const sender = newSender()
      await sequencer.order({
        kind: 'react',
        next: [
          { kind: 'status', status: 502, body: '<html>' },
          { kind: 'status', status: 429, body: '{}' },
          form === 'rpc'
            ? { kind: 'error', code: -32603, message: 'internal error' }
            : { kind: 'gatewayError', status: 500, code: 'StarkErrorCode.OUT_OF_DISK', message: '' },
          { kind: 'status', status: 200, body: 'null' },
          { kind: 'dropBefore' },
          { kind: 'stall', ms: 1_000 },
        ],
      })
      await reaches(await submit(makeTransaction(sender, 0)), 'ACCEPTED')
      const { arrivals, accepted } = await arrivalsOf(sender)
      t.equal(accepted.length, 1, form)
      // An answer that is dropped early may not have been read.
      t.ok(arrivals.length >= 6, `${form}: ${arrivals.length} arrivals`)
    }
  })

  t.test(`an answer that was lost does not lose or double the transaction, ${where}`, async (t) => {
    for (const form of forms) {
      for (const forgets of [false, true]) {
        const { submit, reaches, forward } = await open(t, t.testdir())
        await sequencer.order({ kind: 'forget', forgets })
        await sequencer.order({
          kind: 'react',
          next: [{ kind: 'dropAfter' }, { kind: 'accept' }, { kind: 'dropAfter' }],
        })
        forward({ url: urls[form], form })
        const sender = newSender()
        for (let nonce = 0; nonce < 3; nonce++) {
          await reaches(await submit(makeTransaction(sender, nonce)), 'ACCEPTED')
        }
        const { arrivals, accepted } = await arrivalsOf(sender)
        t.equal(accepted.length, 3)
        t.ok(arrivals.length > 3, `${form}: ${arrivals.length} arrivals`)
      }
    }
    await sequencer.order({ kind: 'forget', forgets: false })
    await sequencer.order({ kind: 'react' })
  })

  t.test(
    `a refusal after a lost answer stands if the sequencer does not have the transaction, ${where}`,
    async (t) => {
      const { queue, submit, reaches, forward } = await open(t, t.testdir())
      await sequencer.order({
        kind: 'react',
        next: [{ kind: 'dropBefore' }, { kind: 'error', code: 54, message: 'poor' }],
      })
      forward({ url: urls.rpc })
      const hash = await submit(makeTransaction(newSender(), 0))
      await reaches(hash, 'REJECTED')
      t.equal((await queue.readRow(hash))?.rejection?.code, 54)
    },
  )

  t.test(
    `while the sequencer is down transactions wait, and go out by sender and nonce after, ${where}`,
    async (t) => {
      await sequencer.order({ kind: 'react' })
      await sequencer.order({ kind: 'stop' })
      const { queue, submit, reaches, forward, logged } = await open(t, t.testdir())
      const forwarding = forward({ url: urls.rpc })
      const mine = [newSender(), newSender(), newSender()]
      const hashes = []
      for (const nonce of [3, 0, 2, 1]) {
        for (const sender of mine) hashes.push(await submit(makeTransaction(sender, nonce)))
      }
      t.equal(queue.counts().waiting, 12)
      await until(() => forwarding.forwarder?.isAnswered === false)
      for (const hash of hashes) t.match((await queue.readRow(hash))?.state, /^(RECEIVED|SENT)$/)
      await sequencer.order({ kind: 'start' })
      for (const hash of hashes) await reaches(hash, 'ACCEPTED')
      for (const sender of mine) {
        const { arrivals } = await arrivalsOf(sender)
        t.strictSame(
          arrivals.map(({ key }) => key.split('/')[1]),
          ['0x0', '0x1', '0x2', '0x3'],
        )
      }
      t.match(logged, [/^the sequencer does not answer \(ECONN/, 'the sequencer answers again'])
      t.equal(queue.counts().waiting, 0)
    },
  )

  t.test(`what nobody can have got may still be replaced, what was sent may not, ${where}`, async (t) => {
    const { submit, reaches, forward, queue } = await open(t, t.testdir())
    const sender = newSender()
    const priced = (price: number) => {
      const plain = makeTransaction(sender, 0)
      const l2_gas = { max_amount: '0x5', max_price_per_unit: `0x${price.toString(16)}` }
      return { ...plain, resource_bounds: { ...plain.resource_bounds, l2_gas } }
    }
    await sequencer.order({ kind: 'stop' })
    const forwarding = forward({ url: urls.rpc, timeoutMs: 600_000 })
    const first = await submit(priced(100))
    await until(() => forwarding.forwarder?.isAnswered === false)
    // At each attempt, the transaction is one that was already sent.
    const replace = async () => {
      try {
        return await submit(priced(200))
      } catch (error) {
        t.match(error, refusal(52))
        return undefined
      }
    }
    const second = await waitFor('the first to be replaced', replace)
    t.strictSame((await queue.readRow(first))?.rejection, { code: undefined, text: `replaced by ${second}` })
    await sequencer.order({ kind: 'start' })
    await reaches(second, 'ACCEPTED')
    await sequencer.order({ kind: 'react', next: [{ kind: 'hold' }] })
    const held = await submit(makeTransaction(sender, 1, { tip: '0x64' }))
    await reaches(held, 'SENT')
    const dearer = makeTransaction(sender, 1, { tip: '0x100' })
    const l2_gas = { max_amount: '0x5', max_price_per_unit: '0xffff' }
    await t.rejects(
      submit({ ...dearer, resource_bounds: { ...dearer.resource_bounds, l2_gas } }),
      refusal(52),
    )
    await sequencer.order({ kind: 'react' })
    await reaches(held, 'ACCEPTED')
  })

  t.test(`unknown answers count for the transaction that got them, ${where}`, async (t) => {
    const { submit, reaches, forward } = await open(t, t.testdir())
    const unknown = { kind: 'error', code: 1_000, message: 'a gap' } as const
    const busy = { kind: 'error', code: -32603, message: 'internal error' } as const
    await sequencer.order({ kind: 'react', next: [unknown], always: busy })
    const { attempts } = forward({ url: urls.rpc, unknownAnswersMax: 2 })
    const sender = newSender()
    const later = await submit(makeTransaction(sender, 1))
    await until(() => attempts() > 1)
    // An earlier nonce is tried first from now on.
    const earlier = await submit(makeTransaction(sender, 0))
    const hasArrived = async () =>
      (await arrivalsOf(sender)).arrivals.some(({ key }) => key.includes('/0x0/'))
    await waitFor('the earlier one to arrive', hasArrived)
    await sequencer.order({ kind: 'react', next: [unknown] })
    await reaches(earlier, 'ACCEPTED')
    await reaches(later, 'ACCEPTED')
  })

  t.test(`each state survives a restart, and work goes on, ${where}`, async (t) => {
    const folder = t.testdir()
    await sequencer.order({ kind: 'react' })
    const first = await open(t, folder)
    first.forward({ url: urls.rpc, timeoutMs: 60_000 })
    const a = newSender()
    const b = newSender()
    const c = newSender()
    const accepted = await first.submit(makeTransaction(a, 0))
    await first.reaches(accepted, 'ACCEPTED')
    await sequencer.order({ kind: 'react', next: [{ kind: 'error', code: 55, message: 'x', data: 'why\0' }] })
    const rejected = await first.submit(makeTransaction(b, 0))
    await first.reaches(rejected, 'REJECTED')
    await sequencer.order({ kind: 'react', next: [{ kind: 'hold' }] })
    const sent = await first.submit(makeTransaction(c, 0))
    await first.reaches(sent, 'SENT')
    const received = await first.submit(makeTransaction(c, 1))
    await first.close()

    const second = await open(t, folder)
    const stateOf = async (hash: typeof sent) => (await second.queue.readRow(hash))?.state
    t.strictSame(await Promise.all([accepted, rejected, sent, received].map(stateOf)), [
      'ACCEPTED',
      'REJECTED',
      'SENT',
      'RECEIVED',
    ])
    t.strictSame((await second.queue.readRow(rejected))?.rejection, { code: 55, text: 'why\ufffd' })
    t.match(second.queue.counts(), { waiting: 2, settled: 2 })
    await t.rejects(second.submit(makeTransaction(a, 0)), refusal(59))
    second.forward({ url: urls.rpc })
    await second.reaches(sent, 'ACCEPTED')
    await second.reaches(received, 'ACCEPTED')
    t.equal((await arrivalsOf(c)).accepted.length, 2)
  })
}
