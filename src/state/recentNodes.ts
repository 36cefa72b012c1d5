import { LRUCache } from 'lru-cache'
import { mapKey } from '../primitives/bytes.js'
import type { Change } from '../store/bundle.js'
import type { StateView } from './stateView.js'

/** Nodes that are kept: up to 9 MB. */
const nodesMax = 16_384

/** Trie nodes of the blocks executed last, of which the next ones read many again. */
export class RecentNodes {
  readonly #nodes = new LRUCache<string, Uint8Array>({ max: nodesMax })

  /** Also those of a block that is refused may be added: what a node is called says what is in it. */
  add(nodes: readonly Change[]): void {
    for (const [hash, rlp] of nodes) this.#nodes.set(mapKey(hash), rlp)
  }

  /** `state` with nodes from here as far as they are held. */
  over(state: StateView): StateView {
    return {
      stateRoot: state.stateRoot,
      account: (address) => state.account(address),
      slot: (address, slot) => state.slot(address, slot),
      slotsOf: (address) => state.slotsOf(address),
      code: (hash) => state.code(hash),
      node: (hash) => this.#nodes.get(mapKey(hash)) ?? state.node(hash),
    }
  }
}
