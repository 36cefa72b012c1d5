/**
 * A storm of upstreams: five honest nodes, of which three lag, and four that lie. Their chain reorganises up to 64
 * blocks deep every few steps. Owns the steps of the storm, and the checks of a client, which compare each answer with
 * the chain itself.
 *
 * A short storm, as in CI, counts in steps. A step comes only after the nodes were asked for their heads: on a slow
 * machine blocks come slower, too. A long storm (`STORM_SECONDS=600`) counts in seconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { contracts } from '../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { Dice, propertyRuns } from '../library/property.js'
import { waitFor } from '../library/until.js'
import { get } from '../service/httpClient.js'
import type { Service } from '../service/service.js'
import { accounts, ancestor, depthMax, type StormBlock, StormChain } from './stormChain.js'
import { HonestNode, type Lie, LyingNode, lies } from './stormNodes.js'

/** Duration of a storm; `STORM_SECONDS=600` for the long one. */
const seconds = Number(process.env.STORM_SECONDS ?? 20)
export const isLong = seconds > 120
/** On a machine that is too slow for more: all lies and a reorganisation are among them. */
const stepsMin = 12
/** Time between two steps, at least. */
const stepMs = 500
/** Questions for its head that a node gets in a step, at least; on a machine that is not busy there are more. */
const pollRounds = 3
/** Steps by which the honest nodes lag. */
const lags = [0, 0, 1, 2, 3]
const liarCount = 4
/** Steps after which each lying node changes its kind of lie. */
const lieSteps = 6
/** Time between two looks. At each, a hostile client requests orphaned state. */
const lookMs = 100
/** Longest age of the head in 99 % of looks: in time and, twice as long because there are few looks, in steps. */
const ageMsMax = 5_000
const ageStepsMax = (2 * ageMsMax) / stepMs
/** Longest wait of one step for a service that is behind. */
const keepUpMsMax = 30_000
/** Longest total pause of honest nodes. */
const heldOffSecondsMax = 10

/** Kinds of faults, each reported once: a fault at one check is usually there at many. */
const wrongsMax = 20

export interface LookOptions {
  /** Share of checks at which the head may be too old; if absent, 1 %. */
  readonly lateShareMax?: number
  /** Whether an error is a right answer to a question about the chain as it is. */
  readonly mayFail: (message: string) => boolean
  /** Whether a refusal is about the state of a block that left the chain. */
  readonly mayRefuseOrphan: (message: string) => boolean
}

/** Resolves once the service has the newest block. */
export async function reachesTip(service: Service, chain: StormChain): Promise<void> {
  const { number, hash } = chain.tip
  await waitFor(`block ${number} (${hash})`, async () => {
    return (await service.call('eth_getBlockByNumber', ['latest', false])).result?.hash === hash
  })
}

/** Longest time for a node's answer, in ms: on a busy machine this process, which is all nodes, may get no core for seconds. */
export const nodeMs = 5_000

export class Storm {
  readonly chain: StormChain
  readonly honest: readonly HonestNode[]
  readonly liars: readonly LyingNode[]
  /** Genesis file of the nodes' chain. */
  readonly genesisPath: string
  readonly looks = { count: 0, late: 0, oldestMs: 0, oldestSteps: 0, failed: 0, lost: 0, orphansRefused: 0 }
  /** The faults, as sentences, by their words. */
  readonly #wrongs = new Map<string, string>()
  /** The head at the last look. */
  #seen: StormBlock | undefined
  readonly #t: Test
  readonly #dice: Dice
  readonly #liesOfRound: Lie[] = []

  private constructor(t: Test, chain: StormChain, dice: Dice) {
    this.#t = t
    this.chain = chain
    this.#dice = dice
    this.genesisPath = writeInto(makeFolder(t), 'genesis.json', JSON.parse(chain.maker.genesisText))
    this.honest = lags.map((lagSteps, index) => new HonestNode(chain, { lagSteps, hasRaw: index % 2 === 0 }))
    this.liars = Array.from({ length: liarCount }, () => new LyingNode(chain, dice))
  }

  /** The nodes, listening, before the first step. They end with the test. */
  static async open(t: Test): Promise<Storm> {
    const dice = new Dice(propertyRuns(1).seed as number)
    const storm = new Storm(t, await StormChain.create(dice), dice)
    for (const { node } of [...storm.liars, ...storm.honest]) {
      await node.start()
      t.teardown(() => node.stop())
    }
    return storm
  }

  /** URLs of the nodes, lying ones first. */
  get urls(): string[] {
    return [...this.liars, ...this.honest].map(({ node }) => node.url)
  }

  /** Runs the storm around a service with these nodes as upstreams, checks it all the time, and tests the results. */
  async rage(service: Service, options: LookOptions): Promise<void> {
    const t = this.#t
    await reachesTip(service, this.chain)
    await waitFor('the health of it', async () => (await this.#health(service)).isWell)
    const ending = new AbortController()
    const looking = this.#look(service, options, ending.signal)
    const endMs = performance.now() + seconds * 1_000
    let reorganisations = 0
    try {
      const isOver = () => performance.now() >= endMs && this.chain.step >= stepsMin
      while (!isOver() && service.process.exitCode === null) {
        if ((await this.#step()) > 0) reorganisations++
        if (!isLong && options.lateShareMax === undefined) await this.#keptUp(service)
      }
    } finally {
      ending.abort()
      await looking
    }
    const { count, late, failed, lost, orphansRefused, oldestMs, oldestSteps } = this.looks
    t.comment(
      `${this.chain.step} steps, ${reorganisations} reorganisations, ${count} looks: the oldest head was ${oldestSteps} steps ` +
        `(${Math.round(oldestMs)} ms) old, ${late} were late; ${failed} questions failed, ${lost} got no answer, ${orphansRefused} about orphans were refused`,
    )
    t.ok(reorganisations > 0 && count > 0, 'there was a storm')
    t.ok(late <= count * (options.lateShareMax ?? 0.01), `the head was too old in ${late} of ${count} looks`)
    t.ok(lost <= count / 100, `${lost} questions got no answer`)
    t.equal(service.process.exitCode ?? service.process.signalCode, null, 'it runs')
    t.ok(this.#heldOffSeconds(service) <= heldOffSecondsMax, 'no honest node was held off')
    t.strictSame([...this.#wrongs.values()], [], 'nothing wrong was seen')
    if (!t.passing()) t.comment(service.said.err)
    if (service.process.exitCode !== null) return
    this.chain.rest(Math.max(...lags))
    await reachesTip(service, this.chain)
  }

  /** The next lie. Each round has every lie once, so that a short storm has all. */
  #nextLie(): Lie {
    if (this.#liesOfRound.length === 0) this.#liesOfRound.push(...lies)
    const [lie = 'busy'] = this.#liesOfRound.splice(this.#dice.throw(this.#liesOfRound.length), 1)
    return lie
  }

  /** Resolves to the number of blocks that the chain unwound. */
  async #step(): Promise<number> {
    const { chain, honest } = this
    const asked = this.#polls
    const pause = sleep(stepMs)
    const takenBack = await chain.advance()
    // Blocks are made one at a time.
    for (const liar of this.liars) await liar.onStep()
    if (chain.step % lieSteps === 1) {
      for (const liar of this.liars) await liar.turnTo(this.#nextLie())
    }
    await pause
    // Some rounds, in all: a lagging node may be asked less often than another.
    if (!isLong) await waitFor('questions for heads', () => this.#polls >= asked + pollRounds * honest.length)
    return takenBack
  }

  /** A busy machine makes the storm slower, not the service late. The checks decide whether the service is late. */
  async #keptUp(service: Service): Promise<void> {
    const endMs = performance.now() + keepUpMsMax
    while (performance.now() < endMs && service.process.exitCode === null) {
      const { result } = await service
        .call('eth_getBlockByNumber', ['latest', false])
        .catch(() => ({ result: null }))
      const block = this.#known(result?.hash)
      if (block !== undefined && this.chain.age(block).steps <= ageStepsMax / 2) return
      await sleep(lookMs)
    }
  }

  get #polls(): number {
    return this.honest.reduce((sum, { polls }) => sum + polls, 0)
  }

  async #look(service: Service, options: LookOptions, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pause = sleep(lookMs)
      const asked = [
        this.#lookAtHead(service),
        this.#lookAtHealth(service, options),
        this.#ask(service, options),
        this.#askForOrphan(service, options),
      ]
      // A connection ends without an answer if either end did not get its core for long.
      for (const { status } of await Promise.allSettled(asked)) if (status === 'rejected') this.looks.lost++
      this.looks.count++
      await pause
    }
  }

  async #lookAtHead(service: Service): Promise<void> {
    const { result } = await service.call('eth_getBlockByNumber', ['latest', false])
    const block = this.#known(result?.hash)
    if (block === undefined) return this.#wrong(`the head is ${result?.hash}`)
    this.#seen = block
    const { steps, ms } = this.chain.age(block)
    const { looks } = this
    looks.oldestMs = Math.max(looks.oldestMs, ms)
    looks.oldestSteps = Math.max(looks.oldestSteps, steps)
    if (isLong ? ms > ageMsMax : steps > ageStepsMax) looks.late++
  }

  async #lookAtHealth(service: Service, { lateShareMax }: LookOptions): Promise<void> {
    const { isWell, isBehind, text } = await this.#health(service)
    // A service that may be late reports that.
    if (!isWell && !(isBehind && lateShareMax !== undefined)) this.#wrong(`/health says ${text}`)
  }

  async #health({ origin }: Service) {
    const { status: code, text } = await get(`${origin}/health`)
    const { status, networks } = JSON.parse(text)
    const { syncing } = networks.dev
    const isWell = code === 200 && status === 'ok' && syncing === false
    return { isWell, isBehind: status === 'syncing' && syncing === true, text: text as string }
  }

  /** A question about a block that the service has, by its hash or as `latest`. */
  async #ask(service: Service, { mayFail, lateShareMax }: LookOptions): Promise<void> {
    const dice = this.#dice
    const address = accounts[dice.throw(accounts.length)] as string
    const slot = dice.throw(4)
    const base = lateShareMax === undefined ? this.chain.tipAt(this.chain.step - ageStepsMax) : this.#seen
    if (base === undefined) return
    const old = ancestor(base, Math.max(base.number - depthMax - dice.throw(8), 1)) as StormBlock
    const questions: readonly (readonly [
      method: string,
      params: readonly unknown[],
      expected: (block: StormBlock) => unknown,
    ])[] = [
      ['eth_getBalance', [address, 'latest'], (block) => this.#balance(block, address)],
      ['eth_getBalance', [address, { blockHash: old.hash }], () => this.#balance(old, address)],
      [
        'eth_getStorageAt',
        [contracts.store, `0x${slot}`, 'latest'],
        async (block) => `0x${(await this.chain.slot(block, slot)).toString(16).padStart(64, '0')}`,
      ],
      ['debug_getRawBlock', [old.hash], () => bytesToHex(old.made.rlp)],
      ['debug_getRawBlock', ['latest'], ({ made }) => bytesToHex(made.rlp)],
      ['debug_getRawReceipts', ['latest'], ({ made }) => made.receipts.map(bytesToHex)],
      [
        'eth_getBlockTransactionCountByHash',
        [old.hash],
        () => `0x${old.made.block.transactions.length.toString(16)}`,
      ],
    ]
    const [method, params, expected] = questions[dice.throw(questions.length)] as (typeof questions)[number]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const { text, block: named } = await service.post('/', body)
    const { result, error } = JSON.parse(text)
    if (error !== undefined) {
      this.looks.failed++
      if (!mayFail(error.message)) this.#wrong(`${body}: ${error.message}`)
      return
    }
    const block = this.#known(named?.split(' ')[1])
    if (block === undefined) return this.#wrong(`${body} was answered from block ${named}`)
    const right = await expected(block)
    if (JSON.stringify(result) !== JSON.stringify(right)) {
      this.#wrong(`${body} at ${named}: ${JSON.stringify(result)}, not ${JSON.stringify(right)}`)
    }
  }

  async #askForOrphan(service: Service, { mayRefuseOrphan }: LookOptions): Promise<void> {
    const { orphans } = this.chain
    const orphan = orphans[orphans.length - 1 - this.#dice.throw(Math.min(orphans.length, 2 * depthMax))]
    if (orphan === undefined) return
    const address = accounts[this.#dice.throw(accounts.length)] as string
    const params = [address, { blockHash: orphan.hash }]
    const { result, error } = await service.call('eth_getBalance', params)
    if (error !== undefined) {
      this.looks.orphansRefused++
      if (!mayRefuseOrphan(error.message)) this.#wrong(`the balance at an orphan: ${error.message}`)
    } else if (result !== (await this.#balance(orphan, address))) {
      this.#wrong(`the balance of ${address} at the orphan ${orphan.number} (${orphan.hash}) is ${result}`)
    }
  }

  async #balance(block: StormBlock, address: string): Promise<string> {
    return `0x${(await this.chain.balance(block, address)).toString(16)}`
  }

  #known(hash: string | undefined): StormBlock | undefined {
    const block = this.chain.blocks.get(String(hash))
    return block?.isValid === true ? block : undefined
  }

  #wrong(what: string): void {
    const kind = what.replace(/0x[0-9a-f]+|\d+/g, '')
    if (this.#wrongs.size < wrongsMax && !this.#wrongs.has(kind)) this.#wrongs.set(kind, what)
  }

  /** Time for which honest nodes were not asked because of alleged lies, from the log. */
  #heldOffSeconds({ said }: Service): number {
    const names = new Set(this.honest.map(({ node }) => node.url.slice('http://'.length)))
    const held = [...said.err.matchAll(/(127\.0\.0\.1:\d+) lied: (.*?); it is not asked for ([\d.]+) s/g)]
    const wrongly = held.filter(([, name]) => names.has(name as string))
    for (const [text] of wrongly) this.#t.comment(text)
    return wrongly.reduce((sum, [, , , time]) => sum + Number(time), 0)
  }
}
