import type { ChainReader } from '../../../data/store/chainReader.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import type { UpstreamBlocks } from '../follow/upstreamBlocks.js'
import type { BeaconPlan } from '../messages.js'
import { SignedHead } from './signedHead.js'

interface Parts {
  readonly identity: ChainIdentity
  readonly store: Pick<ChainReader, 'readCheckpoint'>
  readonly blocks: UpstreamBlocks
  readonly upstreams: Upstreams
  readonly log: (text: string) => void
}

/** The signed head of a network, which becomes that of its upstreams once it runs. Throws OperatorError. */
export function openSigned(plan: BeaconPlan, { identity, store, blocks, upstreams, log }: Parts): SignedHead {
  return new SignedHead(plan, {
    identity,
    stored: store.readCheckpoint(),
    locate: (hash) => blocks.linkByHash(hash),
    onHead: (claim) => upstreams.sign(claim),
    log,
  })
}
