import { parseQuantity } from '../primitives/bytes.js'
import { UpstreamFailure } from './line.js'
import type { Upstream } from './upstream.js'

/** How long a node of another chain is left alone; then somebody may have corrected it. */
const otherChainMs = 5_000

/** Which chain nodes must have. */
export interface ChainName {
  readonly chainId: bigint
  /** Lower-case hex. */
  readonly genesisHash: string
}

/**
 * A node that is asked only once it has said to be of the right chain, and again after each time that it did not
 * answer: it may have come back as another.
 */
export class VettedNode {
  readonly upstream: Upstream
  readonly #chain: ChainName
  readonly #log: (text: string) => void
  /** The value of {@link Upstream.outages} when its chain was last found right. */
  #vettedAt: number | undefined
  #vetting: Promise<string | undefined> | undefined
  #refusedUntil = 0

  /** `log` is called with a sentence for the operator where it is of another chain. */
  constructor(upstream: Upstream, chain: ChainName, log: (text: string) => void) {
    this.upstream = upstream
    this.#chain = chain
    this.#log = log
  }

  /** Whether it is left alone for a while, because it is of another chain. */
  get isRefused(): boolean {
    return performance.now() < this.#refusedUntil
  }

  /** As {@link Upstream.ask}. */
  async ask(method: string, params: readonly unknown[], deadline: number): Promise<unknown> {
    if (!this.#isVetted) {
      const verdict = await this.verdict(deadline)
      if (verdict === undefined) throw new UpstreamFailure('late', 'it did not say which chain it has')
      if (verdict !== '') throw new UpstreamFailure('otherChain', verdict)
    }
    return this.upstream.ask(method, params, deadline)
  }

  /** What is wrong with its chain; empty where nothing is, undefined where it did not say. */
  verdict(deadline: number): Promise<string | undefined> {
    if (this.#isVetted) return Promise.resolve('')
    this.#vetting ??= this.#vet(deadline).finally(() => {
      this.#vetting = undefined
    })
    return this.#vetting
  }

  get #isVetted(): boolean {
    return this.#vettedAt === this.upstream.outages
  }

  async #vet(deadline: number): Promise<string | undefined> {
    const { upstream } = this
    const answers = await Promise.all([
      upstream.ask('eth_chainId', [], deadline),
      upstream.ask('eth_getBlockByNumber', ['0x0', false], deadline),
    ]).catch(() => undefined)
    if (answers === undefined) return undefined
    const wrong = this.#compare(...answers)
    if (wrong === '') {
      this.#vettedAt = upstream.outages
      return ''
    }
    this.#refusedUntil = performance.now() + otherChainMs
    const verdict = `upstream ${upstream.name} is of another chain: ${wrong}`
    this.#log(verdict)
    return verdict
  }

  #compare(id: unknown, genesis: unknown): string {
    const { chainId, genesisHash } = this.#chain
    const { hash } = (genesis ?? {}) as { readonly hash?: unknown }
    const told = parseQuantity(id)
    if (told === undefined) return 'it says no chain id'
    if (told !== chainId) return `its chain id is ${told}, this network's is ${chainId}`
    if (typeof hash !== 'string') return 'it has no genesis block'
    if (hash.toLowerCase() === genesisHash) return ''
    return `its genesis is ${hash}, this network's is ${genesisHash}`
  }
}
