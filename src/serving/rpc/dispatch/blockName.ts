import { bytesToHex } from '../../../primitives/bytes.js'
import type { NetworkViews, RpcNetwork } from '../method.js'

/** The text by which answers name the block that they were made from. */
export class BlockLabels<N extends RpcNetwork> {
  readonly #views: NetworkViews<N>
  /** The view and text of the head, made once per head. */
  #named: N | undefined
  #name: string | undefined

  constructor(views: NetworkViews<N>) {
    this.#views = views
  }

  /** `<number> <hash>` of the last block of a view; undefined on a network without blocks. */
  of(network: N): string | undefined {
    if (network === this.#named) return this.#name
    const { number, hash } = network.head
    const text = hash && `${number} ${bytesToHex(hash)}`
    if (network === this.#views.current) {
      this.#named = network
      this.#name = text
    }
    return text
  }

  /** The text for the head; undefined where the store cannot be read. */
  ofHead(): string | undefined {
    try {
      return this.of(this.#views.current)
    } catch {
      return undefined
    }
  }
}
