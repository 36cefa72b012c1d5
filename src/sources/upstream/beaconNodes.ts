import { type BeaconBody, BeaconLine } from './beaconLine.js'
import { UpstreamFailure } from './line.js'
import { bestFirst, type LastError } from './nodePolicy.js'
import { NodeError, namesOf, Upstream, type UpstreamOptions } from './upstream.js'
import { NoAnswerError, type UpstreamFigures } from './upstreams.js'

/** Before the names of beacon nodes in sentences and figures. */
export const beaconPrefix = 'beacon node '

/** A node's entry in `/health`. */
export interface BeaconNodeState {
  readonly name: string
  readonly isAnswering: boolean
  readonly isQuarantined: boolean
  /** Undefined before the first failure. */
  readonly lastError?: LastError | undefined
  /** The newest head that it reported; undefined before the first. */
  readonly claim?: SlotClaim | undefined
}

/** A head that a beacon node reported. A node is asked only while those before it do not help, so it may be old. */
export interface SlotClaim {
  readonly slot: number
  /** Slots between it and the time of the report. */
  readonly slotsBehind: number
}

interface BeaconNodesOptions {
  /** Whether an error thrown while reading an answer proves that the node lied. */
  readonly isLie: (error: unknown) => error is Error
  /** Called with sentences for the operator. They contain names of nodes, never URLs. */
  readonly log: (text: string) => void
  /** As of a line. */
  readonly isJsonOnly?: boolean
}

/** Nodes with the Beacon API (ethereum/beacon-APIs), asked one after the other until an answer is usable. */
export class BeaconNodes {
  readonly #nodes: readonly Upstream[]
  readonly #options: BeaconNodesOptions
  readonly #claims = new Map<Upstream, SlotClaim>()

  constructor(nodes: readonly UpstreamOptions[], options: BeaconNodesOptions) {
    this.#options = options
    const { isJsonOnly } = options
    this.#nodes = namesOf(nodes).map(([node, name]) => {
      const { headers = {}, answerBytesMax, proxy } = node
      const line = new BeaconLine({ url: new URL(node.url), headers, answerBytesMax, proxy, isJsonOnly })
      return new Upstream(node, `${beaconPrefix}${name}`, options.log, { line })
    })
  }

  states(): BeaconNodeState[] {
    return this.#nodes.map((node) => ({
      name: node.name.replace(beaconPrefix, ''),
      isAnswering: node.policy.isAnswering === true,
      isQuarantined: node.policy.isQuarantined,
      lastError: node.policy.lastError,
      claim: this.#claims.get(node),
    }))
  }

  /** With the names that {@link beaconPrefix} distinguishes from those of other upstreams. */
  figures(): UpstreamFigures[] {
    return this.#nodes.map(({ name, policy: { isAnswering, isQuarantined, hedges, totals } }) => ({
      name,
      isAnswering: isAnswering === true,
      isQuarantined,
      head: undefined,
      ...totals,
      hedges,
    }))
  }

  /**
   * The result of `read` for the first usable answer; undefined if no answer was usable. `read` returns undefined for
   * an unusable answer and throws for a wrong one: its node lied and rests for a while. Nodes that answer well are
   * asked first. If none answered, throws a NoAnswerError that names each node and the reason. `claim` takes the head that an
   * answer reports.
   */
  async ask<T>(
    path: string,
    read: (body: BeaconBody, claim: (head: SlotClaim) => void) => T | undefined,
  ): Promise<T | undefined> {
    const reasons: string[] = []
    let hasAnswer = false
    for (const node of bestFirst(this.#nodes)) {
      try {
        const body = await askTwice(node, path)
        const found = read(body, (head) => this.#claims.set(node, head))
        hasAnswer = true
        if (found !== undefined) return found
      } catch (error) {
        if (this.#options.isLie(error)) node.policy.accuse(error.message)
        else if (error instanceof NodeError) hasAnswer = true
        else if (!(error instanceof UpstreamFailure)) throw error
        reasons.push(`${node.name}: ${(error as Error).message}`)
      }
    }
    if (hasAnswer) return undefined
    throw new NoAnswerError(reasons.length === 0 ? 'every beacon node lied' : reasons.join('; '))
  }

  close(): void {
    for (const node of this.#nodes) node.close()
  }
}

/** Like {@link Upstream.ask}, twice: a front may have several nodes, and another one may answer the second time. */
async function askTwice(node: Upstream, path: string): Promise<BeaconBody> {
  const deadline = performance.now() + node.options.timeoutMs
  const ask = () => node.ask(path, [], deadline) as Promise<BeaconBody>
  return ask().catch((error) => {
    if (!(error instanceof UpstreamFailure) || performance.now() >= deadline) throw error
    return ask()
  })
}
