import { type BeaconBody, BeaconLine } from './beaconLine.js'
import { UpstreamFailure } from './line.js'
import { namesOf } from './namesOf.js'
import { NodeError, Upstream, type UpstreamOptions } from './upstream.js'

/** What `/health` says of a node. */
export interface BeaconNodeState {
  readonly name: string
  readonly isAnswering: boolean
  readonly isQuarantined: boolean
}

interface BeaconNodesOptions {
  /** Whether what reading an answer threw shows that its node lied. */
  readonly isLie: (error: unknown) => error is Error
  /** Called with sentences for the operator. They contain names of nodes, never URLs. */
  readonly log: (text: string) => void
}

/** Nodes with the Beacon API (ethereum/beacon-APIs), asked one after the other until an answer is of use. */
export class BeaconNodes {
  readonly #nodes: readonly Upstream[]
  readonly #options: BeaconNodesOptions

  constructor(nodes: readonly UpstreamOptions[], options: BeaconNodesOptions) {
    this.#options = options
    this.#nodes = namesOf(nodes).map(([node, name]) => {
      const { headers = {}, answerBytesMax, proxy } = node
      const line = new BeaconLine({ url: new URL(node.url), headers, answerBytesMax, proxy })
      return new Upstream(node, `beacon node ${name}`, options.log, line)
    })
  }

  states(): BeaconNodeState[] {
    return this.#nodes.map(({ name, isAnswering, isQuarantined }) => ({
      name: name.replace('beacon node ', ''),
      isAnswering: isAnswering === true,
      isQuarantined,
    }))
  }

  /**
   * What `read` makes of the first answer that is of use to it; undefined where no node's was. It returns undefined for
   * one of no use, and throws for one that is wrong: then its node lied, and is not asked for a while. Those that
   * answer well are asked first. Throws an Error that names each node and the reason where none answered.
   */
  async ask<T>(path: string, read: (body: BeaconBody) => T | undefined): Promise<T | undefined> {
    const reasons: string[] = []
    let hasAnswer = false
    for (const node of this.#ranked()) {
      try {
        const body = await askTwice(node, path)
        const found = read(body)
        hasAnswer = true
        if (found !== undefined) return found
      } catch (error) {
        if (this.#options.isLie(error)) node.accuse(error.message)
        else if (error instanceof NodeError) hasAnswer = true
        else if (!(error instanceof UpstreamFailure)) throw error
        reasons.push(`${node.name}: ${(error as Error).message}`)
      }
    }
    if (hasAnswer) return undefined
    throw new Error(reasons.length === 0 ? 'every beacon node lied' : reasons.join('; '))
  }

  close(): void {
    for (const node of this.#nodes) node.close()
  }

  /** Nodes that may be asked, best first. Who lied not long ago is asked where the others do not help. */
  #ranked(): Upstream[] {
    const costs = new Map(this.#nodes.map((node) => [node, node.score.cost(0) * 10 ** node.offences]))
    const cost = (node: Upstream) => costs.get(node) as number
    const isSilent = ({ isAnswering }: Upstream) => Number(isAnswering === false)
    return this.#nodes
      .filter(({ isQuarantined }) => !isQuarantined)
      .sort((a, b) => isSilent(a) - isSilent(b) || cost(a) - cost(b))
  }
}

/** As {@link Upstream.ask}; of a front before several nodes another one may answer where the first did not. */
async function askTwice(node: Upstream, path: string): Promise<BeaconBody> {
  const deadline = performance.now() + node.options.timeoutMs
  const ask = () => node.ask(path, [], deadline) as Promise<BeaconBody>
  return ask().catch((error) => {
    if (!(error instanceof UpstreamFailure) || performance.now() >= deadline) throw error
    return ask()
  })
}
