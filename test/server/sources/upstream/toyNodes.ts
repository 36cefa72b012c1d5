import type { Test } from 'tap'
import type { ChainName } from '../../../../src/sources/upstream/askChain.js'
import type { HeadListener } from '../../../../src/sources/upstream/headChoice.js'
import type { UpstreamOptions } from '../../../../src/sources/upstream/upstream.js'
import { Upstreams } from '../../../../src/sources/upstream/upstreams.js'
import { type NodeAnswer, type NodeCall, WeatherNode } from '../../../upstream/weatherNode.js'

export const toyChain: ChainName = { chainId: 7n, genesisHash: blockHash('a', 0) }

/** A hash that names its branch and number. */
export function blockHash(branch: string, number: number): string {
  return `0x${branch.repeat(2)}${number.toString(16).padStart(62, '0')}`
}

/** A header of a toy branch whose genesis is that of branch a. */
export function toyHeader(branch: string, number: number) {
  const hash = number === 0 ? toyChain.genesisHash : blockHash(branch, number)
  const parentHash = number <= 1 ? toyChain.genesisHash : blockHash(branch, number - 1)
  return { number: `0x${number.toString(16)}`, hash, parentHash }
}

/** The answers of a node of the toy chain, with head {@link ToyChain.head}. */
export class ToyChain {
  head = toyHeader('a', 1)
  chainId = '0x7'
  genesis = toyHeader('a', 0)

  readonly answer = ({ method, params }: NodeCall): NodeAnswer => {
    if (method === 'eth_chainId') return { result: this.chainId }
    if (method === 'eth_getBlockByNumber') {
      if (params[0] === 'latest') return { result: this.head }
      const number = Number(params[0])
      if (number > Number(this.head.number)) return { result: null }
      return { result: number === 0 ? this.genesis : toyHeader(this.head.hash.slice(2, 3), number) }
    }
    if (method === 'eth_getCode') return { result: params[0] }
    return { error: { code: -32601, message: `the method ${method} does not exist` } }
  }
}

export async function openNode(
  t: { teardown(close: () => unknown): void },
  answer: (call: NodeCall) => NodeAnswer | Promise<NodeAnswer> = new ToyChain().answer,
): Promise<WeatherNode> {
  const node = new WeatherNode(answer)
  await node.start()
  t.teardown(() => node.stop())
  return node
}

export function optionsOf(node: WeatherNode, more: Partial<UpstreamOptions> = {}): UpstreamOptions {
  return { url: node.url, timeoutMs: 30_000, answerBytesMax: 2 ** 20, ...more }
}

/** A deadline beyond any test. */
export function soon(): number {
  return performance.now() + 60_000
}

/** Nodes behind one `Upstreams`, and the messages for the operator. */
interface Opened {
  readonly upstreams: Upstreams
  readonly lines: string[]
}

/** Asks these nodes as one until the test ends. */
export function openUpstreams(
  t: Test,
  nodes: readonly WeatherNode[],
  more: { readonly quorum?: number; readonly timeoutMs?: number } = {},
): Opened {
  const lines: string[] = []
  const { timeoutMs = 30_000, ...options } = more
  const upstreams = new Upstreams(
    nodes.map((node) => optionsOf(node, { timeoutMs })),
    { chain: toyChain, pollMs: 5, log: (text) => lines.push(text), ...options },
  )
  t.teardown(() => upstreams.close())
  return { upstreams, lines }
}

/** Resolves once the followed head has this hash. */
export function headOf(upstreams: Upstreams, hash: string): Promise<void> {
  return new Promise((resolve) => {
    const listener: HeadListener = (claim) => {
      if (claim.hash !== hash) return
      unlisten()
      resolve()
    }
    const unlisten = upstreams.onHead(listener)
    const { head } = upstreams
    if (head !== undefined) listener(head.claim, head.upstream)
  })
}

/** Nodes of toy chains that are only polled, and their {@link Upstreams}. */
export async function openToys(t: Test, count: number, more: Parameters<typeof openUpstreams>[2] = {}) {
  const chains = Array.from({ length: count }, () => new ToyChain())
  const nodes = await Promise.all(chains.map((chain) => openNode(t, chain.answer)))
  for (const node of nodes) node.hasSockets = false
  return { chains: chains as [ToyChain, ToyChain, ToyChain], nodes, ...openUpstreams(t, nodes, more) }
}
