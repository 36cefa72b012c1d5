/** Three nodes with the demo chain, of which the one that is asked first lies. */
import type { Asking } from '../../../../src/sources/ingest/nodes/proving.js'
import { NodeError, type Upstream } from '../../../../src/sources/upstream/upstream.js'
import { NoAnswerError } from '../../../../src/sources/upstream/upstreams.js'
import { upstreamDouble } from '../../../upstream/upstreamDouble.js'
import type { NodeCall } from '../../../upstream/weatherNode.js'
import { demoEndpoint, opened } from '../../serving/rpc/demoRig.js'

const endpoint = demoEndpoint(opened)

async function honestResult(call: NodeCall): Promise<unknown> {
  const { body } = await endpoint.handle(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call })))
  const pieces = typeof body === 'string' ? [body] : body
  return JSON.parse(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString()).result
}

type Change = (call: NodeCall, result: unknown) => unknown

interface Asked {
  readonly not?: readonly Upstream[]
  readonly only?: Upstream
}

export class LiarFirst implements Asking {
  readonly count = 3
  readonly quorum = 2
  readonly accused: string[] = []
  readonly #hasRaw: boolean
  readonly #change: Change
  readonly #nodes = ['liar', 'honest', 'other'].map(
    (name): Upstream => upstreamDouble(name, () => this.accused.push(name)),
  )

  /** `hasRaw`: whether they have the methods for raw blocks. `change` makes the lie from the honest answer. */
  constructor(hasRaw: boolean, change: Change) {
    this.#hasRaw = hasRaw
    this.#change = change
  }

  get candidates(): readonly Upstream[] {
    return this.#nodes.filter(({ name }) => !this.accused.includes(name))
  }

  async ask(method: string, params: readonly unknown[], { not = [], only }: Asked) {
    const upstream = this.candidates.find((node) => (only ? node === only : !not.includes(node)))
    if (upstream === undefined) throw new NoAnswerError('nobody is left')
    if (method.startsWith('debug_') && !this.#hasRaw) {
      throw new NodeError(upstream, -32601, 'no such method', undefined)
    }
    const result = await honestResult({ method, params })
    return { result: upstream.name === 'liar' ? this.#change({ method, params }, result) : result, upstream }
  }
}
