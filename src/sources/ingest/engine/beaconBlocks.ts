/**
 * Blocks of the gap from beacon nodes, whose blocks have execution blocks as payloads. The root of a beacon block leads
 * to its payload, and the beacon block above has that root. The search for the newest payload begins at the head of a
 * beacon node. No node is believed: a payload must have the wanted hash.
 */
import type { ForkSchedule } from '../../../data/chain/forks.js'
import {
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  hashBytes,
  latin1Key,
  toHash32,
} from '../../../primitives/bytes.js'
import { isObject } from '../../../primitives/jsonType.js'
import { putNewest } from '../../../primitives/putNewest.js'
import type { BeaconBody } from '../../upstream/beaconLine.js'
import { type BeaconNodeState, BeaconNodes } from '../../upstream/beaconNodes.js'
import type { UpstreamOptions } from '../../upstream/upstream.js'
import type { UpstreamFigures } from '../../upstream/upstreams.js'
import type { Block } from '../blocks/block.js'
import { LieError } from '../nodes/lie.js'
import { readBeaconPayload } from './beaconPayload.js'
import { type GapLink, type GapSource, gapLinkOf, type SentBlock } from './gapSources.js'

/**
 * Blocks below a beacon node's head among which a payload is looked for: two epochs, after which a block is final. Their
 * links stay in memory, 500 bytes each, so that a repeated search costs one request.
 */
const searchedMax = 64

export class BeaconBlocks implements GapSource {
  readonly #nodes: BeaconNodes
  readonly #schedule: ForkSchedule
  /** The newest blocks by their roots. */
  readonly #searched = new Map<string, GapLink>()

  /** `log` gets sentences for the operator. */
  constructor(nodes: readonly UpstreamOptions[], schedule: ForkSchedule, log: (text: string) => void) {
    this.#nodes = new BeaconNodes(nodes, { isLie, log, isJsonOnly: true })
    this.#schedule = schedule
  }

  states(): BeaconNodeState[] {
    return this.#nodes.states()
  }

  figures(): UpstreamFigures[] {
    return this.#nodes.figures()
  }

  /** Asks each node for something small, so that its state is known before it is needed. Never rejects. */
  async look(): Promise<void> {
    await this.#nodes.ask('/eth/v1/beacon/genesis', () => undefined).catch(() => undefined)
  }

  async find(hash: Hash32): Promise<GapLink | undefined> {
    let root = await this.#headRoot()
    for (let count = 0; count < searchedMax && root !== undefined; count++) {
      const link: GapLink | undefined = this.#searched.get(latin1Key(root)) ?? (await this.#read(root))?.link
      if (link === undefined) return undefined
      putNewest(this.#searched, latin1Key(root), link, searchedMax)
      if (equalBytes(link.hash, hash)) return link
      root = link.parentRoot
    }
    return undefined
  }

  async linksBelow(link: GapLink, count: number): Promise<readonly GapLink[] | undefined> {
    const links: GapLink[] = []
    let above = link.parentRoot === undefined ? await this.find(link.hash) : link
    while (links.length < count && above?.parentRoot !== undefined) {
      above = (await this.#read(above.parentRoot, above.parentHash))?.link
      if (above !== undefined) links.push(above)
    }
    return links.length === 0 ? undefined : links
  }

  async block(link: GapLink): Promise<SentBlock | undefined> {
    const root = link.root ?? (await this.find(link.hash))?.root
    const found = root && (await this.#read(root, link.hash))
    return found && { ...found.link, rlp: found.block.bodyRlp, block: found.block }
  }

  close(): void {
    this.#nodes.close()
  }

  #headRoot(): Promise<Hash32 | undefined> {
    return this.#nodes.ask('/eth/v1/beacon/headers/head', readRoot)
  }

  /** The payload of the beacon block with this root; with another hash than `wanted` the node lied. */
  #read(
    root: Hash32,
    wanted?: Hash32,
  ): Promise<{ readonly block: Block; readonly link: GapLink } | undefined> {
    return this.#nodes.ask(`/eth/v2/beacon/blocks/${bytesToHex(root)}`, (body) => {
      const payload = readBeaconPayload(dataOf(body), this.#schedule)
      if (payload === undefined) return undefined
      const { block, parentRoot } = payload
      if (wanted !== undefined && !equalBytes(block.hash, wanted))
        throw new LieError(
          `for the payload ${bytesToHex(wanted)} of the beacon block ${bytesToHex(root)} it sent ${bytesToHex(block.hash)}`,
        )
      return { block, link: { ...gapLinkOf(block, root), parentRoot } }
    })
  }
}

function isLie(error: unknown): error is Error {
  return error instanceof LieError
}

function readRoot(body: BeaconBody): Hash32 {
  const data = dataOf(body)
  const root = isObject(data) ? bytesOfHex(data.root, hashBytes) : undefined
  if (root === undefined) throw new LieError('a header without a root')
  return toHash32(root)
}

function dataOf(body: BeaconBody): unknown {
  if ('ssz' in body) throw new LieError('SSZ instead of JSON')
  return (body.json as { readonly data?: unknown }).data
}
