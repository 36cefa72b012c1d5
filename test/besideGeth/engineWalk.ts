/**
 * A random consensus client: gives both programs the same blocks, valid and invalid, on branches of one chain, and
 * chooses the same heads. Owns the steps, and the compared parts of answers. A seed makes the same steps each time, as
 * long as both answers are equal.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Dice } from '../library/property.js'
import { firstDifference, type Verdict } from './comparison.js'
import type { Answer, Question } from './endpoint.js'
import type { EngineClient } from './engineClient.js'
import {
  changed,
  type EngineFork,
  type Given,
  includes,
  type Json,
  malformed,
  payloadParams,
  randomHash,
  rehashed,
  versions,
} from './enginePayloads.js'
import { inventTransaction, senders } from './inventedChain.js'
import { engineReasons } from './knownDifferences.js'
import type { Programs } from './programs.js'

export interface EnginePair {
  readonly geth: EngineClient
  readonly ours: EngineClient
}

/** A block that both know, or that only this client has. */
interface Node {
  readonly hash: string
  readonly number: number
  readonly timestamp: number
  readonly parent: Node | undefined
  /** Undefined for the genesis. */
  readonly given: Given | undefined
}

/** A gap in geth's memory. */
interface Gap {
  readonly reason: string
  readonly answer: Answer | undefined
}

type Took = (question: Question, verdict: Verdict) => void

const zeroHash = `0x${'0'.repeat(64)}`
/** Parents are mostly among the newest blocks: older ones have long branches, which are executed again here. */
const nearBlocks = 24
/** Withheld and invalid blocks that are remembered for later steps. */
const rememberedMax = 16
/** Longest branch back from the head that is chosen again, so that both keep all states that they need. */
const backMax = 48

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Statuses, hashes and codes; sentences and payload ids are each program's own. */
export function comparedOf(answer: Answer): unknown {
  const { result, error } = answer
  if (error !== undefined) return { code: error.code }
  if (!isObject(result)) return result
  if (isObject(result.payloadStatus)) {
    return { payloadStatus: statusOf(result.payloadStatus), hasId: typeof result.payloadId === 'string' }
  }
  return 'status' in result ? statusOf(result) : result
}

function statusOf({ status, latestValidHash, validationError }: Json): Json {
  return { status, latestValidHash, isExplained: typeof validationError === 'string' }
}

export class EngineWalk {
  readonly #pair: EnginePair
  readonly #dice: Dice
  readonly #programs: Programs
  readonly #forkAt: (timestamp: number) => EngineFork
  readonly #took: Took
  /** Valid blocks that both programs have, the oldest first. */
  readonly #known: Node[]
  readonly #withheld: Node[] = []
  readonly #invalid: Node[] = []
  #head: Node
  #highest: Node
  #step = 0

  constructor(
    pair: EnginePair,
    {
      genesis,
      dice,
      programs,
      forkAt,
      took,
    }: {
      readonly genesis: { readonly hash: string; readonly timestamp: number }
      readonly dice: Dice
      readonly programs: Programs
      readonly forkAt: (timestamp: number) => EngineFork
      /** Gets each question with the result of comparing both answers. */
      readonly took: Took
    },
  ) {
    this.#pair = pair
    this.#dice = dice
    this.#programs = programs
    this.#forkAt = forkAt
    this.#took = took
    this.#head = { ...genesis, number: 0, parent: undefined, given: undefined }
    this.#highest = this.#head
    this.#known = [this.#head]
  }

  get blocks(): number {
    return this.#known.length
  }

  async step(): Promise<void> {
    this.#step++
    const chance = this.#dice.throw(100)
    if (chance < 40) await this.#grow()
    else if (chance < 62) await this.#choose()
    else if (chance < 70) await this.#giveAgain()
    else if (chance < 78) await this.#giveUnlinked()
    else if (chance < 84) await this.#giveWithheld()
    else if (chance < 90) await this.#askBodies()
    else if (chance < 96) await this.#giveMalformed()
    else await this.#chooseUnknown()
  }

  /**
   * Answers of both; each asked alone, so that the calls of a step have one order. `base` is the parent of a given block,
   * or the chosen block. The result has geth's second answer where a gap in its memory made the difference.
   */
  async #ask(
    method: string,
    params: readonly unknown[],
    base?: Node,
  ): Promise<{ geth: Answer; ours: Answer }> {
    const question = { method, params }
    const [geth, ours] = await Promise.all([
      this.#pair.geth.call(method, params),
      this.#pair.ours.call(method, params),
    ])
    const [theirs, own] = [comparedOf(geth), comparedOf(ours)]
    if (isDeepStrictEqual(theirs, own)) {
      this.#took(question, { kind: 'same' })
      return { geth, ours }
    }
    const isGap = base !== undefined && isStatus(theirs, 'SYNCING') && isStatus(own, 'INVALID')
    const gap = isGap ? await this.#gapOf(question, base) : undefined
    const isKnown =
      gap !== undefined && (gap.answer === undefined || isDeepStrictEqual(comparedOf(gap.answer), own))
    const where = `step ${this.#step}: ${firstDifference(theirs, own) ?? ''}`
    this.#took(question, isKnown ? { kind: 'known', reasons: [gap.reason] } : { kind: 'different', where })
    return { geth: (isKnown && gap.answer) || geth, ours }
  }

  /**
   * Why geth may know nothing of `base`, and its answer once it has been reminded; no answer if it cannot be. Undefined if
   * there is no such reason.
   */
  async #gapOf(question: Question, base: Node): Promise<Gap | undefined> {
    const { geth } = this.#pair
    const answerAgain = () => geth.call(question.method, question.params)
    const parent = this.#known.find(({ hash }) => hash === base.hash)
    if (parent !== undefined) {
      const [{ blockNumber } = {}] = question.params as [{ readonly blockNumber?: string }?]
      if (blockNumber === undefined || Number(blockNumber) === parent.number + 1) return undefined
      // A block that was read by its hash is in geth's cache.
      await geth.call('eth_getBlockByHash', [parent.hash, false])
      return { reason: engineReasons.number, answer: await answerAgain() }
    }
    if (isEarly(base)) return { reason: engineReasons.early, answer: undefined }
    for (const { given } of this.#unstoredUpTo(base)) {
      const answer = await geth.call(...payloadCall(given as Given))
      if (!isStatus(comparedOf(answer), 'INVALID')) return undefined
    }
    return { reason: engineReasons.forgotten, answer: await answerAgain() }
  }

  /** A block and those below it that both do not have, the lowest first. */
  #unstoredUpTo(node: Node): readonly Node[] {
    const isKnown = this.#known.some(({ hash }) => hash === node.hash)
    if (isKnown || node.parent === undefined) return []
    return [...this.#unstoredUpTo(node.parent), node]
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#dice.throw(list.length)] as T
  }

  #someParent(): Node {
    const chance = this.#dice.throw(5)
    // The chain must get to all forks, for any choice of heads.
    if (chance < 3) return this.#highest
    return chance === 3 ? this.#head : this.#one(this.#known.slice(-nearBlocks))
  }

  /** Builds a block on a chosen parent, and gives it, a changed block, or none of both. */
  async #grow(): Promise<void> {
    const parent = this.#someParent()
    const node = await this.#build(parent)
    if (node === undefined) return
    const given = node.given as Given
    if (this.#dice.throw(3) === 0) await this.#give(childOf(parent, changed(given, this.#dice)))
    if (this.#dice.throw(6) === 0) remember(this.#withheld, node)
    else await this.#give(node)
  }

  async #build(parent: Node): Promise<Node | undefined> {
    const timestamp = parent.timestamp + 1 + this.#dice.throw(24)
    const fork = this.#forkAt(timestamp)
    const status = await this.#update(parent, zeroHash, zeroHash)
    if (status !== 'VALID') return undefined
    // geth builds in the background: its block without transactions is the same each time.
    const isOurs = this.#dice.throw(4) > 0
    if (isOurs) await this.#sendTransactions(fork)
    const version = versions.forkchoiceUpdated[fork]
    const attributes = this.#attributesOf(timestamp, fork)
    const { geth, ours } = await this.#ask(`engine_forkchoiceUpdatedV${version}`, [
      stateOf(parent.hash, zeroHash, zeroHash),
      attributes,
    ])
    const id = (isOurs ? ours : geth).result as { readonly payloadId?: string } | undefined
    if (typeof id?.payloadId !== 'string') return undefined
    const builder = isOurs ? this.#pair.ours : this.#pair.geth
    const { result } = await builder.call(`engine_getPayloadV${versions.getPayload[fork]}`, [id.payloadId])
    if (!isObject(result)) return undefined
    const beaconRoot = (attributes.parentBeaconBlockRoot as string | undefined) ?? zeroHash
    return childOf(parent, givenOf(result, fork, beaconRoot))
  }

  async #sendTransactions(fork: EngineFork): Promise<void> {
    const { ours } = this.#pair
    const nonces = await Promise.all(
      senders.map(async ({ address }) =>
        Number((await ours.call('eth_getTransactionCount', [address, 'latest'])).result),
      ),
    )
    for (let count = this.#dice.throw(4); count > 0; count--) {
      const hasDelegations = includes(fork, 'prague')
      const raw = await inventTransaction(this.#dice, this.#programs, hasDelegations, nonces)
      await ours.call('eth_sendRawTransaction', [`0x${Buffer.from(raw).toString('hex')}`])
    }
  }

  #attributesOf(timestamp: number, fork: EngineFork): Json {
    const withdrawals = Array.from({ length: this.#dice.throw(3) }, (_, at) => ({
      index: `0x${at.toString(16)}`,
      validatorIndex: '0x1',
      address: this.#programs.address(),
      amount: `0x${this.#dice.throw(1_000).toString(16)}`,
    }))
    return {
      timestamp: `0x${timestamp.toString(16)}`,
      prevRandao: randomHash(this.#dice),
      suggestedFeeRecipient: this.#programs.address(),
      ...(includes(fork, 'shanghai') && { withdrawals }),
      ...(includes(fork, 'cancun') && { parentBeaconBlockRoot: randomHash(this.#dice) }),
    }
  }

  async #give(node: Node): Promise<void> {
    const { geth, ours } = await this.#ask(...payloadCall(node.given as Given), node.parent)
    const [theirs, own] = [geth.result, ours.result].map((result) => (result as Json | undefined)?.status)
    if (theirs === 'VALID' && own === 'VALID') {
      if (this.#known.some(({ hash }) => hash === node.hash)) return
      this.#known.push(node)
      if (node.number > this.#highest.number) this.#highest = node
    } else if (theirs === 'INVALID' && own === 'INVALID') remember(this.#invalid, node)
  }

  /** The status that both agree on. */
  async #update(head: Node, safe: string, finalized: string): Promise<string | undefined> {
    const method = `engine_forkchoiceUpdatedV${versions.forkchoiceUpdated[this.#forkAt(head.timestamp)]}`
    const { geth, ours } = await this.#ask(method, [stateOf(head.hash, safe, finalized)])
    const [theirs, own] = [geth, ours].map(
      ({ result }) => (result as Json | undefined)?.payloadStatus as Json,
    )
    const isAgreed = theirs !== undefined && own !== undefined && theirs.status === own.status
    if (isAgreed && own.status === 'VALID') this.#head = head
    return isAgreed ? String(own.status) : undefined
  }

  /** A known head, with safe and finalized blocks of its chain, of another one, or unknown. */
  async #choose(): Promise<void> {
    const near = this.#known.slice(-backMax)
    const head = this.#one(near)
    const marker = (): string => {
      const chance = this.#dice.throw(20)
      if (chance < 5) return zeroHash
      if (chance === 5) return randomHash(this.#dice)
      if (chance < 8) return this.#one(near).hash
      return ancestorOf(head, this.#dice.throw(40)).hash
    }
    const before = this.#head
    const safe = marker()
    const chance = this.#dice.throw(8)
    const finalized = chance < 5 ? zeroHash : chance < 7 ? this.#lastCommon().hash : randomHash(this.#dice)
    const status = await this.#update(head, safe, finalized)
    // go-ethereum moves the head before it refuses the others; both begin again from one head.
    if (status === undefined) await this.#update(before, zeroHash, zeroHash)
  }

  /** go-ethereum drops blocks beside the finalized one, so it is an ancestor of all blocks that later steps name. */
  #lastCommon(): Node {
    const others = [...this.#withheld, ...this.#invalid].flatMap(({ parent }) => parent ?? [])
    return [...this.#known.slice(-backMax), ...others].reduce(commonAncestor, this.#head)
  }

  async #chooseUnknown(): Promise<void> {
    const lists = [this.#withheld, this.#invalid]
    const list = this.#one(lists)
    const node = list.length > 0 ? this.#one(list) : undefined
    const hash = node === undefined || this.#dice.throw(3) === 0 ? randomHash(this.#dice) : node.hash
    const version = versions.forkchoiceUpdated[this.#forkAt((node ?? this.#head).timestamp)]
    const chosen = hash === node?.hash ? node : undefined
    await this.#ask(`engine_forkchoiceUpdatedV${version}`, [stateOf(hash, zeroHash, zeroHash)], chosen)
  }

  async #giveAgain(): Promise<void> {
    const isInvalid = this.#invalid.length > 0 && this.#dice.throw(2) === 0
    const node = this.#one(isInvalid ? this.#invalid : this.#known.slice(-nearBlocks))
    if (node.given === undefined) return
    if (isInvalid && this.#dice.throw(2) === 0) await this.#give(heirOf(node, this.#dice))
    else await this.#give(node)
  }

  /** A child of a block that is withheld, or of an unknown block. */
  async #giveUnlinked(): Promise<void> {
    const node = this.#withheld.length > 0 ? this.#one(this.#withheld) : this.#head
    if (node.given === undefined) return
    await this.#give(heirOf(node, this.#dice, this.#dice.throw(3) === 0))
  }

  async #giveWithheld(): Promise<void> {
    const node = this.#withheld.shift()
    if (node !== undefined) await this.#give(node)
  }

  async #giveMalformed(): Promise<void> {
    const node = this.#one(this.#known.slice(-nearBlocks))
    if (node.given === undefined) return
    const version = this.#dice.throw(4) === 0 ? 1 + this.#dice.throw(4) : versions.newPayload[node.given.fork]
    await this.#ask(`engine_newPayloadV${version}`, payloadParams(malformed(node.given, this.#dice)))
  }

  async #askBodies(): Promise<void> {
    if (this.#dice.throw(2) === 0) {
      const hashes = Array.from({ length: 1 + this.#dice.throw(5) }, () =>
        this.#dice.throw(4) === 0 ? randomHash(this.#dice) : this.#one(this.#known.slice(-backMax)).hash,
      )
      await this.#ask('engine_getPayloadBodiesByHashV1', [hashes])
      return
    }
    const start = this.#dice.throw(this.#head.number + 4)
    const [from, count] = [start, this.#dice.throw(8)].map((value) => `0x${value.toString(16)}`)
    await this.#ask('engine_getPayloadBodiesByRangeV1', [from, count])
  }
}

const payloadCall = (given: Given) =>
  [`engine_newPayloadV${versions.newPayload[given.fork]}`, payloadParams(given)] as const

/** Whether a block's time is not above its parent's. */
const isEarly = (node: Node): boolean => node.parent !== undefined && node.timestamp <= node.parent.timestamp

/** Whether a compared answer has this status, of a payload or of a choice. */
function isStatus(compared: unknown, status: string): boolean {
  const { payloadStatus, status: own } = compared as {
    readonly payloadStatus?: Json
    readonly status?: string
  }
  return (payloadStatus?.status ?? own) === status
}

const stateOf = (headBlockHash: string, safeBlockHash: string, finalizedBlockHash: string) => ({
  headBlockHash,
  safeBlockHash,
  finalizedBlockHash,
})

function ancestorOf(node: Node, depth: number): Node {
  let at = node
  for (let left = depth; left > 0 && at.parent !== undefined; left--) at = at.parent
  return at
}

function commonAncestor(a: Node, b: Node): Node {
  if (a === b) return a
  const [lower, higher] = a.number < b.number ? [a, b] : [b, a]
  return higher.parent === undefined ? higher : commonAncestor(lower, higher.parent)
}

function childOf(parent: Node, given: Given): Node {
  const { blockHash, timestamp } = given.payload as { readonly blockHash: string; readonly timestamp: string }
  return { hash: blockHash, number: parent.number + 1, timestamp: Number(timestamp), parent, given }
}

/** The next block after one, with the same contents; it is right by its form alone. */
function heirOf(node: Node, dice: Dice, isOrphan = false): Node {
  const given = node.given as Given
  const { blockNumber, timestamp } = given.payload as {
    readonly blockNumber: string
    readonly timestamp: string
  }
  const payload = {
    ...given.payload,
    parentHash: isOrphan ? randomHash(dice) : node.hash,
    blockNumber: `0x${(Number(blockNumber) + 1).toString(16)}`,
    timestamp: `0x${(Number(timestamp) + 1).toString(16)}`,
  }
  return childOf(node, rehashed({ ...given, payload }))
}

function remember(list: Node[], node: Node): void {
  list.push(node)
  if (list.length > rememberedMax) list.shift()
}

/** A built block as it is given; the first version of the method answers with the payload alone. */
function givenOf(built: Json, fork: EngineFork, beaconRoot: string): Given {
  const payload = (built.executionPayload ?? built) as Json
  return {
    payload,
    fork,
    versionedHashes: [],
    beaconRoot,
    requests: (built.executionRequests as readonly string[] | undefined) ?? [],
  }
}
