import { NodeError } from './upstream.js'

/** Nodes whose history is pruned (EIP-4444) have the header of their first block, if that. */
const ways: readonly (readonly [method: string, params: readonly unknown[]])[] = [
  ['eth_getBlockByNumber', ['0x0', false]],
  ['eth_getHeaderByNumber', ['0x0']],
]

/**
 * The header of a node's first block as JSON with at least a `hash`, or why it does not tell it. Rejects as `ask` does,
 * but for {@link NodeError}.
 */
export async function askGenesis(
  ask: (method: string, params: readonly unknown[]) => Promise<unknown>,
): Promise<{ readonly block: { readonly hash: string } } | { readonly why: string }> {
  const reasons: string[] = []
  for (const [method, params] of ways) {
    try {
      const block = await ask(method, params)
      if (isBlock(block)) return { block }
      reasons.push(`${method}: ${block === null ? 'null' : 'no block'}`)
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      reasons.push(`${method}: error ${error.code}: ${error.message}`)
    }
  }
  return { why: reasons.join('; ') }
}

function isBlock(value: unknown): value is { readonly hash: string } {
  return typeof (value as { readonly hash?: unknown } | null)?.hash === 'string'
}
