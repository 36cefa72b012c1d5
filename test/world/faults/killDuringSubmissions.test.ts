// @scene a kill
import fc from 'fast-check'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { propertyRuns } from '../../library/property.js'
import { until, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { type RollupService, startRollup } from '../../rollup/rollupService.js'
import { type Reaction, startSequencer } from '../../rollup/sequencer.js'

/** `KILLS=50` for a longer run: each takes a start of the program, and load until it is killed. */
const kills = Number(process.env.KILLS ?? 1)
/** Submissions at the same time. */
const clients = 40
const senders = 50
/** Most answers of one process before it is killed. */
const answersMax = 200

/** One in ten connections is lost, before or after the sequencer has taken the transaction. */
const reactions: Reaction[] = Array.from({ length: 20_000 }, (_, i) =>
  i % 20 === 3 ? { kind: 'dropAfter' } : i % 20 === 13 ? { kind: 'dropBefore' } : { kind: 'accept' },
)

interface Answered {
  readonly hash: string
  readonly key: string
}

let serial = 0

/** Submits a transaction that was not submitted before. */
async function submitNext(service: RollupService): Promise<Answered> {
  const sender = 1 + (serial % senders)
  const nonce = Math.floor(serial++ / senders)
  const key = `0x${sender.toString(16)}/0x${nonce.toString(16)}/0x1,0x2,0x3`
  return { hash: await service.take(makeTransaction(sender, nonce)), key }
}

/** Submits until the service is gone; adds the answers to `answered`. */
async function load(service: RollupService, answered: Answered[]): Promise<void> {
  let isGone = false
  service.process.once('exit', () => {
    isGone = true
  })
  const submit = async () => {
    while (!isGone) {
      await submitNext(service).then(
        (one) => void answered.push(one),
        // The answer was not sent in full, so it acknowledged no submission.
        () => undefined,
      )
    }
  }
  await Promise.all(Array.from({ length: clients }, submit))
}

async function states(service: RollupService, answered: readonly Answered[]): Promise<string[]> {
  const found: string[] = []
  for (let start = 0; start < answered.length; start += 500) {
    const batch = answered.slice(start, start + 500).map(({ hash }, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'rollupx_getTransactionStatus',
      params: [hash],
    }))
    const { text } = await service.post('/', JSON.stringify(batch))
    for (const { result } of JSON.parse(text)) found.push(result?.queue_status ?? 'missing')
  }
  return found
}

t.test('an answered hash survives kill -9, and reaches the sequencer once', async (t) => {
  const { seed = 0 } = propertyRuns(kills)
  const moments = fc.sample(fc.integer({ min: 1, max: answersMax }), { seed, numRuns: kills })
  const sequencer = await startSequencer(t)
  await sequencer.order({ kind: 'react', next: reactions })
  const folder = makeFolder(t)
  const entry = { upstream: { url: `${sequencer.origin}/rpc`, mode: 'accept' } }
  const answered: Answered[] = []
  let alreadyChecked = 0
  for (const answers of moments) {
    const service = await startRollup(t, entry, folder)
    const since = answered.slice(alreadyChecked)
    t.notOk((await states(service, since)).includes('missing'), `all of ${since.length} are there`)
    alreadyChecked = answered.length
    // The threads that hash take a moment to start. Without this wait, a kill would only meet submissions that wait for
    // them.
    const { hash, key } = await submitNext(service)
    answered.push({ hash, key })
    const loaded = load(service, answered)
    const last = answered.length + answers
    await until(() => answered.length >= last)
    service.process.kill('SIGKILL')
    await loaded
  }
  const last = await startRollup(t, entry, folder)
  await waitFor('the sequencer to have all', async () => {
    const found = await states(last, answered)
    if (found.includes('missing')) throw new Error('an answered hash is gone')
    return found.every((state) => state === 'ACCEPTED')
  })
  const { accepted } = await sequencer.report()
  const times = new Map<string, number>()
  for (const { key } of accepted) times.set(key, (times.get(key) ?? 0) + 1)
  t.equal(new Set(answered.map(({ hash }) => hash)).size, answered.length, 'no hash was answered twice')
  t.ok(
    answered.every(({ key }) => times.get(key) === 1),
    'each was accepted once',
  )
  await waitFor('the queue to be empty', async () => {
    const health = (await (await fetch(`${last.origin}/health`)).json()) as Health
    return health.networks.roll?.waiting === 0
  })
  const health = (await (await fetch(`${last.origin}/health`)).json()) as Health
  t.equal(health.networks.roll?.settled, new Set(accepted.map(({ key }) => key)).size, 'one row each')
  t.ok(answered.length >= kills, `${answered.length} submissions were answered`)
  t.comment(`${kills} kills, ${serial} submissions, ${answered.length} answered, ${accepted.length} accepted`)
})

interface Health {
  readonly networks: Record<string, { readonly waiting: number; readonly settled: number }>
}
