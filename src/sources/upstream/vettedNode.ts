import { askChainId, askGenesis, type ReportedChainId } from './askChain.js'
import { UpstreamFailure } from './line.js'
import type { Upstream } from './upstream.js'

/** Time for which a node of another chain is left alone; its operator may then have corrected it. */
const otherChainMs = 5_000
/** Maximum attempts to ask for its chain if a front answers with an HTTP status of 5xx, or HTML. */
const triesMax = 3

/** The chain that nodes must have. */
export interface ChainName {
  readonly chainId: bigint
  /** Lower-case hex. */
  readonly genesisHash: string
  /**
   * A stored permanent block of the chain, for nodes that do not return their first one; its hash in lower-case hex.
   */
  readonly held?: () => { readonly number: number; readonly hash: string } | undefined
}

/**
 * Asks a node only after it reported the right chain. Checks again after each outage: another node may have replaced
 * it.
 */
export class VettedNode {
  readonly upstream: Upstream
  readonly #chain: ChainName
  readonly #log: (text: string) => void
  /** The value of {@link Upstream.outages} when its chain was last found correct. */
  #vettedAt: number | undefined
  #vetting: Promise<string | undefined> | undefined
  #refusedUntil = 0
  /** The last result: the fault of its chain; empty if it is correct. */
  #wrong = ''
  /** Why it did not report its chain, and the sentence about it that the operator got. */
  #why: Error | undefined
  #said = ''

  /** `log` gets a sentence for the operator if the node has another chain. */
  constructor(upstream: Upstream, chain: ChainName, log: (text: string) => void) {
    this.upstream = upstream
    this.#chain = chain
    this.#log = log
  }

  /** Whether it is left alone for a while, because it has another chain. */
  get isRefused(): boolean {
    return performance.now() < this.#refusedUntil
  }

  /** Whether it had another chain at the last check. */
  get isOfOtherChain(): boolean {
    return this.#wrong !== ''
  }

  /** As {@link Upstream.ask}. */
  async ask(method: string, params: readonly unknown[], deadline: number): Promise<unknown> {
    if (!this.#isVetted) {
      const verdict = await this.verdict(deadline)
      if (verdict === undefined) throw this.#unvetted()
      if (verdict !== '') throw new UpstreamFailure('otherChain', verdict)
    }
    return this.upstream.ask(method, params, deadline)
  }

  /**
   * The fault of its chain; empty if it is correct, undefined if the node did not report it. Asks nothing while the
   * node is refused.
   */
  verdict(deadline: number): Promise<string | undefined> {
    if (this.#isVetted) return Promise.resolve('')
    if (this.isRefused) return Promise.resolve(this.#wrong)
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
    const ask = (method: string, params: readonly unknown[]) => this.#ask(method, params, deadline)
    try {
      const [id, genesis] = await Promise.all([askChainId(ask), askGenesis(ask)])
      const wrong =
        this.#wrongId(id) ??
        ('why' in genesis
          ? await this.#wrongHeld(genesis.why, id, deadline)
          : this.#wrongHash(genesis.block.hash, id))
      if (wrong === undefined) {
        this.#vettedAt = upstream.outages
        this.#wrong = ''
        return ''
      }
      this.#refusedUntil = performance.now() + otherChainMs
      const verdict = `upstream ${upstream.name} is of another chain: ${wrong}`
      if (verdict !== this.#wrong) this.#log(verdict)
      this.#wrong = verdict
      return verdict
    } catch (error) {
      this.#why = error as Error
      // A front may answer every request with an error, for example for a wrong key.
      if (!(error instanceof UpstreamFailure)) {
        this.#sayOnce(`upstream ${upstream.name} does not say which chain it has: ${this.#why.message}`)
      }
      return undefined
    }
  }

  /** If a node gives no answer at all, that failure is the reason. */
  #unvetted(): UpstreamFailure {
    const why = this.#why
    if (why instanceof UpstreamFailure) return why
    return new UpstreamFailure('late', `it did not say which chain it has (${why?.message})`)
  }

  /** Retries if a front has no answer: all requests to the node wait for this. */
  async #ask(method: string, params: readonly unknown[], deadline: number): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.upstream.ask(method, params, deadline)
      } catch (error) {
        const isOver = tries >= triesMax || !(error instanceof UpstreamFailure) || error.kind !== 'unreadable'
        if (isOver) throw error
      }
    }
  }

  /** If the chain id is not reported, a block identifies the chain. */
  #wrongId({ id, why }: ReportedChainId): string | undefined {
    const { chainId } = this.#chain
    if (why !== undefined || BigInt(id as number) === chainId) return undefined
    return `its chain id is ${id}, this network's is ${chainId}`
  }

  #wrongHash(hash: string, { why }: ReportedChainId): string | undefined {
    const { genesisHash } = this.#chain
    if (hash.toLowerCase() !== genesisHash) return `its genesis is ${hash}, this network's is ${genesisHash}`
    if (why !== undefined) this.#sayBasis('chain id', why, 'its genesis')
    return undefined
  }

  /**
   * For a node that does not return its first block: compares a stored block, if the node returns that one. Throws if
   * the node reports nothing about its chain.
   */
  async #wrongHeld(why: string, reported: ReportedChainId, deadline: number): Promise<string | undefined> {
    const held = this.#chain.held?.()
    const params = [`0x${(held?.number ?? 0).toString(16)}`, false]
    const block =
      held && (await this.upstream.ask('eth_getBlockByNumber', params, deadline).catch(() => null))
    const { hash } = (block ?? {}) as { readonly hash?: unknown }
    const isReported = held !== undefined && typeof hash === 'string'
    if (isReported && hash.toLowerCase() !== held.hash) {
      return `its block ${held.number} is ${hash}, this network's is ${held.hash}`
    }
    if (!isReported && reported.id === undefined) throw new Error(`${reported.why}; ${why}`)
    const id = reported.why === undefined ? 'its chain id' : 'its network id'
    if (!isReported && BigInt(reported.id as number) !== this.#chain.chainId) {
      return `${id} is ${reported.id}, this network's chain id is ${this.#chain.chainId}`
    }
    const basis = isReported ? [`block ${held.number}`] : []
    if (!isReported || reported.why === undefined) basis.unshift(id)
    this.#sayBasis('first block', why, isReported ? basis.join(' and ') : `${id} alone`)
    return undefined
  }

  #sayBasis(what: string, why: string, basis: string): void {
    this.#sayOnce(
      `upstream ${this.upstream.name} does not tell its ${what} (${why}); ${basis} says which chain it has`,
    )
  }

  #sayOnce(text: string): void {
    if (text !== this.#said) this.#log(text)
    this.#said = text
  }
}
