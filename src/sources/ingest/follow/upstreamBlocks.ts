/**
 * Blocks of an upstream node as RLP, each with a hash that was computed here and a body that its header commits to. A
 * node that sends anything else is accused.
 */
import { blockAccessListHash } from '../../../data/chain/blockAccessList.js'
import {
  BlockJsonError,
  blockRlpFromJson,
  headerRlpFromJson,
  uncleHashesOf,
} from '../../../data/chain/blockFromJson.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, headerHash, UnknownForkError } from '../../../data/chain/header.js'
import { InvalidBlockError } from '../../../execution/evm/blocks/invalidBlock.js'
import {
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  hexToBytes,
  toHash32,
  toQuantity,
} from '../../../primitives/bytes.js'
import { RlpError } from '../../../primitives/rlp.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { type Asked, NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { type Block, type BlockLink, linkOf, parseBlock } from '../block.js'
import { bodyItems, checkContent } from '../blockRules.js'

export interface FetchedBlock extends BlockLink {
  /** May be empty where the block is of a fork that is not known. */
  readonly rlp: Uint8Array
  /** Undefined for a block of a fork that is not known. */
  readonly block: Block | undefined
  readonly upstream: Upstream
}

/**
 * How long further nodes may take to send a claimed block once its claimer said that it does not have it: mostly it is
 * nowhere then, and a node that is silent must not hold up the others.
 */
const deniedMs = 1_000
/** The shortest form of a block, which not every node has. */
const rawMethod = 'debug_getRawBlock'
/** Longest time for the nodes to say which block a number is. */
const agreeMs = 5_000

/** A place, and the header that has it. */
export interface HeaderLink extends BlockLink {
  readonly headerRlp: Uint8Array
}

/** The answer says something that cannot be true. */
class WrongAnswer extends Error {}

interface Unread<B> extends Asked {
  /** Undefined where no node has all of it. Throws, or rejects with, what a lie of its sender is told by. */
  read(): B | Promise<B | undefined>
}

export class UpstreamBlocks {
  readonly #upstreams: Upstreams
  readonly #requestMs: number
  readonly #schedule: ForkSchedule

  /** `requestMs` is the longest time for one block, over all attempts. */
  constructor(upstreams: Upstreams, requestMs: number, schedule: ForkSchedule) {
    this.#upstreams = upstreams
    this.#requestMs = requestMs
    this.#schedule = schedule
  }

  /** The block of this number; undefined where no node has one. Rejects with NoAnswerError. */
  byNumber(number: number): Promise<FetchedBlock | undefined> {
    return this.#checked(
      () => this.#fetch(toQuantity(number), 'eth_getBlockByNumber'),
      (block) => {
        if (block.number !== number)
          throw new WrongAnswer(`for block ${number} it sent block ${block.number}`)
      },
    )
  }

  /** As {@link byNumber}, by hash. `claimer` is a node that said to have it. */
  byHash(hash: Hash32, claimer?: Upstream): Promise<FetchedBlock | undefined> {
    return this.#checked(
      () => this.#fetch(bytesToHex(hash), 'eth_getBlockByHash', claimer),
      (block) => mustBe(block.hash, hash),
    )
  }

  /** The place of a block by its header alone; undefined where no node has it. */
  linkByHash(hash: Hash32, claimer?: Upstream): Promise<HeaderLink | undefined> {
    return this.#checked(
      async () => {
        const asked = await this.#askPresent('eth_getBlockByHash', [bytesToHex(hash), false], claimer)
        return asked && { ...asked, read: () => readLink(headerRlpFromJson(asked.result)) }
      },
      (block) => mustBe(block.hash, hash),
    )
  }

  /** What some node has at a number, by its header alone; undefined where none answers. Nothing says that it is right. */
  async linkByNumber(number: number): Promise<HeaderLink | undefined> {
    const asked = await this.#askPresent('eth_getBlockByNumber', [toQuantity(number), false]).catch(
      () => undefined,
    )
    try {
      return asked && readLink(headerRlpFromJson(asked.result))
    } catch (error) {
      if (!isLie(error)) throw error
      return undefined
    }
  }

  /**
   * Headers below a block, newest first: of what nodes have at the `count` numbers below it, those that each one above
   * names; where they have another branch at once, its parent by hash. Empty where no node has that.
   */
  async linksBelow({ number, parentHash }: BlockLink, count: number): Promise<HeaderLink[]> {
    const numbers = Array.from({ length: count }, (_, index) => number - 1 - index)
    const told = await Promise.all(numbers.map((each) => this.linkByNumber(each)))
    const linked: HeaderLink[] = []
    for (const below of told) {
      if (below === undefined || !equalBytes(below.hash, linked.at(-1)?.parentHash ?? parentHash)) break
      linked.push(below)
    }
    if (linked.length > 0) return linked
    const parent = await this.linkByHash(parentHash)
    return parent === undefined ? [] : [parent]
  }

  /**
   * The hash that as many nodes say a number to be as must have the head; where one is enough, what the node says that
   * leads. Undefined where they do not agree, or not in time.
   */
  agreedHash(number: number, leader: Upstream): Promise<Hash32 | undefined> {
    const method = 'eth_getBlockByNumber'
    const params = [toQuantity(number), false]
    const deadline = performance.now() + agreeMs
    const { quorum } = this.#upstreams
    const answers =
      quorum === 1
        ? [leader.ask(method, params, deadline)]
        : this.#upstreams.askEach(method, params, deadline).map(({ answer }) => answer)
    const votes = new Map<string, number>()
    return new Promise((resolve) => {
      const count = (answer: unknown) => {
        const { hash } = (answer ?? {}) as { readonly hash?: unknown }
        if (typeof hash !== 'string') return
        const yes = (votes.get(hash) ?? 0) + 1
        votes.set(hash, yes)
        if (yes >= quorum && hash.length === 66) resolve(toHash32(hexToBytes(hash)))
      }
      const counted = answers.map((answer) => answer.then(count).catch(() => undefined))
      void Promise.all(counted).then(() => resolve(undefined))
    })
  }

  /** Asks until an answer is right, or no node has the block. Whoever sends a wrong one is accused, and not asked again. */
  async #checked<B>(
    fetch: () => Promise<Unread<B> | undefined>,
    check: (block: B) => void,
  ): Promise<B | undefined> {
    for (;;) {
      const fetched = await fetch()
      if (fetched === undefined) return undefined
      try {
        const block = await fetched.read()
        if (block !== undefined) check(block)
        return block
      } catch (error) {
        if (!isLie(error)) throw error
        fetched.upstream.accuse(error.message)
      }
    }
  }

  async #fetch(
    id: string,
    method: 'eth_getBlockByNumber' | 'eth_getBlockByHash',
    claimer?: Upstream,
  ): Promise<Unread<FetchedBlock> | undefined> {
    const inVain: Upstream[] = []
    const raw = await this.#askRaw(id, inVain)
    if (raw !== undefined)
      return { ...raw, read: () => readFetched(rawBytes(raw.result), raw.upstream, this.#schedule) }
    const asked = await this.#askPresent(method, [id, true], claimer)
    if (asked !== undefined && inVain.includes(asked.upstream)) asked.upstream.noteLack(rawMethod)
    return asked && { ...asked, read: () => this.#readWithUncles(asked) }
  }

  async #readWithUncles(asked: Asked): Promise<FetchedBlock | undefined> {
    const hashes = uncleHashesOf(asked.result)
    const { hash } = asked.result as { readonly hash?: unknown }
    if (hashes.length > 0 && bytesOfHex(hash, 32) === undefined)
      throw new WrongAnswer('a block without its hash')
    const uncles = await Promise.all(hashes.map((_, index) => this.#uncle(hash, index)))
    const known = uncles.filter((uncle) => uncle !== undefined)
    return known.length === uncles.length ? readJson(asked, known, this.#schedule) : undefined
  }

  /** RLP of an uncle, whose hash is not checked; undefined where no node has it. */
  #uncle(blockHash: unknown, index: number): Promise<Uint8Array | undefined> {
    return this.#checked(
      async () => {
        const params = [blockHash, toQuantity(index)]
        const asked = await this.#askPresent('eth_getUncleByBlockHashAndIndex', params)
        return asked && { ...asked, read: () => headerRlpFromJson(asked.result) }
      },
      () => undefined,
    )
  }

  /**
   * Asks each node that may have raw blocks once, until one has this one; undefined where none has. `inVain` gets those
   * that answered none.
   */
  async #askRaw(id: string, inVain: Upstream[]): Promise<Asked | undefined> {
    const start = performance.now()
    for (;;) {
      const { candidates } = this.#upstreams
      const not = candidates.filter((node) => inVain.includes(node) || !node.mayHave(rawMethod))
      if (not.length === candidates.length) return undefined
      const ms = inVain.length > 0 ? Math.min(this.#requestMs, deniedMs) : this.#requestMs
      const deadline = start + ms
      try {
        const asked = await this.#upstreams.ask(rawMethod, [id], { deadline, not, once: true })
        if (isPresent(asked)) return asked
        inVain.push(asked.upstream)
      } catch (error) {
        if (error instanceof NoAnswerError) return undefined
        if (!(error instanceof NodeError)) throw error
        inVain.push(error.upstream)
      }
    }
  }

  /**
   * Asks node after node until one has what is asked for; undefined where none has. Of a claimed block others are not
   * waited for long once its claimer denied it.
   */
  async #askPresent(
    method: string,
    params: readonly unknown[],
    claimer?: Upstream,
  ): Promise<Asked | undefined> {
    const not: Upstream[] = []
    while (not.length < this.#upstreams.count) {
      try {
        const asked = await this.#ask(method, params, not, claimer)
        if (isPresent(asked)) return asked
        not.push(asked.upstream)
      } catch (error) {
        if (error instanceof NoAnswerError && not.length > 0) return undefined
        if (!(error instanceof NodeError)) throw error
        not.push(error.upstream)
      }
    }
    return undefined
  }

  #ask(
    method: string,
    params: readonly unknown[],
    not: readonly Upstream[],
    claimer: Upstream | undefined,
  ): Promise<Asked> {
    const isDenied = claimer !== undefined && not.includes(claimer)
    const ms = isDenied ? Math.min(this.#requestMs, deniedMs) : this.#requestMs
    return this.#upstreams.ask(method, params, { deadline: performance.now() + ms, not })
  }
}

/** Some nodes have no null for a raw block that they do not have. */
function isPresent({ result }: Asked): boolean {
  return result !== null && result !== '0x'
}

function readFetched(rlp: Uint8Array, upstream: Upstream, schedule: ForkSchedule): FetchedBlock {
  const parsed = parseBlock(rlp)
  const link = linkOf(parsed)
  // What belongs to a block of a fork that is not known is not known either.
  if (link.unknownFork !== undefined) return { ...link, rlp, block: undefined, upstream }
  checkContent(parsed.header, bodyItems(parsed.items), schedule.forkOf(parsed.header))
  checkList(parsed)
  return { ...link, rlp, block: { ...parsed, isContentChecked: true }, upstream }
}

/** A list that came with a block is no part of it: that it is another one says nothing against the block. */
function checkList({ header, blockAccessList: list }: Block): void {
  const wanted = header.blockAccessListHash
  if (list === undefined || (wanted && equalBytes(blockAccessListHash(list), wanted))) return
  throw new WrongAnswer(`with block ${header.number} it sent an access list that its header does not name`)
}

function readJson(
  { result, upstream }: Asked,
  uncles: readonly Uint8Array[],
  schedule: ForkSchedule,
): FetchedBlock {
  try {
    const rlp = blockRlpFromJson(result, uncles, schedule.family.transactionTypes)
    return readFetched(rlp, upstream, schedule)
  } catch (error) {
    if (!(error instanceof UnknownForkError)) throw error
    const link = readLink(headerRlpFromJson(result))
    return { ...link, rlp: new Uint8Array(0), block: undefined, upstream }
  }
}

function readLink(headerRlp: Uint8Array): HeaderLink {
  return { ...linkOf({ header: decodeHeader(headerRlp), hash: headerHash(headerRlp) }), headerRlp }
}

function rawBytes(value: unknown): Uint8Array {
  const bytes = bytesOfHex(value)
  if (bytes === undefined) throw new WrongAnswer('a raw block that is no hex')
  return bytes
}

function mustBe(hash: Hash32, wanted: Hash32): void {
  if (equalBytes(hash, wanted)) return
  throw new WrongAnswer(`for block ${bytesToHex(wanted)} it sent content with the hash ${bytesToHex(hash)}`)
}

function isLie(error: unknown): error is Error {
  return (
    error instanceof WrongAnswer ||
    error instanceof BlockJsonError ||
    error instanceof RlpError ||
    error instanceof InvalidBlockError
  )
}
