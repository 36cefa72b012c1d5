/**
 * Blocks of an upstream node as RLP, each with a hash that was computed here and a body that its header commits to. A
 * node that sends anything else is accused.
 */
import {
  BlockJsonError,
  blockRlpFromJson,
  headerRlpFromJson,
  uncleHashesOf,
} from '../../chain/blockFromJson.js'
import { decodeHeader, headerFromItems, headerHash, UnknownForkError } from '../../chain/header.js'
import { InvalidBlockError } from '../../evm/blocks/invalidBlock.js'
import {
  bytesToHex,
  digitsToBytes,
  equalBytes,
  type Hash32,
  hexToBytes,
  toHash32,
  toQuantity,
} from '../../primitives/bytes.js'
import { decodeRlpList, RlpError, rlpList } from '../../primitives/rlp.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { type Asked, NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { bodyItems, checkContent } from '../blockRules.js'
import { type BlockLink, linkOf, readBlockLink } from '../parsedBlock.js'

export interface FetchedBlock extends BlockLink {
  /** May be empty where the block is of a fork that is not known. */
  readonly rlp: Uint8Array
  /** Who sent it. */
  readonly upstream: Upstream
}

/**
 * How long further nodes may take to send a claimed block once its claimer said that it does not have it: mostly it is
 * nowhere then, and a node that is silent must not hold up the others.
 */
const deniedMs = 1_000
/** Longest time for the nodes to say which block a number is. */
const agreeMs = 5_000

/** The answer says something that cannot be true. */
class Lie extends Error {}

export class UpstreamBlocks {
  readonly #upstreams: Upstreams
  readonly #requestMs: number
  /** Nodes without `debug_getRawBlock`. */
  readonly #withoutRaw = new Set<Upstream>()
  /** Nodes that have it. */
  readonly #withRaw = new Set<Upstream>()

  /** `requestMs` is the longest time for one block, over all attempts. */
  constructor(upstreams: Upstreams, requestMs: number) {
    this.#upstreams = upstreams
    this.#requestMs = requestMs
  }

  /** The block of this number; undefined where no node has one. Rejects with NoAnswerError. */
  byNumber(number: number): Promise<FetchedBlock | undefined> {
    return this.#checked(
      () => this.#fetch(toQuantity(number), 'eth_getBlockByNumber'),
      (block) => {
        if (block.number !== number) throw new Lie(`for block ${number} it sent block ${block.number}`)
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
  linkByHash(hash: Hash32, claimer?: Upstream): Promise<BlockLink | undefined> {
    return this.#checked(
      async () => {
        const asked = await this.#askPresent('eth_getBlockByHash', [bytesToHex(hash), false], claimer)
        return asked && { ...asked, read: () => readLink(headerRlpFromJson(asked.result)) }
      },
      (block) => mustBe(block.hash, hash),
    )
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
    fetch: () => Promise<(Asked & { read(): B }) | undefined>,
    check: (block: B) => void,
  ): Promise<B | undefined> {
    for (;;) {
      const fetched = await fetch()
      if (fetched === undefined) return undefined
      try {
        const block = fetched.read()
        check(block)
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
  ): Promise<(Asked & { read(): FetchedBlock }) | undefined> {
    const raw = await this.#askRaw(id, claimer)
    if (raw !== undefined) return { ...raw, read: () => readFetched(rawBytes(raw.result), raw.upstream) }
    const asked = await this.#askPresent(method, [id, true], claimer)
    const uncles = asked && (await this.#uncles(asked.result))
    return uncles && { ...asked, read: () => readJson(asked, uncles) }
  }

  /** Undefined where no node that has the method has the block. */
  async #askRaw(id: string, claimer?: Upstream): Promise<Asked | undefined> {
    const not = [...this.#withoutRaw]
    while (not.length < this.#upstreams.count) {
      try {
        const asked = await this.#ask('debug_getRawBlock', [id], not, claimer)
        this.#withRaw.add(asked.upstream)
        // Some nodes have no error for a block that they do not have.
        if (asked.result !== null && asked.result !== '0x') return asked
        not.push(asked.upstream)
      } catch (error) {
        if (error instanceof NoAnswerError && not.length > 0) return undefined
        if (!(error instanceof NodeError)) throw error
        const { upstream } = error
        not.push(upstream)
        if (!this.#withRaw.has(upstream) && !(await this.#hasRaw(upstream))) this.#withoutRaw.add(upstream)
      }
    }
    return undefined
  }

  /** Whether a node answers the method at all; geth's error for an unknown block looks like others' for the method. */
  async #hasRaw(upstream: Upstream): Promise<boolean> {
    try {
      await upstream.ask('debug_getRawBlock', ['0x0'], performance.now() + this.#requestMs)
      this.#withRaw.add(upstream)
      return true
    } catch (error) {
      if (error instanceof NodeError) return false
      throw new NoAnswerError((error as Error).message)
    }
  }

  /** RLP of the uncles of a block; undefined where no node has one of them. */
  async #uncles(block: unknown): Promise<Uint8Array[] | undefined> {
    const { hash } = block as { readonly hash?: unknown }
    const answers = await Promise.all(
      uncleHashesOf(block).map((_, index) =>
        this.#askPresent('eth_getUncleByBlockHashAndIndex', [hash, toQuantity(index)]),
      ),
    )
    if (answers.includes(undefined)) return undefined
    return answers.map((answer) => headerRlpFromJson(answer?.result))
  }

  /** Asks node after node until one does not answer null; undefined where all do. */
  async #askPresent(
    method: string,
    params: readonly unknown[],
    claimer?: Upstream,
  ): Promise<Asked | undefined> {
    const not: Upstream[] = []
    while (not.length < this.#upstreams.count) {
      try {
        const asked = await this.#ask(method, params, not, claimer)
        if (asked.result !== null) return asked
        not.push(asked.upstream)
      } catch (error) {
        if (error instanceof NoAnswerError && not.length > 0) return undefined
        throw error
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

function readFetched(rlp: Uint8Array, upstream: Upstream): FetchedBlock {
  const link = readBlockLink(rlp)
  const items = decodeRlpList(rlp)
  // What belongs to a block of a fork that is not known is not known either.
  if (link.unknownFork === undefined) checkContent(headerFromItems(rlpList(items[0])), bodyItems(items))
  return { ...link, rlp, upstream }
}

function readJson({ result, upstream }: Asked, uncles: readonly Uint8Array[]): FetchedBlock {
  try {
    return readFetched(blockRlpFromJson(result, uncles), upstream)
  } catch (error) {
    if (!(error instanceof UnknownForkError)) throw error
    return { ...readLink(headerRlpFromJson(result)), rlp: new Uint8Array(0), upstream }
  }
}

function readLink(headerRlp: Uint8Array): BlockLink {
  return linkOf(decodeHeader(headerRlp), headerHash(headerRlp))
}

function rawBytes(value: unknown): Uint8Array {
  const bytes =
    typeof value === 'string' && value.startsWith('0x') ? digitsToBytes(value.slice(2)) : undefined
  if (bytes === undefined) throw new Lie('a raw block that is no hex')
  return bytes
}

function mustBe(hash: Hash32, wanted: Hash32): void {
  if (equalBytes(hash, wanted)) return
  throw new Lie(`for block ${bytesToHex(wanted)} it sent content with the hash ${bytesToHex(hash)}`)
}

function isLie(error: unknown): error is Error {
  return (
    error instanceof Lie ||
    error instanceof BlockJsonError ||
    error instanceof RlpError ||
    error instanceof InvalidBlockError
  )
}
