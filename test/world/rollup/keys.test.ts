// @shares
/** The submissions of one key and their outcomes are the same, for any actions of another key. */
import t from 'tap'
import { nobody } from '../../../src/data/store/node/submissions.js'
import type { Felt } from '../../../src/serving/rollup/felt.js'
import { waitForVerdict } from '../../../src/serving/rollup/submissionService.js'
import { RequestContext } from '../../../src/serving/rpc/contexts/requestContext.js'
import { Dice } from '../../library/property.js'
import { until, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { ModelSequencer, markers } from '../../rollup/modelSequencer.js'
import {
  callerOf,
  keyIdOf,
  limitsOfTests,
  type OpenQueue,
  queueStores,
  refusal,
} from '../../rollup/queues.js'
import { startSequencer } from '../../rollup/sequencer.js'

const victim = callerOf(1)
const victimId = keyIdOf(1)
const attacker = callerOf(2)
const attackerId = keyIdOf(2)

/** A transaction whose tip and price are at least 10 % above those of a plain one. */
function dearer(sender: number, nonce: number, changes: Record<string, unknown> = {}) {
  const { resource_bounds, ...rest } = makeTransaction(sender, nonce, { tip: '0x100', ...changes })
  const l2_gas = { max_amount: '0x5', max_price_per_unit: '0xffff' }
  return { ...rest, resource_bounds: { ...resource_bounds, l2_gas } }
}

/** The state of the submission of a key with this hash. */
async function stateOf({ queue }: OpenQueue, hash: Felt, key: string): Promise<string | undefined> {
  return (await queue.readRow(hash, key))?.state
}

for (const [where, open] of await queueStores(t)) {
  t.test(
    `another key's dearer transaction of the same sender and nonce replaces nothing, ${where}`,
    async (t) => {
      const queue = await open(t, t.testdir())
      const plain = makeTransaction(7, 3, { tip: '0x64' })
      const hash = await queue.submit(plain, victim)
      t.equal(await queue.submit(plain, attacker), hash, 'even the same one has its own row')
      t.equal(queue.queue.counts().waiting, 2)
      // The new transaction replaces that one.
      const other = await queue.submit(dearer(7, 3), attacker)
      t.match(await queue.queue.readRow(hash, victimId), { state: 'RECEIVED', rejection: undefined })
      t.equal(await stateOf(queue, other, attackerId), 'RECEIVED')
      // A submission that the other key sent blocks nothing here, either.
      await queue.deliveries.beginSending({ key: attackerId, sender: '0x7' })
      await t.rejects(queue.submit(dearer(7, 3, { calldata: ['0x9'] }), attacker), refusal(52))
      const own = await queue.submit(dearer(7, 3, { calldata: ['0x9'] }), victim)
      t.strictSame((await queue.queue.readRow(hash, victimId))?.rejection, {
        code: undefined,
        text: `replaced by ${own}`,
      })
    },
  )

  t.test(`lower nonces of another key hold nothing up, sent or not, ${where}`, async (t) => {
    const sequencer = new ModelSequencer(new Dice(1))
    const queue = await open(t, t.testdir())
    const poison = { calldata: [markers.poison] }
    for (let nonce = 0; nonce < 5; nonce++) await queue.submit(makeTransaction(7, nonce, poison), attacker)
    queue.forward({ client: sequencer.client(), inFlightMax: 2 })
    await waitFor('the first of the attacker to arrive', () => sequencer.arrived.size > 0)
    for (let nonce = 5; nonce < 15; nonce++) {
      const hash = await queue.submit(makeTransaction(7, nonce), victim)
      await waitFor('it to be accepted', async () => (await stateOf(queue, hash, victimId)) === 'ACCEPTED')
    }
    t.equal(queue.queue.counts().waiting, 5)
  })

  t.test(
    `a wrong signature of another key keeps no right one out, idempotent or not, ${where}`,
    async (t) => {
      for (const idempotent of [true, false]) {
        const sequencer = new ModelSequencer(new Dice(1))
        const queue = await open(t, t.testdir(), { idempotent })
        const hash = await queue.submit(makeTransaction(7, 0, { signature: ['0x9'] }), attacker)
        t.equal(await queue.submit(makeTransaction(7, 0), victim), hash)
        t.strictSame((await queue.queue.readTransaction(hash, victimId))?.signature, ['0x1', '0x2'])
        t.strictSame((await queue.queue.readTransaction(hash, attackerId))?.signature, ['0x9'])
        queue.forward({ client: sequencer.client() })
        await waitFor('it to be accepted', async () => (await stateOf(queue, hash, victimId)) === 'ACCEPTED')
        await until(() => queue.queue.counts().waiting === 0)
      }
    },
  )

  t.test(`the verdict that a caller waits for is that on its own signature, ${where}`, async (t) => {
    const { queue, submit, deliveries } = await open(t, t.testdir())
    const callers = [attacker, victim, new RequestContext()]
    const signed = (at: number) => makeTransaction(7, 0, { signature: [`0x${at.toString(16)}`] })
    // Two of these callers have one key.
    callers.push(new RequestContext())
    const hash = await submit(signed(0), callers[0])
    for (const [at, caller] of callers.entries()) if (at > 0) t.equal(await submit(signed(at), caller), hash)
    const ids = (
      await Promise.all([attackerId, victimId, nobody].map((key) => queue.readRows(hash, key)))
    ).flat()
    t.equal(ids.length, 4)
    const verdicts = ids.map((id) => waitForVerdict(queue, id, 60_000, new RequestContext()))
    for (const [at, id] of ids.entries()) await deliveries.settle(id, { code: 55, text: `reason ${at}` })
    t.strictSame(
      (await Promise.all(verdicts)).map((row) => row?.rejection?.text),
      ids.map((_, at) => `reason ${at}`),
    )
  })

  t.test(
    `a key has a share of the places and bytes, and there is always one for the next, ${where}`,
    async (t) => {
      for (const [limits, half] of [
        [{ waitingMax: 16 }, 8],
        [{ waitingBytesMax: 16_000 }, 16],
      ] as const) {
        const { queue, submit } = await open(t, t.testdir(), { limits })
        const taken: number[] = []
        for (let key = 1; key <= 4; key++) {
          for (let nonce = 0; ; nonce++) {
            const refused = await submit(makeTransaction(100 + key, nonce), callerOf(key)).catch(
              (error) => error,
            )
            if (typeof refused === 'string') continue
            t.match(refused, {
              fault: { kind: 'SubmissionsFull', what: / of this API key wait for the sequencer$/ },
            })
            taken.push(nonce)
            break
          }
        }
        t.equal(taken.length, 4)
        t.ok(
          taken.every((count) => count > 0),
          `each of four greedy keys has some: ${taken}`,
        )
        t.ok((taken[0] ?? 0) <= half, `none has more than half: ${taken}`)
        t.match(await submit(makeTransaction(200, 0), callerOf(5)).catch((error) => error), /^0x/)
        // Without keys there is only one caller, who may use all places.
        const { waiting } = queue.counts()
        for (let nonce = 0; ; nonce++) {
          const refused = await submit(makeTransaction(300, nonce)).catch((error) => error)
          if (typeof refused === 'string') continue
          t.match(refused, { fault: { what: /\d (bytes of )?transactions wait for the sequencer$/ } })
          break
        }
        t.ok(queue.counts().waiting >= waiting)
      }
    },
  )

  t.test(`places are counted over a restart, and given back, ${where}`, async (t) => {
    const folder = t.testdir()
    const limits = { waitingMax: 4 }
    const first = await open(t, folder, { limits })
    const hashes = [await first.submit(makeTransaction(1, 0), attacker)]
    hashes.push(await first.submit(makeTransaction(1, 1), attacker))
    await first.close()
    const { submit, deliveries, queue } = await open(t, folder, { limits })
    const full = {
      fault: { kind: 'SubmissionsFull', what: '2 transactions of this API key wait for the sequencer' },
    }
    t.match(await submit(makeTransaction(1, 2), attacker).catch((error) => error), full)
    await deliveries.settle(hashes[0] as Felt, { code: 55, text: 'no' })
    t.match(await submit(makeTransaction(1, 2), attacker), /^0x/)
    t.match(await submit(makeTransaction(1, 3), attacker).catch((error) => error), full)
    // A rejected submission makes room for itself, and takes the place of its own record.
    await deliveries.settle(hashes[1] as Felt, { code: 55, text: 'no' })
    t.equal(await submit(makeTransaction(1, 1), attacker), hashes[1])
    t.match(queue.counts(), { waiting: 2, settled: 1 })
  })

  t.test(`the records of a key outlast the garbage of another, ${where}`, async (t) => {
    const { queue, submit, deliveries } = await open(t, t.testdir(), { limits: { settledMax: 10 } })
    const settle = async (sender: number, nonce: number, caller: RequestContext) => {
      const hash = await submit(makeTransaction(sender, nonce), caller)
      const [row] = await queue.readRows(hash, caller.keyId)
      if (row === undefined) throw new Error('it is gone')
      await deliveries.settle(row, undefined)
      return hash
    }
    const kept = [await settle(1, 0, victim), await settle(1, 1, victim), await settle(1, 2, victim)]
    const garbage: Felt[] = []
    for (let nonce = 0; nonce < 30; nonce++) garbage.push(await settle(2, nonce, attacker))
    await queue.sweep()
    t.equal(queue.counts().settled, 10)
    for (const hash of kept) t.match(await queue.readRow(hash, victimId), { state: 'ACCEPTED' })
    const left = await Promise.all(garbage.map((hash) => queue.readRow(hash, attackerId)))
    t.equal(left.filter((row) => row !== undefined).length, 7)
    // In a shared database reports may be late, and sizes are those of the last read.
    await settle(1, 3, victim)
    await queue.sweep()
    t.equal(queue.counts().settled, 10)
    await queue.sweep(Date.now() + 2 * limitsOfTests.retentionMs)
    t.equal(queue.counts().settled, 0, 'time takes all')
  })

  t.test(`what was never sent expires only while the sequencer is silent to its key, ${where}`, async (t) => {
    const sequencer = new ModelSequencer(new Dice(1))
    const queue = await open(t, t.testdir(), { limits: { waitingMsMax: 60_000 } })
    const forwarding = queue.forward({ client: sequencer.client() })
    const sweep = () => queue.queue.sweep(Date.now() + 61_000, forwarding.forwarder?.silentTo)
    await waitFor('the forwarder', () => forwarding.forwarder !== undefined)
    // The first of the attacker is never answered, and keeps its later one from being sent.
    await queue.submit(makeTransaction(7, 0, { calldata: [markers.poison] }), attacker)
    const behind = await queue.submit(makeTransaction(7, 1), attacker)
    sequencer.mode = 'refusing'
    const hash = await queue.submit(makeTransaction(8, 0), victim)
    await waitFor('silence', () => forwarding.forwarder?.silentTo.has(victimId) === true)
    sequencer.mode = 'up'
    await waitFor('it to be accepted', async () => (await stateOf(queue, hash, victimId)) === 'ACCEPTED')
    await waitFor('silence', () => forwarding.forwarder?.silentTo.has(attackerId) === true)
    t.equal(forwarding.forwarder?.silentTo.has(victimId), false)
    const waiting = await queue.submit(makeTransaction(8, 1), victim)
    await sweep()
    t.match(await queue.queue.readRow(behind, attackerId), {
      state: 'REJECTED',
      rejection: { text: 'expired: no verdict of the sequencer within 60 s' },
    })
    await waitFor('it to be accepted', async () => (await stateOf(queue, waiting, victimId)) === 'ACCEPTED')
  })

  t.test(`keys take turns, and none has all attempts under way, ${where}`, async (t) => {
    const sequencer = await startSequencer(t)
    await sequencer.order({ kind: 'react', always: { kind: 'hold' } })
    const queue = await open(t, t.testdir())
    for (let sender = 100; sender < 150; sender++) await queue.submit(makeTransaction(sender, 0), attacker)
    queue.forward({ url: `${sequencer.origin}/rpc`, inFlightMax: 4 })
    const arrived = async () => (await sequencer.report()).arrivals.length
    await waitFor('the attempts of the attacker', async () => (await arrived()) >= 2)
    const hash = await queue.submit(makeTransaction(1, 0), victim)
    await waitFor('that of the victim', async () =>
      (await sequencer.report()).arrivals.some(({ key }) => key.startsWith('0x1/')),
    )
    t.equal(await arrived(), 3, 'two of four, and half of what they leave')
    await sequencer.order({ kind: 'react' })
    await waitFor('it to be accepted', async () => (await stateOf(queue, hash, victimId)) === 'ACCEPTED')
    await until(() => queue.queue.counts().waiting === 0)
  })

  t.test(`a real sequencer that loses answers judges each key's own, ${where}`, async (t) => {
    const sequencer = await startSequencer(t)
    const reactions = ['dropAfter', 'verify', 'dropBefore', 'verify', 'verify', 'verify'] as const
    const next = Array.from({ length: 60 }, (_, at) => ({
      kind: reactions[at % reactions.length] ?? 'verify',
    }))
    // A submission that is dropped after its acceptance is not verified, so the attacker begins once these are settled.
    await sequencer.order({ kind: 'react', always: { kind: 'verify' } })
    const queue = await open(t, t.testdir(), { idempotent: true })
    const forwarding = queue.forward({ url: `${sequencer.origin}/rpc` })
    await waitFor('the forwarder', () => forwarding.forwarder !== undefined)
    const hashes: Felt[] = []
    for (let nonce = 0; nonce < 12; nonce++) {
      if (nonce === 6) {
        await until(() => queue.queue.counts().waiting === 0)
        await sequencer.order({ kind: 'react', next, always: { kind: 'verify' } })
      }
      const wrong = { signature: ['0x9'] }
      if (nonce < 6) {
        for (const garbage of [
          makeTransaction(1, nonce, wrong),
          dearer(1, nonce, wrong),
          makeTransaction(1, 0, wrong),
        ])
          await queue.submit(garbage, attacker).catch(() => undefined)
      }
      hashes.push(await queue.submit(makeTransaction(1, nonce), victim))
    }
    for (const hash of hashes) {
      await waitFor('it to be accepted', async () => (await stateOf(queue, hash, victimId)) === 'ACCEPTED')
    }
    const { accepted } = await sequencer.report()
    t.strictSame(
      accepted.map(({ key }) => key),
      hashes.map((_, nonce) => `0x1/0x${nonce.toString(16)}/0x1,0x2,0x3`),
      'each once, in order, and nothing of the attacker',
    )
  })
}
