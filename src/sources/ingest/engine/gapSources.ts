/**
 * Where the blocks of the gap come from: nodes with JSON-RPC, and beacon nodes. Owns which of them is asked first. Each
 * proves its blocks by their hashes.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import { type Hash32, toHash32 } from '../../../primitives/bytes.js'
import { NoAnswerError } from '../../upstream/upstreams.js'
import { type Block, type BlockLink, linkOf } from '../blocks/block.js'
import type { HeaderLink, UpstreamBlocks } from '../nodes/upstreamBlocks.js'

/** A block of the gap, without its content. */
export interface GapLink extends BlockLink {
  /** Root of the beacon block that has it as its payload, as the block above names it; undefined if none does. */
  readonly root: Hash32 | undefined
  /** Root of the beacon block that has its parent as payload. From Cancun on its own hash proves it (EIP-4788). */
  readonly parentRoot: Hash32 | undefined
}

/** A block with its size. */
export interface SentBlock extends BlockLink {
  readonly rlp: Uint8Array
  /** Undefined for a block of an unknown fork. */
  readonly block: Block | undefined
}

/** Each method resolves to undefined if no node has the thing, and rejects with NoAnswerError if none answers. */
export interface GapSource {
  find(hash: Hash32): Promise<GapLink | undefined>
  /** At least one block, and at most `count`, below a block, newest first. */
  linksBelow(link: GapLink, count: number): Promise<readonly GapLink[] | undefined>
  block(link: GapLink): Promise<SentBlock | undefined>
}

/**
 * Time for which a source is asked last, after it lacked a block that another one had. A node without an answer costs
 * `limits.fetchMsMax`, 20 s, each time. Nodes have the newest blocks some seconds later than a beacon node.
 */
const lastMs = 60_000

/** The link of a block. Its hashes are copies, since those of a header share the bytes of the whole. */
export function gapLinkOf(block: Pick<Block, 'header' | 'hash'>, root: Hash32 | undefined): GapLink {
  const { number, hash, parentHash, unknownFork } = linkOf(block)
  const { parentBeaconBlockRoot } = block.header
  return {
    number,
    hash: toHash32(hash.slice()),
    parentHash: toHash32(parentHash.slice()),
    unknownFork,
    root,
    parentRoot: parentBeaconBlockRoot && toHash32(parentBeaconBlockRoot.slice()),
  }
}

/** Nodes with JSON-RPC. */
export function nodeSource(blocks: Pick<UpstreamBlocks, 'linkByHash' | 'linksBelow' | 'byHash'>): GapSource {
  const linkFrom = ({ headerRlp, hash }: HeaderLink, root: Hash32 | undefined) =>
    gapLinkOf({ header: decodeHeader(headerRlp), hash }, root)
  return {
    async find(hash) {
      const link = await blocks.linkByHash(hash)
      return link && linkFrom(link, undefined)
    },
    async linksBelow(link, count) {
      const links: GapLink[] = []
      for (const each of await blocks.linksBelow(link, count))
        links.push(linkFrom(each, (links.at(-1) ?? link).parentRoot))
      return links.length === 0 ? undefined : links
    },
    block: ({ hash }) => blocks.byHash(hash),
  }
}

/** Asks sources one after the other until one has the thing. `nowMs` is for tests. */
export function inTurns(sources: readonly GapSource[], nowMs = () => performance.now()): GapSource {
  const order = sources.map((source) => ({ source, lastUntil: 0 }))
  const ask = async <T>(question: (source: GapSource) => Promise<T | undefined>): Promise<T | undefined> => {
    const isLast = ({ lastUntil }: (typeof order)[number]) => Number(lastUntil > nowMs())
    const failures: string[] = []
    const passed: typeof order = []
    for (const each of order.toSorted((a, b) => isLast(a) - isLast(b))) {
      try {
        const found = await question(each.source)
        if (found !== undefined) {
          for (const other of passed) other.lastUntil = nowMs() + lastMs
          return found
        }
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error
        failures.push(error.message)
      }
      passed.push(each)
    }
    if (failures.length > 0) throw new NoAnswerError(failures.join('; '))
    return undefined
  }
  return {
    find: (hash) => ask((source) => source.find(hash)),
    linksBelow: (link, count) => ask((source) => source.linksBelow(link, count)),
    block: (link) => ask((source) => source.block(link)),
  }
}
