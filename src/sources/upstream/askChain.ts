/** Asks a node for its chain (the chain id, and the first block), and compares it with the chain that it must have. */
import { toQuantity } from '../../primitives/bytes.js'
import { UpstreamFailure } from './line.js'
import { type Ask, type ChainCheck, NodeError } from './upstream.js'

type Call = readonly [method: string, params: readonly unknown[]]

/** The chain that nodes must have. */
export interface ChainName {
  readonly chainId: bigint
  /** Lower-case hex. */
  readonly genesisHash: string
  /**
   * A stored permanent block of the chain, for nodes that do not return their first one; its hash in lower-case hex.
   */
  readonly storedBlock?: () => { readonly number: number; readonly hash: string } | undefined
}

/**
 * Ethereum Classic has Ethereum's first block and network id. At this block the two chains split; this is the extra
 * data of Ethereum's block (EIP-779).
 */
const daoFork = { block: '0x1d4c00', extraData: '0x64616f2d686172642d666f726b' } as const
const mainnetId = 1
const classicId = 61

/** Nodes with pruned history (EIP-4444) have at most the header of an early block. */
const headerCalls = (number: string): readonly Call[] => [
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
  const { found, why } = await askInTurn(ask, headerCalls('0x0'), readBlock, 'no block')
  return found === undefined ? { why } : { block: found }
}

export interface ReportedChainId {
  /** Undefined if the node does not report it. */
  readonly id: number | undefined
  /**
   * The reason if `eth_chainId` gives no chain id. `id` is then the network id, which is the same on nearly all chains;
   * Ethereum Classic is recognised by a block. If absent, `id` is the chain id.
   */
  readonly why?: string
}

/** The chain id that a node reports, a safe integer. Rejects as {@link askGenesis}. */
export async function askChainId(ask: Ask): Promise<ReportedChainId> {
  const calls: readonly Call[] = [
    ['eth_chainId', []],
    ['net_version', []],
  ]
  const { found: id, why } = await askInTurn(ask, calls, readChainId, 'no number')
  if (why === '') return { id }
  return { id: id === mainnetId && (await isClassic(ask)) ? classicId : id, why }
}

/** Compares the chain of a node with `chain`. Rejects as {@link askGenesis}, and if the node reports nothing of it. */
export async function checkChain(ask: Ask, chain: ChainName): Promise<ChainCheck> {
  const [reported, genesis] = await Promise.all([askChainId(ask), askGenesis(ask)])
  const { id, why } = reported
  // If the chain id is not reported, a block identifies the chain.
  if (why === undefined && BigInt(id as number) !== chain.chainId)
    return { fault: `its chain id is ${id}, this network's is ${chain.chainId}` }
  if ('why' in genesis) return checkStored(ask, chain, reported, genesis.why)
  const { hash } = genesis.block
  if (hash.toLowerCase() !== chain.genesisHash)
    return { fault: `its genesis is ${hash}, this network's is ${chain.genesisHash}` }
  return why === undefined ? {} : { notice: noticeOf('chain id', why, 'its genesis') }
}

/** For a node that does not return its first block: compares a stored block, if the node returns that one. */
async function checkStored(
  ask: Ask,
  { chainId, storedBlock }: ChainName,
  reported: ReportedChainId,
  why: string,
): Promise<ChainCheck> {
  const stored = storedBlock?.()
  const hash = stored && (await askHash(ask, stored.number))
  if (stored !== undefined && hash !== undefined && hash.toLowerCase() !== stored.hash)
    return { fault: `its block ${stored.number} is ${hash}, this network's is ${stored.hash}` }
  const id = reported.why === undefined ? 'its chain id' : 'its network id'
  if (hash !== undefined) {
    const block = `block ${stored?.number}`
    return { notice: noticeOf('first block', why, reported.why === undefined ? `${id} and ${block}` : block) }
  }
  if (reported.id === undefined) throw new Error(`${reported.why}; ${why}`)
  if (BigInt(reported.id) !== chainId)
    return { fault: `${id} is ${reported.id}, this network's chain id is ${chainId}` }
  return { notice: noticeOf('first block', why, `${id} alone`) }
}

/** The hash of a block by its number; undefined if the node does not report it. */
async function askHash(ask: Ask, number: number): Promise<string | undefined> {
  try {
    return readBlock(await ask('eth_getBlockByNumber', [toQuantity(number), false]))?.hash
  } catch (error) {
    if (error instanceof NodeError || error instanceof UpstreamFailure) return undefined
    throw error
  }
}

function noticeOf(what: string, why: string, basis: string): string {
  return `does not report its ${what} (${why}); ${basis} says which chain it has`
}

async function isClassic(ask: Ask): Promise<boolean> {
  const { found } = await askInTurn(ask, headerCalls(daoFork.block), readBlock, 'no block')
  return found?.extraData !== undefined && found.extraData !== daoFork.extraData
}

/** The first usable answer to these questions, and the reasons why the earlier ones failed. */
async function askInTurn<T>(
  ask: Ask,
  calls: readonly Call[],
  read: (result: unknown) => T | undefined,
  otherwise: string,
): Promise<{ readonly found: T | undefined; readonly why: string }> {
  const reasons: string[] = []
  for (const [method, params] of calls) {
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
