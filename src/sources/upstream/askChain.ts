/** Asks a node for its chain: the chain id, and the first block. */
import { NodeError } from './upstream.js'

type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>
type Way = readonly [method: string, params: readonly unknown[]]

/**
 * Ethereum Classic has Ethereum's first block and network id. At this block the two chains split; this is the extra
 * data of Ethereum's block (EIP-779).
 */
const daoFork = { block: '0x1d4c00', extraData: '0x64616f2d686172642d666f726b' } as const
const mainnetId = 1
const classicId = 61

/** Nodes with pruned history (EIP-4444) have at most the header of an early block. */
const headerWays = (number: string): readonly Way[] => [
  ['eth_getBlockByNumber', [number, false]],
  ['eth_getHeaderByNumber', [number]],
]

/**
 * The header of a node's first block as JSON with at least a `hash`, or the reason why the node does not return it.
 * Rejects as `ask` does, except for {@link NodeError}.
 */
export async function askGenesis(
  ask: Ask,
): Promise<{ readonly block: { readonly hash: string } } | { readonly why: string }> {
  const { found, why } = await askWays(ask, headerWays('0x0'), readBlock, 'no block')
  return found === undefined ? { why } : { block: found }
}

export interface ReportedChainId {
  /** Undefined if the node does not report it. */
  readonly id: number | undefined
  /**
   * The reason if `eth_chainId` gives no chain id. `id` is then the network id, which is the same on nearly all chains;
   * Ethereum Classic is recognised by a block. Absent: `id` is the chain id.
   */
  readonly why?: string
}

/** The chain id that a node reports, a safe integer. Rejects as {@link askGenesis}. */
export async function askChainId(ask: Ask): Promise<ReportedChainId> {
  const ways: readonly Way[] = [
    ['eth_chainId', []],
    ['net_version', []],
  ]
  const { found: id, why } = await askWays(ask, ways, readChainId, 'no number')
  if (why === '') return { id }
  return { id: id === mainnetId && (await isClassic(ask)) ? classicId : id, why }
}

async function isClassic(ask: Ask): Promise<boolean> {
  const { found } = await askWays(ask, headerWays(daoFork.block), readBlock, 'no block')
  return found?.extraData !== undefined && found.extraData !== daoFork.extraData
}

/** The first usable answer to these questions, and the reasons why the earlier ones failed. */
async function askWays<T>(
  ask: Ask,
  ways: readonly Way[],
  read: (result: unknown) => T | undefined,
  otherwise: string,
): Promise<{ readonly found: T | undefined; readonly why: string }> {
  const reasons: string[] = []
  for (const [method, params] of ways) {
    try {
      const result = await ask(method, params)
      const found = read(result)
      if (found !== undefined) return { found, why: reasons.join('; ') }
      reasons.push(`${method}: ${result === null ? 'null' : otherwise}`)
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      reasons.push(`${method}: error ${error.code}: ${error.message}`)
    }
  }
  return { found: undefined, why: reasons.join('; ') }
}

function readBlock(value: unknown): { readonly hash: string; readonly extraData?: unknown } | undefined {
  const { hash } = (value ?? {}) as { readonly hash?: unknown }
  return typeof hash === 'string' ? (value as { readonly hash: string }) : undefined
}

/** A quantity, or a JSON number or decimal text from some nodes; undefined if it is no safe integer. */
function readChainId(value: unknown): number | undefined {
  const isNumber = typeof value === 'number' || /^(0x[0-9a-f]+|[0-9]+)$/i.test(String(value))
  const id = isNumber ? Number(value) : Number.NaN
  return Number.isSafeInteger(id) && id >= 0 ? id : undefined
}
