import type { ChainReader } from '../../../data/store/chainReader.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import type { ChainName } from '../../upstream/vettedNode.js'

/** By what upstreams are compared with the chain of a store: what is final stays. */
export function chainNameOf({ chainId, genesisHash }: ChainIdentity, store: ChainReader): ChainName {
  const held = () => {
    const block = store.readMarker('finalized')
    return block && { number: block.number, hash: bytesToHex(block.hash) }
  }
  return { chainId: BigInt(chainId), genesisHash, held }
}
