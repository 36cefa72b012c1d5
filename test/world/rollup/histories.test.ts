// @shares
/**
 * Random histories of two keys, of which one submits transactions that may harm the other. These are higher fees at the
 * same sender and nonce, lower nonces, or the same hash with another signature. The sequencer never answers some of
 * them. Each acknowledged transaction of the other key gets to the sequencer, and its outcome depends on its content
 * alone.
 *
 * `RUNS=20` plays 2,000 in each kind of store, in a minute of CPU time. Many histories are played on one queue at once,
 * as on a server, and share the commits.
 */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { isSettled, type SubmissionRow } from '../../../src/data/store/node/submissions.js'
import { FaultError } from '../../../src/primitives/faults.js'
import type { Felt } from '../../../src/serving/rollup/felt.js'
import {
  type HashedFields,
  type InvokeTransaction,
  invokeLimitsDefault,
  parseInvokeTransaction,
} from '../../../src/serving/rollup/invokeTransaction.js'
import { idText } from '../../../src/serving/rollup/submissionService.js'
import type { RequestContext } from '../../../src/serving/rpc/contexts/requestContext.js'
import { Dice, propertyRuns, runsFactor } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { ModelSequencer, markers, rightSignature } from '../../rollup/modelSequencer.js'
import { callerOf, type OpenQueue, queueStores } from '../../rollup/queues.js'

const histories = 100
/** Histories that share one queue. */
const together = 100
/** Between phases the sequencer may stop and start, and the process end and begin. */
const phases = 6

/** Records of each key that are left, at least; more than a victim has. */
const recordsEach = 20
const hourMs = 3_600_000

const limits = {
  // A victim has at most a few waiting transactions, and keys that flood the queue leave room for them.
  waitingMax: together * 16,
  waitingMsMax: hourMs,
  retentionMs: 10 * hourMs,
  settledMax: 2 * together * recordsEach,
  keyShare: 0.5,
}

/** As unique as the real hash, and faster; the hash is not tested here. */
function digestFields(fields: HashedFields): Felt {
  return `0x${createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 60).replace(/^0+/, '')}` as Felt
}

interface Changes {
  readonly calldata?: string
  readonly signature?: string
  /** Raise of tip and price. */
  readonly raise?: number
}

function write(
  sender: number,
  nonce: number,
  { calldata = '0x1', signature = rightSignature, raise = 0 }: Changes,
) {
  const value = `0x${(100 + raise * 50).toString(16)}`
  const { resource_bounds, ...rest } = makeTransaction(sender, nonce, {
    calldata: [calldata],
    signature: [signature, '0x2'],
    tip: value,
  })
  const l2_gas = { max_amount: '0x5', max_price_per_unit: value }
  return parseInvokeTransaction(
    { ...rest, resource_bounds: { ...resource_bounds, l2_gas } },
    invokeLimitsDefault,
  )
}

/** A transaction of a victim that was acknowledged by its hash. */
interface Acknowledged {
  readonly transaction: InvokeTransaction
  readonly body: string
  readonly hash: Felt
  readonly name: string
}

/** The queue and its state after each start. */
interface World {
  queue: OpenQueue
  readonly sequencer: ModelSequencer
}

/** One history: the victim submits in the order of its nonces, the attacker in any order. */
class History {
  readonly acknowledged: Acknowledged[] = []
  /** Submissions of the victim that were refused by mistake. */
  readonly refusals: string[] = []
  readonly #world: World
  readonly #dice: Dice
  readonly #sender: number
  readonly #victim: RequestContext
  readonly #attacker: RequestContext
  readonly #attackerId: number
  #nonce = 4
  #serial = 0

  constructor(world: World, dice: Dice, index: number) {
    this.#world = world
    this.#dice = dice
    this.#sender = 0x10_000 + index
    this.#victim = callerOf(2 * index + 1)
    this.#attackerId = 2 * index + 2
    this.#attacker = callerOf(this.#attackerId)
  }

  async step(): Promise<void> {
    if (this.#dice.throw(2) === 0) await this.#attack()
    else await this.#submitOwn()
    if (this.#dice.throw(3) === 0) await this.#attack()
  }

  async #submitOwn(): Promise<void> {
    const sender = this.#sender
    const nonce = this.#nonce
    switch (this.#dice.throw(6)) {
      case 0:
        // Refused; corrected at once, or once the first has a verdict.
        await this.#take(write(sender, nonce, { signature: '0x9' }))
        return this.#take(write(sender, this.#nonce++, {}))
      case 1: {
        const marker = this.#dice.throw(2) === 0 ? markers.poor : markers.odd
        return this.#take(write(sender, this.#nonce++, { calldata: marker }))
      }
      case 2:
        await this.#take(write(sender, this.#nonce++, {}))
        // This transaction replaces the other one unless that was sent.
        return this.#offer(write(sender, nonce, { raise: 1, calldata: '0x2' }))
      case 3: {
        const last = this.acknowledged.at(-1)
        return last && this.#offer(last.transaction)
      }
      default:
        return this.#take(write(sender, this.#nonce++, {}))
    }
  }

  async #attack(): Promise<void> {
    const sender = this.#sender
    const nonce = this.#nonce
    const wrong = { signature: `0x${(0x100 + this.#serial++).toString(16)}` }
    const below = this.#dice.throw(nonce)
    const own = 0x1_000_000 + this.#attackerId * 0x1_000 + this.#serial
    const all: readonly (() => InvokeTransaction)[] = [
      () => write(sender, nonce, { ...wrong, raise: 5 }),
      () => write(sender, nonce - 1, { ...wrong, raise: 5 }),
      () => write(sender, below, wrong),
      () => write(sender, below, { ...wrong, calldata: markers.poison }),
      () => write(sender, below, { ...wrong, calldata: markers.odd }),
      // The victim's next one, with its hash, and a last one as it was written.
      () => write(sender, nonce, wrong),
      () => this.acknowledged.at(-1)?.transaction ?? write(sender, nonce, wrong),
      () => write(own, 0, {}),
      () => write(own, 0, { calldata: markers.poison }),
    ]
    const make = all[this.#dice.throw(all.length)]
    if (make === undefined) return
    await this.#submit(make(), this.#attacker).catch(ignoreRefusal)
  }

  /** Submits a transaction that no other one of its own key blocks. */
  async #take(transaction: InvokeTransaction): Promise<void> {
    try {
      await this.#note(transaction)
    } catch (error) {
      this.refusals.push(String((error as Error).stack))
    }
  }

  async #offer(transaction: InvokeTransaction): Promise<void> {
    await this.#note(transaction).catch(ignoreRefusal)
  }

  async #note(transaction: InvokeTransaction): Promise<void> {
    const id = await this.#submit(transaction, this.#victim)
    const body = JSON.stringify(transaction)
    this.acknowledged.push({ transaction, body, hash: id.hash as Felt, name: idText(id) })
  }

  #submit(transaction: InvokeTransaction, caller: RequestContext) {
    return this.#world.queue.queue.submit(transaction, caller)
  }
}

/** The refusals that the caller itself may have caused. */
function ignoreRefusal(error: unknown): void {
  if (error instanceof FaultError && ['InvokeRefused', 'SubmissionsFull'].includes(error.fault.kind)) return
  throw error
}

/** The fault in the outcome of a transaction; undefined if its own content decided the outcome. */
function faultOf(
  { transaction: { signature, calldata }, body, hash, name }: Acknowledged,
  row: SubmissionRow | undefined,
  sequencer: ModelSequencer,
  own: readonly Acknowledged[],
): string | undefined {
  if (row === undefined) {
    // A rejected row is removed when its own key submits the hash again.
    return own.some((other) => other.hash === hash && other.name !== name)
      ? undefined
      : 'is not known any more'
  }
  const { state, rejection } = row
  if (own.some((other) => rejection?.text === `replaced by ${other.hash}`)) return undefined
  const was = `is ${state} with ${JSON.stringify(rejection)}`
  if (!sequencer.arrived.has(body)) return `${was} and never reached the sequencer`
  if (state === 'ACCEPTED')
    return sequencer.accepted.has(hash) ? undefined : `${was}; the sequencer does not have it`
  const [first] = calldata as readonly string[]
  const [signed] = signature as readonly string[]
  const due =
    first === markers.odd ? 63 : signed !== rightSignature ? 55 : first === markers.poor ? 54 : undefined
  return due === rejection?.code ? undefined : `${was}, and the sequencer says ${due ?? 'yes'}`
}

t.test('what one key was answered a hash for is judged on its own, whatever another submits', async (t) => {
  const { seed = 0 } = propertyRuns(1)
  for (const [where, open] of await queueStores(t)) {
    const batches = Math.max(1, Math.round((histories * runsFactor) / together))
    t.test(`${batches * together} histories ${where}`, async (t) => {
      const dice = new Dice(seed)
      const count = { acknowledged: 0, accepted: 0 }
      for (let batch = 0; batch < batches; batch++) await playBatch(t, open, dice, count)
      t.comment(`${count.acknowledged} answered to victims, ${count.accepted} of them accepted`)
      t.ok(count.accepted > batches * together, 'most histories have some that are accepted')
    })
  }
})

type Open = Awaited<ReturnType<typeof queueStores>>[number][1]

async function playBatch(
  t: Test,
  open: Open,
  dice: Dice,
  count: { acknowledged: number; accepted: number },
): Promise<void> {
  const folder = t.testdir()
  const sequencer = new ModelSequencer(dice)
  const options = { limits, computeHash: digestFields, idempotent: dice.throw(2) === 0 }
  const start = async () => {
    const queue = await open(t, folder, options)
    const forwarding = queue.forward({
      client: sequencer.client(),
      inFlightMax: 16,
      unknownAnswersMax: 2,
      retryMsMin: 4,
    })
    return { queue, forwarding }
  }
  let { queue, forwarding } = await start()
  const world: World = { queue, sequencer }
  const played = Array.from({ length: together }, (_, index) => new History(world, dice, index))
  const hasOutages = dice.throw(2) === 0
  for (let phase = 0; phase < phases; phase++) {
    sequencer.mode = hasOutages && dice.throw(2) === 0 ? (dice.throw(2) === 0 ? 'refusing' : 'silent') : 'up'
    await Promise.all(played.map((history) => history.step()))
    // While the sequencer answers, unsent submissions do not expire.
    if (!hasOutages)
      await queue.queue.sweep(Date.now() + 2 * hourMs, forwarding.forwarder?.silentTo ?? new Set())
    if (dice.throw(4) > 0) continue
    await queue.close()
    ;({ queue, forwarding } = await start())
    world.queue = queue
  }
  sequencer.mode = 'up'
  const faults = await waitForVerdicts(queue, sequencer, played)
  t.strictSame(faults.slice(0, 5), [])
  t.strictSame(
    played.flatMap(({ refusals }) => refusals),
    [],
    'nothing was refused because of another key',
  )
  for (const { acknowledged } of played) {
    count.acknowledged += acknowledged.length
    count.accepted += acknowledged.filter(({ hash }) => sequencer.accepted.has(hash)).length
  }
  await queue.close()
}

/**
 * Waits until all acknowledged transactions of victims are settled, and surplus rows are removed. Returns the faults.
 */
async function waitForVerdicts(
  { queue }: OpenQueue,
  sequencer: ModelSequencer,
  played: readonly History[],
): Promise<string[]> {
  const rowOf = async ({ hash, name }: Acknowledged) => {
    const key = name.split('/')[1] ?? ''
    return (await queue.readRows(hash, key)).find((row) => idText(row) === name)
  }
  const all = played.flatMap(({ acknowledged }) => acknowledged.map((one) => ({ one, own: acknowledged })))
  for (const { one } of all) {
    const isJudged = async () => isSettled((await rowOf(one))?.state ?? 'REJECTED')
    await waitFor(`${one.name} to be judged`, isJudged)
  }
  await queue.sweep(Date.now(), new Set())
  const found = await Promise.all(
    all.map(async ({ one, own }) => {
      const fault = faultOf(one, await rowOf(one), sequencer, own)
      return fault === undefined ? [] : [`${one.name} ${one.body} ${fault}`]
    }),
  )
  return found.flat()
}
