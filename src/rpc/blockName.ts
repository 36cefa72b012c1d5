import { bytesToHex } from '../primitives/bytes.js'
import type { NetworkViews, RpcNetwork } from './method.js'

/** What answers say of the block that they were made from. */
export class BlockNames<N extends RpcNetwork> {
  readonly #views: NetworkViews<N>
  /** The head's, made once for each head. */
  #named: N | undefined
  #name: string | undefined

  constructor(views: NetworkViews<N>) {
    this.#views = views
  }

  /** `<number> <hash>` of the block that a view ends with. Undefined on a network without blocks. */
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

  /** The head's; undefined where the store cannot say it. */
  ofHead(): string | undefined {
    try {
      return this.of(this.#views.current)
    } catch {
      return undefined
    }
  }
}
