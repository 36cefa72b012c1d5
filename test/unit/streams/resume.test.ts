import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { Endpoint } from '../../../src/rpc/dispatch.js'
import { propertyRuns } from '../../property.js'
import {
  addressOfNumber,
  type ChosenLog,
  chainTo,
  type ForkBlock,
  type ForkingChain,
  growFrom,
} from './forkingChain.js'
import { openStreams } from './openStreams.js'
import { type Event, limits, TestClient } from './testClient.js'

/** Choices of one run, all from one seed. */
class Dice {
  constructor(private state: number) {}

  /** 0 to `sides` − 1 (mulberry32). */
  throw(sides: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides)
  }

  times<T>(count: number, make: () => T): T[] {
    return Array.from({ length: count }, make)
  }
}

/** What of the chain a client wants and how it keeps what it is sent, with a connection that may end at any time. */
abstract class Follower {
  client: TestClient | undefined
  cuts = 0
  protected id = ''
  #seen = 0
  #next = 1

  constructor(
    private readonly endpoint: Endpoint,
    private readonly dice: Dice,
    /** The last block that it has at first. */
    protected readonly base: ForkBlock,
  ) {}

  /** Parameters of the first subscription, or of the one that goes on from what it has. */
  protected abstract params(): unknown[]
  protected abstract take(result: Event): void
  /** Forgets what may be incomplete. */
  protected abstract afterCut(): void
  /** What it has of the chain, one line an item. */
  abstract readonly view: readonly string[]

  connect(): void {
    const client = new TestClient(this.endpoint, { ...limits, queueBytesDefault: this.dice.throw(6_000) })
    client.isReading = this.dice.throw(3) > 0
    this.client = client
    this.id = client.subscribe(...this.params())
    this.#seen = 0
    this.#next = 1
  }

  /** Reads what has come, up to `bytes` of what lies unread. */
  read(bytes: number): void {
    const { client } = this
    if (client === undefined) return
    client.read(bytes)
    const events = client.sent.slice(this.#seen)
    this.#seen = client.sent.length
    for (const { params } of events.map((text) => JSON.parse(text))) {
      if (params?.subscription !== this.id) continue
      if (params.seq !== this.#next++)
        throw new Error(`event ${params.seq} comes as number ${this.#next - 1}`)
      this.take(params.result)
    }
    if (client.closed !== undefined) this.cut()
  }

  cut(): void {
    if (this.client === undefined) return
    this.client.subscriber.close()
    this.client = undefined
    this.cuts++
    this.afterCut()
  }
}

class HeadFollower extends Follower {
  readonly #heads: string[] = []

  protected params(): unknown[] {
    return ['newHeads', { fromBlock: this.#heads.at(-1) ?? this.base.hash }]
  }

  protected take(head: Event): void {
    if (head.removed) {
      if (this.#heads.pop() !== head.hash)
        throw new Error(`a rollback of ${head.number}, which was not the last`)
      return
    }
    if ((this.#heads.at(-1) ?? this.base.hash) !== head.parentHash) {
      throw new Error(`block ${head.number} does not follow`)
    }
    this.#heads.push(head.hash)
  }

  protected afterCut(): void {}

  get view(): readonly string[] {
    return this.#heads
  }
}

/**
 * Wants the logs of two contracts. A cut may come in the midst of a block's logs, so what it was told of the last
 * block counts only once it hears of another.
 */
class LogFollower extends Follower {
  readonly #blocks: { readonly hash: string; readonly logs: readonly string[] }[] = []
  #last: { readonly hash: string; readonly removed: boolean; readonly logs: string[] } | undefined

  static readonly wanted = [addressOfNumber(1), addressOfNumber(2)]

  protected params(): unknown[] {
    const fromBlock = this.#blocks.at(-1)?.hash ?? this.base.hash
    return ['logs', { address: LogFollower.wanted, fromBlock }]
  }

  protected take({ blockHash: hash, logIndex, removed }: Event): void {
    const line = logLine(hash, Number(logIndex))
    const last = this.#last
    if (last !== undefined && last.hash === hash && last.removed === removed) {
      if (last.logs.includes(line)) throw new Error(`${line} comes twice`)
      last.logs.push(line)
    } else {
      this.#settle()
      this.#last = { hash, removed, logs: [line] }
    }
  }

  protected afterCut(): void {
    this.#last = undefined
  }

  #settle(): void {
    const last = this.#last
    if (last === undefined) return
    this.#last = undefined
    if (!last.removed) {
      this.#blocks.push(last)
      return
    }
    const top = this.#blocks.pop()
    if (top?.hash !== last.hash || top.logs.join() !== last.logs.toReversed().join()) {
      throw new Error(`the logs of ${last.hash} are taken back otherwise than they came`)
    }
  }

  get view(): readonly string[] {
    const last = this.#last
    const whole = last?.removed ? this.#blocks.slice(0, -1) : this.#blocks
    return [...whole.flatMap(({ logs }) => logs), ...(last?.removed === false ? last.logs : [])]
  }
}

function logLine(hash: string, index: number): string {
  return `${hash}:${index}`
}

function expectedLogs(blocks: readonly ForkBlock[]): string[] {
  return blocks.flatMap(({ hash, logs }) =>
    logs.flatMap(({ address }, index) =>
      LogFollower.wanted.includes(address) ? [logLine(hash, index)] : [],
    ),
  )
}

/**
 * Writes blocks, sometimes on a fork and sometimes on a branch that was left before, and lets the chain look now or
 * later. No fork goes back beyond `root`. Whether it left a branch, which it adds to `left`.
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
      new HeadFollower(endpoint, dice, base),
      new HeadFollower(endpoint, dice, base),
      new LogFollower(endpoint, dice, base),
      new LogFollower(endpoint, dice, base),
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
    for (let turn = 0; turn < 1_000 && !isDone(); turn++) {
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
  t.equal(total.runs, 200)
  t.ok(total.cuts > 400 && total.forks > 200)
})
