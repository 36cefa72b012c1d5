/** The nodes of a source (a follower, a gateway, or an import of a state): their head, and their blocks. */
import type { ForkSchedule } from '../../../data/chain/forks.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import type { UpstreamOptions } from '../../upstream/upstream.js'
import { Upstreams } from '../../upstream/upstreams.js'
import { SignedHead } from '../beacon/signedHead.js'
import type { BeaconPlan } from '../thread/messages.js'
import { UpstreamBlocks } from './upstreamBlocks.js'

interface NodesPlan {
  readonly upstreams: readonly UpstreamOptions[]
  readonly pollMs: number
  readonly quorum?: number | undefined
  readonly beacon?: BeaconPlan | undefined
}

interface NodesOptions {
  readonly identity: ChainIdentity
  readonly schedule: ForkSchedule
  /** Absent if the store is not made yet. */
  readonly store?: Pick<ChainReader, 'readMarker' | 'readCheckpoint'>
  /** Longest time for one block, over all attempts. */
  readonly requestMs: number
  readonly log: (text: string) => void
  /** Registers functions that close the nodes. */
  readonly onEnd: (end: () => unknown) => void
}

/**
 * Opens the nodes; once a signed head runs, it becomes the head of the upstreams. Throws OperatorError for a signed
 * head without a checkpoint.
 */
export function openNodes(
  { upstreams: nodes, pollMs, quorum, beacon }: NodesPlan,
  { identity, schedule, store, requestMs, log, onEnd }: NodesOptions,
) {
  /** The block by which their chain is compared with the store: finalized blocks never change. */
  const storedBlock = () => {
    const block = store?.readMarker('finalized')
    return block && { number: block.number, hash: bytesToHex(block.hash) }
  }
  const chain = { chainId: BigInt(identity.chainId), genesisHash: identity.genesisHash, storedBlock }
  const upstreams = new Upstreams(nodes, { chain, pollMs, quorum, isSigned: beacon !== undefined, log })
  onEnd(() => upstreams.close())
  const blocks = new UpstreamBlocks(upstreams, requestMs, schedule)
  const signed =
    beacon &&
    new SignedHead(beacon, {
      identity,
      stored: store?.readCheckpoint(),
      locate: (hash) => blocks.linkByHash(hash),
      onHead: (claim) => upstreams.choice.sign(claim),
      log,
    })
  onEnd(() => signed?.close())
  return { upstreams, blocks, signed }
}
