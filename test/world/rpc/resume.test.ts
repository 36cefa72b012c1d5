// @shares
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { type Deferred, defer } from '../../../src/primitives/deferred.js'
import type { MadeBlock } from '../../ingest/chainMaker.js'
import { ledgerAddress, payees, paymentPlan, paymentsIn } from '../../ingest/payments.js'
import { makeReplayedChain, type ReplayedChain } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { Dice, propertyRuns, runsFactor } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { quantity } from '../../rpc/demoChain.js'
import type { Service } from '../../service/service.js'
import { type ChainCopy, HeadCopy, LogCopy, logLine } from '../../streams/chainCopies.js'
import { SocketClient } from '../../transport/socketClient.js'

/** Chains, each replayed once; `RUNS=10` for more of them. */
const chains = Math.ceil(2 * runsFactor)
const length = 40
const from = 8
/** Fewest blocks of a branch. */
const branchBlocksMin = 3
/** Clients of each kind that are cut off, besides one that never is. */
const cutClients = 4
/** Maximum number of heads while a client is connected, if no event cuts it off, and while it is away. */
const connectedHeadsMax = 8
const awayHeadsMax = 6
/** Turns of the event loop from the moment of a head to a cut: the events go out and come in meanwhile. */
const cutTurnsMax = 6

/** Payments to the last of the payees are not requested. */
const wantedPayees: readonly string[] = payees.slice(0, 2)
const paddedPayees = wantedPayees.map((payee) => `0x${payee.slice(2).toLowerCase().padStart(64, '0')}`)
const kinds = {
  newHeads: { filter: {}, copy: HeadCopy },
  logs: { filter: { address: ledgerAddress, topics: [null, null, paddedPayees] }, copy: LogCopy },
} as const
type Kind = keyof typeof kinds

const hashOf = ({ hash }: MadeBlock) => bytesToHex(hash)

/** A step that a client took: a block more, or one less, and its last block after it. */
interface Step {
  readonly hash: string
  readonly removed: boolean
  readonly last: string
}

/** The messages of one connection. */
interface Connection {
  readonly start: string
  readonly steps: Step[]
}

/** A client that follows the chain, cut off or not, until it is stopped. */
class Follower {
  readonly copy: ChainCopy
  readonly connections: Connection[] = []
  /** Cuts at which a part of a block's logs may have been missing. */
  forgotten = 0
  #isCalm = false
  #isStopped = false
  /** Number of heads until it is cut off or connects again, and the action then. */
  #headsToCome = 0
  #then: (() => void) | undefined
  #client: SocketClient | undefined
  readonly #url: string
  /** Decides when the connection is cut off; if undefined, it never is. */
  readonly #dice: Dice | undefined

  constructor(
    url: string,
    readonly kind: Kind,
    base: string,
    dice: Dice | undefined,
  ) {
    this.#url = url
    this.#dice = dice
    this.copy = new kinds[kind].copy(base)
  }

  /** Connects repeatedly, sometimes after a while. Throws Error if a message of the server does not fit. */
  async follow(): Promise<void> {
    while (!this.#isStopped) {
      await this.#followOnce()
      if (this.#isCalm || this.#dice?.throw(2) !== 0) continue
      const back: Deferred<void> = defer()
      this.#after(this.#dice.throw(awayHeadsMax), back.resolve)
      await back.promise
    }
  }

  /** To be called when a head is about to come. */
  onHead(): void {
    if (this.#headsToCome-- === 0) this.#proceed()
  }

  /** Ends all cuts, and connects again if it is away. */
  calm(): void {
    this.#isCalm = true
    this.#proceed()
  }

  stop(): void {
    this.#isStopped = true
    this.#client?.cut()
  }

  async #followOnce(): Promise<void> {
    const { copy, kind } = this
    const dice = this.#dice
    const connection: Connection = { start: copy.last, steps: [] }
    let isCut = false
    const client = await SocketClient.connect(this.#url)
    this.#client = client
    this.connections.push(connection)
    const cut = () => {
      if (this.#isCalm) return
      isCut = true
      client.cut()
    }
    // The connection is cut after a time, even before the answer, or right after an event. Later events are lost.
    const isTimed = dice?.throw(2) === 0
    if (isTimed) {
      const cutSoon = async () => {
        for (let turns = dice.throw(cutTurnsMax); turns > 0; turns--) await nextTurn()
        cut()
      }
      const heads = dice.throw(connectedHeadsMax)
      if (heads === 0) void cutSoon()
      else this.#after(heads - 1, () => void cutSoon())
    }
    const eventsMax = dice === undefined || isTimed ? Number.POSITIVE_INFINITY : 1 + dice.throw(12)
    const params = [kind, { ...kinds[kind].filter, fromBlock: copy.last }]
    client.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params }))
    let id: string | undefined
    let count = 0
    while (!isCut && !this.#isStopped) {
      const text = await client.next()
      if (text === undefined) break
      const message = JSON.parse(text)
      if (id === undefined) {
        id = message.result
        if (id === undefined) throw new Error(`refused to resume from ${copy.last}: ${text}`)
        continue
      }
      const { subscription, seq, result } = message.params
      if (subscription !== id) throw new Error(`an event of ${subscription}, which is not ${id}`)
      if (seq !== ++count) throw new Error(`event ${seq} comes as number ${count}`)
      copy.take(result)
      connection.steps.push({ hash: result.hash, removed: result.removed === true, last: copy.last })
      if (count >= eventsMax) cut()
    }
    if (this.#isStopped) return client.cut()
    const { code } = await client.closed
    if (!isCut) throw new Error(`the server ended a connection with ${code}`)
    const before = copy.view.length
    copy.afterCut()
    if (copy.view.length !== before) this.forgotten++
  }

  #after(heads: number, then: () => void): void {
    this.#headsToCome = heads
    this.#then = then
    if (this.#isCalm) this.#proceed()
  }

  #proceed(): void {
    this.#then?.()
    this.#then = undefined
  }
}

/** Whether steps lead from one block to another without a detour: back to a common block, and on. */
function isDirect(steps: readonly Step[]): boolean {
  const turn = steps.findIndex(({ removed }) => !removed)
  const [back, on] = turn === -1 ? [steps, []] : [steps.slice(0, turn), steps.slice(turn)]
  const left = new Set(back.map(({ hash }) => hash))
  return on.every(({ removed, hash }) => !removed && !left.has(hash))
}

/**
 * Position of a client in `walk`, which has every step of a client that was never cut off. The client's connection
 * began at or after step `position`. It must first go straight to the position of the others, and then take each step
 * with them. Undefined if it did not; `position` if it was cut off before that.
 */
function positionAfter(walk: readonly Step[], position: number, { start, steps }: Connection) {
  let found: number | undefined
  for (let direct = 0; direct <= steps.length && isDirect(steps.slice(0, direct)); direct++) {
    const last = direct === 0 ? start : steps[direct - 1]?.last
    for (let at = position; at + steps.length - direct <= walk.length; at++) {
      const end = at + steps.length - direct
      if ((found !== undefined && end >= found) || walk[at - 1]?.last !== last) continue
      const together = walk.slice(at, end)
      if (together.every(({ hash, removed }, index) => isStep(steps[direct + index], hash, removed)))
        found = end
    }
  }
  return found ?? (isDirect(steps) ? position : undefined)
}

function isStep(step: Step | undefined, hash: string, removed: boolean): boolean {
  return step?.hash === hash && step.removed === removed
}

/** Blocks of the chain file alternate with branches, which unwind and add several blocks each. */
function makeChain(dice: Dice): Promise<ReplayedChain> {
  const reorganisations = dice
    .times(5, () => dice.throw(3))
    .map((extra, index) => ({
      after: from + 4 + 6 * index + extra,
      back: 1 + dice.throw(4),
      blocks: branchBlocksMin + dice.throw(3),
    }))
  return makeReplayedChain(t, { length, from, intervalMs: 1, reorganisations, planOf: paymentPlan })
}

/** The canonical chain at the end, from block 1 on. */
function lastChain({ blocks, branches }: ReplayedChain, head: MadeBlock): MadeBlock[] {
  const known = new Map<string, MadeBlock>(
    [...blocks, ...branches.flat()].map((made) => [hashOf(made), made]),
  )
  const chain: MadeBlock[] = []
  let made: MadeBlock | undefined = head
  for (; made !== undefined; made = known.get(bytesToHex(made.block.header.parentHash))) chain.unshift(made)
  return chain
}

/** Logs that the filter asks for, as their block counts them. */
function wantedLogs(made: MadeBlock): string[] {
  return paymentsIn(made).flatMap(({ payee }, index) =>
    (wantedPayees as readonly string[]).includes(payee) ? [logLine(hashOf(made), index)] : [],
  )
}

async function servedHashes(service: Service, head: number): Promise<string[]> {
  const hashes: string[] = []
  for (let number = 0; number <= head; number++) {
    hashes.push((await service.call('eth_getBlockByNumber', [quantity(number), false])).result.hash)
  }
  return hashes
}

/** Every client gets the chain from the genesis on. Ends once all clients have all of it. */
async function followToTheEnd(t: Test, chain: ReplayedChain, service: Service, steps: Steps, dice: Dice) {
  const head = chain.heads.at(-1) as MadeBlock
  const canonical = lastChain(chain, head)
  const views = { newHeads: canonical.map(hashOf), logs: canonical.flatMap(wantedLogs) }
  const url = `${service.origin.replace('http', 'ws')}/tides/ws`
  const [genesis = ''] = await servedHashes(service, 0)
  const watching = new Follower(url, 'newHeads', genesis, undefined)
  const followers = [watching, new Follower(url, 'logs', genesis, undefined)]
  for (const kind of ['newHeads', 'logs'] as const) {
    for (let i = 0; i < cutClients; i++) {
      followers.push(new Follower(url, kind, genesis, new Dice(dice.throw(2 ** 31))))
    }
  }
  const following = Promise.all(followers.map((follower) => follower.follow()))
  const play = async () => {
    for (const made of chain.heads.slice(1)) {
      for (const follower of followers) follower.onHead()
      await steps.next()
      // A client that is never cut off gets every head, even if it is slow.
      await waitFor('a head', () => watching.copy.last === hashOf(made))
    }
    for (const follower of followers) follower.calm()
    await waitFor('the whole chain at every client', () =>
      followers.every(({ kind, copy }) => copy.view.join() === views[kind].join()),
    )
  }
  try {
    await Promise.race([following, play()])
  } finally {
    for (const follower of followers) follower.stop()
  }
  await following
  t.strictSame(await servedHashes(service, head.number), [genesis, ...views.newHeads])
  for (const { kind, copy } of followers) t.strictSame(copy.view, views[kind])
  return { watching, followers }
}

t.test('clients cut off at random moments have each block, log and reorganisation once', async (t) => {
  const dice = new Dice(propertyRuns(1).seed ?? 0)
  const total = { branches: 0, connections: 0, steps: 0, rollbacks: 0, resumedAside: 0, forgotten: 0 }
  for (let run = 0; run < chains; run++) {
    const chain = await makeChain(dice)
    const steps = await Steps.listen(t)
    const service = await chain.start(steps.env())
    t.teardown(() => service.stop())
    await steps.reached()
    const { watching, followers } = await followToTheEnd(t, chain, service, steps, dice)
    t.equal(await service.stop(), 0)
    const walk = watching.connections.flatMap(({ steps }) => steps)
    for (const branch of chain.branches) {
      const isSeen = (removed: boolean) =>
        walk.some((step) => branch.some((made) => isStep(step, hashOf(made), removed)))
      t.ok(isSeen(false) && isSeen(true), 'a reorganisation is seen to come and to go')
      total.branches++
    }
    for (const { kind, connections, forgotten } of followers) {
      total.connections += connections.length
      total.forgotten += forgotten
      if (kind === 'logs') continue
      let position: number | undefined = 0
      for (const connection of connections) {
        position = positionAfter(walk, position, connection)
        if (position === undefined) {
          t.fail('a client was led astray', { walk, connection })
          break
        }
        total.steps += connection.steps.length
        total.rollbacks += connection.steps.filter(({ removed }) => removed).length
        if (connection.steps[0]?.removed) total.resumedAside++
      }
    }
  }
  t.comment(JSON.stringify(total))
  t.ok(total.connections > 50 && total.resumedAside > 2 && total.forgotten > 10)
})
