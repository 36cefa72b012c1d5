/**
 * Blocks of upstream nodes as RLP. Their hashes are computed here, and their bodies compared with the headers. A node
 * that sends a wrong block is accused.
 */
import { blockAccessListHash } from '../../../data/chain/blockAccessList.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, headerHash, UnknownForkError } from '../../../data/chain/header.js'
import { bytesToHex, equalBytes, type Hash32, noBytes } from '../../../primitives/bytes.js'
import type { Upstream } from '../../upstream/upstream.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import { type Block, type BlockLink, linkOf } from '../blocks/block.js'
import { bodyItems, checkContent } from '../blocks/blockRules.js'
import { blockNameOf } from '../blocks/markers.js'
import { askBlockRlp, askHeaderAt, blockQuestion, readBlock, readHeader } from './askedParts.js'
import { LieError } from './lie.js'
import { linkedHeaders } from './linkedHeaders.js'
import { type Attempt, Proving } from './proving.js'

export interface FetchedBlock extends BlockLink {
  /** May be empty for a block of an unknown fork. */
  readonly rlp: Uint8Array
  /** Undefined for a block of an unknown fork. */
  readonly block: Block | undefined
  readonly upstream: Upstream
}

/** Longest time for the nodes to agree on the block of a number. */
const agreeMs = 5_000

/** Number, hash and parent of a block, with its header. */
export interface HeaderLink extends BlockLink {
  readonly headerRlp: Uint8Array
}

export class UpstreamBlocks {
  readonly #upstreams: Upstreams
  readonly proving: Proving
  readonly #schedule: ForkSchedule

  /** `requestMs` is the longest time for one block, over all attempts. */
  constructor(upstreams: Upstreams, requestMs: number, schedule: ForkSchedule) {
    this.#upstreams = upstreams
    this.proving = new Proving(upstreams, { fetchMsMax: requestMs })
    this.#schedule = schedule
  }

  /** The block of this number; undefined if no node has one. Rejects with NoAnswerError. */
  byNumber(number: number): Promise<FetchedBlock | undefined> {
    return this.proving.find(async (attempt) => {
      const block = await this.#fetch(number, attempt)
      if (block === undefined || block.number === number) return block
      throw new LieError(`for block ${number} it sent block ${block.number}`)
    })
  }

  /** Like {@link byNumber}, but by hash. `claimer` is a node that claims to have it. */
  byHash(hash: Hash32, claimer?: Upstream): Promise<FetchedBlock | undefined> {
    return this.proving.find(async (attempt) => mustBe(await this.#fetch(hash, attempt), hash), claimer)
  }

  /** Number and parent of a block from its header; undefined if no node has it. */
  linkByHash(hash: Hash32, claimer?: Upstream): Promise<HeaderLink | undefined> {
    return this.proving.find(
      async (attempt) => mustBe(await askLink(hash, attempt, this.#schedule), hash),
      claimer,
    )
  }

  /** The header of some node at a number, unverified; undefined if none answers. */
  async linkByNumber(number: number): Promise<HeaderLink | undefined> {
    const found = await this.proving
      .find((attempt) => askHeaderAt(number, attempt, this.#schedule))
      .catch(() => undefined)
    return found && readLink(found.header)
  }

  /** At most `count` headers below a block, newest first; see {@link linkedHeaders}. */
  linksBelow({ number, parentHash }: BlockLink, count: number): Promise<HeaderLink[]> {
    return linkedHeaders({ hash: parentHash, number: number - 1 }, count, {
      at: (each) => this.linkByNumber(each),
      byHash: (hash) => this.linkByHash(hash),
      parentOf: (link) => link.parentHash,
    })
  }

  /**
   * The hash of a number on which a quorum of nodes agrees; if one is enough, the hash that the leading node reports.
   * Undefined if they do not agree within `msMax`.
   */
  async agreedHash(number: number, leader: Upstream, msMax = agreeMs): Promise<Hash32 | undefined> {
    const { method, params } = blockQuestion(number, false)
    const isEnough = this.#upstreams.quorum === 1
    const agreed = isEnough
      ? leader.ask(method, params, performance.now() + msMax).then(blockNameOf)
      : this.proving.agree(
          async (attempt) => blockNameOf(await attempt.ask(method, params)),
          ({ hash }) => bytesToHex(hash),
          { first: leader, msMax },
        )
    return (await agreed.catch(() => undefined))?.hash
  }

  /** The block of a node, checked except for its hash or number. */
  async #fetch(id: Hash32 | number, attempt: Attempt): Promise<FetchedBlock | undefined> {
    try {
      const rlp = await askBlockRlp(id, attempt, this.#schedule)
      return rlp && readFetched(rlp, attempt.node as Upstream, this.#schedule)
    } catch (error) {
      if (!(error instanceof UnknownForkError)) throw error
      const link = await askLink(id, attempt, this.#schedule)
      return link && { ...link, rlp: noBytes, block: undefined, upstream: attempt.node as Upstream }
    }
  }
}

async function askLink(
  id: Hash32 | number,
  attempt: Attempt,
  schedule: ForkSchedule,
): Promise<HeaderLink | undefined> {
  const { method, params } = blockQuestion(id, false)
  const answer = await attempt.ask(method, params)
  return answer === null ? undefined : readLink(readHeader(answer, attempt, schedule))
}

function readFetched(rlp: Uint8Array, upstream: Upstream, schedule: ForkSchedule): FetchedBlock {
  const parsed = readBlock(rlp)
  const link = linkOf(parsed)
  // The content of a block of an unknown fork cannot be checked.
  if (link.unknownFork !== undefined) return { ...link, rlp, block: undefined, upstream }
  checkContent(parsed.header, bodyItems(parsed.items), schedule.forkOf(parsed.header))
  checkList(parsed)
  return { ...link, rlp, block: { ...parsed, isContentChecked: true }, upstream }
}

/** A list that came with a block is not part of it: a wrong list does not make the block wrong, but the node lied. */
function checkList({ header, blockAccessList: list }: Block): void {
  const wanted = header.blockAccessListHash
  if (list === undefined || (wanted && equalBytes(blockAccessListHash(list), wanted))) return
  throw new LieError(`with block ${header.number} it sent an access list that its header does not name`)
}

function readLink(headerRlp: Uint8Array): HeaderLink {
  return { ...linkOf({ header: decodeHeader(headerRlp), hash: headerHash(headerRlp) }), headerRlp }
}

/** Throws {@link LieError} if a block has another hash. */
function mustBe<B extends BlockLink>(block: B | undefined, wanted: Hash32): B | undefined {
  if (block === undefined || equalBytes(block.hash, wanted)) return block
  throw new LieError(
    `for block ${bytesToHex(wanted)} it sent content with the hash ${bytesToHex(block.hash)}`,
  )
}
