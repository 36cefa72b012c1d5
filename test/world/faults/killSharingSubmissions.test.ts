// @shares
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { takeoverMs } from '../../feed/replicaCluster.js'
import { makeFolder } from '../../library/folder.js'
import { propertyRuns } from '../../library/property.js'
import { until, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { type RollupService, startRollup } from '../../rollup/rollupService.js'
import { type Reaction, startSequencer } from '../../rollup/sequencer.js'

/** `SUBMISSIONS=2000 KILLS=20` makes a longer run. */
const submissions = Number(process.env.SUBMISSIONS ?? 300)
const kills = Number(process.env.KILLS ?? 1)
/** Submissions at the same time, each with its own sender. */
const senders = 40
const schema = 'tidegate_queue_roll'

/** One in ten connections is lost, before or after the sequencer has taken the transaction. */
const reactions: Reaction[] = Array.from({ length: 20_000 }, (_, i) =>
  i % 20 === 3 ? { kind: 'dropAfter' } : i % 20 === 13 ? { kind: 'dropBefore' } : { kind: 'accept' },
)

t.test(
  'what either of two processes answered is stored once and sent once, whichever is killed',
  { skip: withoutPostgres },
  async (t) => {
    const { seed = 0 } = propertyRuns(kills)
    const postgres = await startPostgres(t)
    const sequencer = await startSequencer(t)
    await sequencer.order({ kind: 'react', next: reactions })
    const folders = [makeFolder(t), makeFolder(t)] as const
    const start = (side: 0 | 1) =>
      startRollup(
        t,
        {
          upstream: { url: `${sequencer.origin}/rpc`, mode: 'accept' },
          idempotent: true,
          queue: { shared: { url: postgres.url, leaseMs: 1_000 } },
        },
        folders[side],
      )
    const sides: [RollupService, RollupService] = [await start(0), await start(1)]
    const answered = new Map<string, string>()

    /** Submits to one server or the other until one answers. */
    const submit = async (sender: number, nonce: number): Promise<void> => {
      const transaction = makeTransaction(sender, nonce)
      for (let attempt = sender + nonce; ; attempt++) {
        const hash = await (sides[attempt % 2] as RollupService).take(transaction).catch(() => undefined)
        if (hash !== undefined) {
          answered.set(`0x${sender.toString(16)}/0x${nonce.toString(16)}/0x1,0x2,0x3`, hash)
          return
        }
        await pause(5)
      }
    }
    const load = Promise.all(
      Array.from({ length: senders }, async (_, i) => {
        for (let nonce = 0; nonce * senders + i < submissions; nonce++) await submit(i + 1, nonce)
      }),
    )

    const moments = fc.sample(
      fc.tuple(fc.integer({ min: 1, max: Math.floor(submissions / kills) }), fc.constantFrom(0, 1)),
      { seed, numRuns: kills },
    ) as [number, 0 | 1][]
    let last = 0
    for (const [answers, side] of moments) {
      const goal = Math.min(submissions, last + answers)
      await until(() => answered.size >= goal)
      sides[side].process.kill('SIGKILL')
      sides[side] = await start(side)
      last = answered.size
    }
    await load
    const [{ count: waiting } = { count: -1 }] = await waitFor('the sequencer to have all', async () => {
      const rows = await postgres.query(
        `select count(*)::integer from "${schema}".submission where state <> 'ACCEPTED'`,
      )
      return rows[0]?.count === 0 && rows
    })
    t.equal(waiting, 0)
    const rows = await postgres.query(`select encode(hash, 'hex') as hash from "${schema}".submission`)
    const stored = rows.map(({ hash }) => `0x${hash.replace(/^0+/, '')}`).sort()
    t.equal(answered.size, submissions)
    t.strictSame(stored, [...answered.values()].sort(), 'each answered one is in PostgreSQL once')
    const { accepted, arrivals } = await sequencer.report()
    t.strictSame(
      accepted.map(({ key }) => key).sort(),
      [...answered.keys()].sort(),
      'the sequencer accepted each once',
    )
    const nonces = new Map<string, number>()
    const isInOrder = accepted.every(({ key }) => {
      const [sender = '', nonce] = key.split('/')
      const before = nonces.get(sender) ?? -1
      nonces.set(sender, Number(nonce))
      return Number(nonce) === before + 1
    })
    t.ok(isInOrder, 'those of a sender by their nonces')
    for (const side of sides) {
      t.match(await side.status(answered.values().next().value as string), { queue_status: 'ACCEPTED' })
    }
    t.comment(`${kills} kills, ${answered.size} answered, ${arrivals.length} arrivals`)
  },
)

t.test(
  'a process that is paused while it sends is replaced, and sends nothing after',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t)
    const sequencer = await startSequencer(t)
    const entry = {
      upstream: { url: `${sequencer.origin}/rpc`, mode: 'accept' },
      // Three renewals take long on a busy machine.
      queue: { shared: { url: postgres.url, leaseMs: takeoverMs } },
    }
    const isSending = async (service: RollupService) => {
      const health = await (await fetch(`${service.origin}/health`)).json()
      return (health as { networks: Record<string, { isSending: boolean }> }).networks.roll?.isSending
    }
    const first = await startRollup(t, entry)
    await waitFor('the first to send', () => isSending(first))
    const second = await startRollup(t, entry)
    await waitFor('one of them to stand by', async () => {
      return (await isSending(second)) === false || (await isSending(first)) === false
    })
    first.process.kill('SIGSTOP')
    try {
      await waitFor('the second to send', () => isSending(second))
      const hash = await second.take(makeTransaction(1, 0))
      await waitFor('its transaction', async () => (await second.status(hash)).queue_status === 'ACCEPTED')
    } finally {
      first.process.kill('SIGCONT')
    }
    await waitFor('the first to know', async () => (await isSending(first)) === false)
    const hash = await first.take(makeTransaction(1, 1))
    await waitFor('its transaction', async () => (await first.status(hash)).queue_status === 'ACCEPTED')
    // A busy machine may let a lease run out, so that the first has it again.
    await waitFor('one of them to send', async () => {
      return (await isSending(second)) === true || (await isSending(first)) === true
    })
    t.equal((await sequencer.report()).arrivals.length, 2)
  },
)
