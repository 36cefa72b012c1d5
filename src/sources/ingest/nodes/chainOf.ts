/** Which chain a gateway's upstreams have, for a gateway that was told no genesis. */
import { hasOwnRules } from '../../../data/chain/families/families.js'
import { familyIdentity, provedFamilyOfConfig } from '../../../data/chain/families/provedFamilies.js'
import { ForkSchedule, parseGenesisConfig } from '../../../data/chain/forks.js'
import { knownIdentity, networkOf } from '../../../data/chain/knownNetworks.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { askChainId, askGenesis, type ToldChainId } from '../../upstream/askChain.js'
import { askIfKnown, askPatiently } from '../../upstream/askPatiently.js'
import type { Upstream } from '../../upstream/upstream.js'

/** Methods with which nodes tell the `config` member of their genesis, and where it is in the answer. */
const configMethods: readonly (readonly [method: string, find: (answer: unknown) => unknown])[] = [
  ['debug_chainConfig', (answer) => answer],
  ['admin_nodeInfo', (answer) => memberOf(memberOf(memberOf(answer, 'protocols'), 'eth'), 'config')],
]

/**
 * The chain of a node: a public network by its genesis hash, or what the node says its rules are. No hash covers the
 * rules of a chain, so those are believed, which `onBelieved` is told. Rejects as {@link Upstream.ask} does, and with
 * OperatorError where the node does not tell.
 */
export async function chainOf(
  upstream: Upstream,
  deadline: number,
  onBelieved: () => void,
): Promise<ChainIdentity> {
  const ask = (method: string, params: readonly unknown[]) => askPatiently(upstream, method, params, deadline)
  const [told, genesis] = await Promise.all([askChainId(ask), askGenesis(ask)])
  const id = await chainIdOf(upstream, told, deadline)
  const chainId = id.toString()
  const identity = knownIdentity('', id)
  // A node with pruned history; whether it is of that chain is looked at again when it is first asked.
  if ('why' in genesis && identity !== undefined) return identity
  if ('why' in genesis) {
    throw new OperatorError(
      `upstream ${upstream.name} does not tell its first block (${genesis.why}); name the chain's genesis.json with --genesis`,
    )
  }
  const { block } = genesis
  const genesisHash = block.hash.toLowerCase()
  if (identity?.genesisHash === genesisHash) return identity
  const config = await askConfig(upstream, deadline)
  const family = networkOf(id)?.family ?? (config && provedFamilyOfConfig(config))
  // Where its rules are known it is executed; a chain that is none of Ethereum's may tell Ethereum's members alone.
  const isExecuted = config !== undefined && setsKnownRules(config)
  if (family !== undefined && !isExecuted) return familyIdentity(chainId, genesisHash, family)
  if (config !== undefined) {
    requireKnownRules(upstream, config)
    onBelieved()
    // anvil's accounts are not in the header of its genesis; it makes headers that do not follow from their parents.
    const stateRoot = String(memberOf(block, 'stateRoot')).toLowerCase()
    const development = stateRoot === bytesToHex(emptyTrieRoot) ? { development: { stateRoot } } : {}
    return { chainId, networkId: chainId, genesisHash, config: JSON.stringify(config), ...development }
  }
  // What has the shape of Ethereum's blocks is proved; all else is what upstreams say.
  return familyIdentity(chainId, genesisHash, 'other')
}

/**
 * The `config` member of its genesis that a node tells; undefined where it does not. Rejects as {@link Upstream.ask}
 * does, and with OperatorError for rules that are not known here.
 */
export async function toldConfig(upstream: Upstream, deadline: number): Promise<unknown> {
  const config = await askConfig(upstream, deadline)
  if (config !== undefined) requireKnownRules(upstream, config)
  return config
}

/**
 * The chain id that a node tells, or where it does not the one of its rules, which is no network id. Rejects as {@link
 * toldConfig}, and with OperatorError where it tells none.
 */
export async function chainIdOf(
  upstream: Upstream,
  { id, why }: ToldChainId,
  deadline: number,
): Promise<number> {
  const config = why === undefined ? undefined : await askConfig(upstream, deadline)
  const found = Number(memberOf(config, 'chainId') ?? id)
  if (Number.isSafeInteger(found)) return found
  throw new OperatorError(
    `upstream ${upstream.name} does not tell its chain id (${why}); name the chain's genesis.json with --genesis`,
  )
}

/** Whether a told `config` sets rules that are not Ethereum's, and are all known. */
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

/** Throws OperatorError. */
function requireKnownRules(upstream: Upstream, config: object): void {
  try {
    parseGenesisConfig(config)
  } catch (error) {
    throw new OperatorError(
      `upstream ${upstream.name} has rules that this version does not know: ${(error as Error).message}`,
    )
  }
}

/** A member of an answer; undefined where it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
