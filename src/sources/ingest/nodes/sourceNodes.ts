/** The nodes of a source, as followers, gateways and imports of a state have them: their head, and their blocks. */
import type { ForkSchedule } from '../../../data/chain/forks.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import type { UpstreamOptions } from '../../upstream/upstream.js'
import { Upstreams } from '../../upstream/upstreams.js'
import { SignedHead } from '../beacon/signedHead.js'
import type { BeaconPlan } from '../messages.js'
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
  /** Absent where it is still to be made. */
  readonly store?: Pick<ChainReader, 'readMarker' | 'readCheckpoint'>
  /** Longest time for one block, over all attempts. */
  readonly requestMs: number
  readonly log: (text: string) => void
  /** Takes what closes them. */
  readonly onEnd: (end: () => unknown) => void
}

/** Opens them; a signed head becomes that of the upstreams once it runs. Throws OperatorError for one without a checkpoint. */
export function openNodes(
  { upstreams: nodes, pollMs, quorum, beacon }: NodesPlan,
  { identity, schedule, store, requestMs, log, onEnd }: NodesOptions,
) {
  /** By what they are compared with the chain: what is final stays. */
  const held = () => {
    const block = store?.readMarker('finalized')
    return block && { number: block.number, hash: bytesToHex(block.hash) }
  }
  const chain = { chainId: BigInt(identity.chainId), genesisHash: identity.genesisHash, held }
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
