/** The chain of a gateway's upstreams, for a gateway without a genesis. */
import { hasOwnRules, provedNameOf } from '../../../data/chain/families/families.js'
import { ForkSchedule, parseGenesisConfig } from '../../../data/chain/forks.js'
import { familyIdentity, knownIdentity, networkOf } from '../../../data/chain/knownNetworks.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { askChainId, askGenesis, type ReportedChainId } from '../../upstream/askChain.js'
import { askIfKnown, askPatiently } from '../../upstream/retry.js'
import type { Upstream } from '../../upstream/upstream.js'

/** Methods that return the `config` member of a node's genesis, and where it is in the answer. */
const configMethods: readonly (readonly [method: string, find: (answer: unknown) => unknown])[] = [
  ['debug_chainConfig', (answer) => answer],
  ['admin_nodeInfo', (answer) => memberOf(memberOf(memberOf(answer, 'protocols'), 'eth'), 'config')],
]

/**
 * The chain of a node: a public network by its genesis hash, or a chain with the rules that the node reports. No hash
 * covers the rules of a chain, so these are trusted; `onBelieved` is called then. Rejects as {@link Upstream.ask} does,
 * and with OperatorError if the node does not report its chain.
 */
export async function chainOf(
  upstream: Upstream,
  deadline: number,
  onBelieved: () => void,
): Promise<ChainIdentity> {
  const ask = (method: string, params: readonly unknown[]) => askPatiently(upstream, method, params, deadline)
  const [reported, genesis] = await Promise.all([askChainId(ask), askGenesis(ask)])
  const id = await chainIdOf(upstream, reported, deadline)
  const chainId = id.toString()
  const identity = knownIdentity('', id)
  // The node has pruned history; its chain is checked at the first request.
  if ('why' in genesis && identity !== undefined) return identity
  if ('why' in genesis) {
    throw new OperatorError(
      `upstream ${upstream.name} does not report its first block (${genesis.why}); name the chain's genesis.json with --genesis`,
    )
  }
  const { block } = genesis
  const genesisHash = block.hash.toLowerCase()
  if (identity?.genesisHash === genesisHash) return identity
  const config = await askConfig(upstream, deadline)
  const family = networkOf(id)?.family ?? (config && provedNameOf(config))
  // With known rules the chain is executed. A chain of another family may report only Ethereum's members.
  const isExecuted = config !== undefined && setsKnownRules(config)
  if (family !== undefined && !isExecuted) return familyIdentity(chainId, genesisHash, family)
  if (config !== undefined) {
    requireKnownRules(upstream, config)
    onBelieved()
    // anvil's accounts are not in the header of its genesis, and its headers need not follow from their parents'.
    const stateRoot = String(memberOf(block, 'stateRoot')).toLowerCase()
    const development = stateRoot === bytesToHex(emptyTrieRoot) ? { development: { stateRoot } } : {}
    return { chainId, networkId: chainId, genesisHash, config: JSON.stringify(config), ...development }
  }
  // Blocks in Ethereum's form are proved; everything else is as upstreams report it.
  return familyIdentity(chainId, genesisHash, 'other')
}

/**
 * The `config` member of a node's genesis; undefined if the node does not report it. Rejects as {@link Upstream.ask}
 * does, and with OperatorError for unknown rules.
 */
export async function reportedConfig(upstream: Upstream, deadline: number): Promise<unknown> {
  const config = await askConfig(upstream, deadline)
  if (config !== undefined) requireKnownRules(upstream, config)
  return config
}

/**
 * The chain id that a node reports, or else the one of its rules; never a network id. Rejects as {@link reportedConfig},
 * and with OperatorError if it reports none.
 */
export async function chainIdOf(
  upstream: Upstream,
  { id, why }: ReportedChainId,
  deadline: number,
): Promise<number> {
  const config = why === undefined ? undefined : await askConfig(upstream, deadline)
  const found = Number(memberOf(config, 'chainId') ?? id)
  if (Number.isSafeInteger(found)) return found
  throw new OperatorError(
    `upstream ${upstream.name} does not report its chain id (${why}); name the chain's genesis.json with --genesis`,
  )
}

/** Whether a reported `config` sets rules that are not Ethereum's, and all are known. */
function setsKnownRules(config: object): boolean {
  try {
    return hasOwnRules(new ForkSchedule(parseGenesisConfig(config)).family)
  } catch {
    return false
  }
}

async function askConfig(upstream: Upstream, deadline: number): Promise<object | undefined> {
  for (const [method, find] of configMethods) {
    const config = find(await askIfKnown(upstream, method, deadline)) ?? undefined
    if (typeof config === 'object') return config
  }
  return undefined
}

/** Throws OperatorError for unknown rules. */
function requireKnownRules(upstream: Upstream, config: object): void {
  try {
    parseGenesisConfig(config)
  } catch (error) {
    throw new OperatorError(
      `upstream ${upstream.name} has rules that this version does not know: ${(error as Error).message}`,
    )
  }
}

/** A member of an answer; undefined if it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
