import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { Endpoint } from '../../../../src/serving/rpc/dispatch/endpoint.js'
import { Dice, propertyRuns, runsFactor } from '../../../library/property.js'
import { type ChainCopy, HeadCopy, LogCopy, logLine } from '../../../streams/chainCopies.js'
import {
  addressOfNumber,
  type ChosenLog,
  chainTo,
  type ForkBlock,
  type ForkingChain,
  growFrom,
} from './forkingChain.js'
import { openStreams } from './openStreams.js'
import { limits, TestClient } from './testClient.js'

/** The addresses whose logs are requested in subscriptions to logs. */
const wanted = [addressOfNumber(1), addressOfNumber(2)]

/** A client that follows the chain by one subscription, with a connection that may end at any time. */
class Follower {
  client: TestClient | undefined
  cuts = 0
  #id = ''
  #seen = 0
  #next = 1
  readonly #endpoint: Endpoint
  readonly #dice: Dice
  readonly #kind: 'newHeads' | 'logs'
  readonly #copy: ChainCopy

  constructor(endpoint: Endpoint, dice: Dice, kind: 'newHeads' | 'logs', copy: ChainCopy) {
    this.#endpoint = endpoint
    this.#dice = dice
    this.#kind = kind
    this.#copy = copy
  }

  get view(): readonly string[] {
    return this.#copy.view
  }

  connect(): void {
    const client = new TestClient(this.#endpoint, { ...limits, queueBytesDefault: this.#dice.throw(6_000) })
    client.isReading = this.#dice.throw(3) > 0
    this.client = client
    const fromBlock = this.#copy.last
    this.#id = client.subscribe(
      this.#kind,
      this.#kind === 'logs' ? { address: wanted, fromBlock } : { fromBlock },
    )
    this.#seen = 0
    this.#next = 1
  }

  /** Reads at most `bytes` of the unread messages. */
  read(bytes: number): void {
    const { client } = this
    if (client === undefined) return
    client.read(bytes)
    const events = client.sent.slice(this.#seen)
    this.#seen = client.sent.length
    for (const { params } of events.map((text) => JSON.parse(text))) {
      if (params?.subscription !== this.#id) continue
      if (params.seq !== this.#next++)
        throw new Error(`event ${params.seq} comes as number ${this.#next - 1}`)
      this.#copy.take(params.result)
    }
    if (client.closed !== undefined) this.cut()
  }

  cut(): void {
    if (this.client === undefined) return
    this.client.subscriber.close()
    this.client = undefined
    this.cuts++
    this.#copy.afterCut()
  }
}

function expectedLogs(blocks: readonly ForkBlock[]): string[] {
  return blocks.flatMap(({ hash, logs }) =>
    logs.flatMap(({ address }, index) => (wanted.includes(address) ? [logLine(hash, index)] : [])),
  )
}

/**
 * Writes blocks, sometimes on a fork and sometimes on an earlier branch, and lets the chain read now or later. No fork
 * begins below `root`. Returns whether it left a branch, which it adds to `left`.
 */
function moveChain(forks: ForkingChain, dice: Dice, root: ForkBlock, left: ForkBlock[]): boolean {
  const before = forks.head
  const depth = dice.throw(4) === 0 ? Math.min(dice.throw(6), before.number - root.number) : 0
  let base = before
  if (depth > 0 && left.length > 0 && dice.throw(3) === 0) base = left[dice.throw(left.length)] as ForkBlock
  else for (let i = 0; i < depth; i++) base = base.parent as ForkBlock
  const logs = (): ChosenLog[] =>
    dice.times(dice.throw(6), () => ({ address: addressOfNumber(1 + dice.throw(4)), topics: [] }))
  const blocks = growFrom(base, dice.times(depth + 1 + dice.throw(2), logs))
  forks.write(blocks.at(-1) as ForkBlock)
  if (depth > 0) left.push(before)
  if (dice.throw(3) > 0) forks.chain.refreshHead()
  return depth > 0
}

t.test('whoever is cut at any moment and resumes has every block and log of the chain, once', async (t) => {
  const total = { runs: 0, cuts: 0, forks: 0, blocks: 0 }
  const { forks, endpoint } = openStreams(t)
  const run = async (seed: number) => {
    const dice = new Dice(seed)
    const base = forks.head
    const left: ForkBlock[] = []
    const followers = [
      new Follower(endpoint, dice, 'newHeads', new HeadCopy(base.hash)),
      new Follower(endpoint, dice, 'newHeads', new HeadCopy(base.hash)),
      new Follower(endpoint, dice, 'logs', new LogCopy(base.hash)),
      new Follower(endpoint, dice, 'logs', new LogCopy(base.hash)),
    ]
    for (let i = 0; i < 36; i++) {
      if (dice.throw(4) === 0 && moveChain(forks, dice, base, left)) total.forks++
      const follower = followers[dice.throw(followers.length)] as Follower
      const deed = dice.throw(8)
      if (follower.client === undefined) follower.connect()
      else if (deed === 0) {
        if (dice.throw(2) === 0) follower.read(dice.throw(4_000))
        follower.cut()
      } else follower.read(dice.throw(4_000))
      if (dice.throw(2) === 0) await nextTurn()
    }
    forks.chain.refreshHead()
    const canonical = chainTo(forks.head).slice(base.number + 1)
    const heads = canonical.map(({ hash }) => hash).join()
    const logs = expectedLogs(canonical).join()
    const isDone = () => followers.every(({ view }, index) => view.join() === (index < 2 ? heads : logs))
    for (let turn = 0; turn < 100_000 && !isDone(); turn++) {
      for (const follower of followers) {
        if (follower.client === undefined) follower.connect()
        follower.read(Number.POSITIVE_INFINITY)
      }
      await nextTurn()
    }
    if (!isDone()) throw new Error('a client never came to have the whole chain')
    total.runs++
    total.blocks += canonical.length
    for (const follower of followers) {
      total.cuts += follower.cuts
      follower.cut()
    }
  }
  await fc.assert(
    fc.asyncProperty(fc.noShrink(fc.integer()), run),
    propertyRuns(200) as fc.Parameters<[number]>,
  )
  t.comment(JSON.stringify(total))
  t.equal(total.runs, 200 * runsFactor)
  t.ok(total.cuts > 400 && total.forks > 200)
})
