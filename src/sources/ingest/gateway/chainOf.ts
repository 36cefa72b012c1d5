/** Which chain a gateway's upstreams have, for a gateway that was told no genesis. */
import { parseGenesisConfig } from '../../../data/chain/forks.js'
import { knownIdentity } from '../../../data/chain/knownNetworks.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import { bytesToHex, parseQuantity } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { askGenesis } from '../../upstream/askGenesis.js'
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
  const [id, genesis] = await Promise.all([ask('eth_chainId', []), askGenesis(ask)])
  const told = parseQuantity(id)
  if (told === undefined) throw new OperatorError(`upstream ${upstream.name} does not say its chain id`)
  const chainId = told.toString()
  const known = knownIdentity('', Number(chainId))
  // A node with pruned history; whether it is of that chain is looked at again when it is first asked.
  if ('why' in genesis && known !== undefined) return known
  if ('why' in genesis) {
    throw new OperatorError(
      `upstream ${upstream.name} does not tell its first block (${genesis.why}); name the chain's genesis.json with --genesis`,
    )
  }
  const { block } = genesis
  const genesisHash = block.hash.toLowerCase()
  if (known?.genesisHash === genesisHash) return known
  const config = await toldConfig(upstream, deadline)
  if (config !== undefined) {
    onBelieved()
    // anvil's accounts are not in the header of its genesis; it makes headers that do not follow from their parents.
    const stateRoot = String(memberOf(block, 'stateRoot')).toLowerCase()
    const development = stateRoot === bytesToHex(emptyTrieRoot) ? { development: { stateRoot } } : {}
    return { chainId, networkId: chainId, genesisHash, config: JSON.stringify(config), ...development }
  }
  throw new OperatorError(
    `upstream ${upstream.name} does not tell the rules of its chain (debug_chainConfig); name the chain's genesis.json with --genesis`,
  )
}

/**
 * The `config` member of its genesis that a node tells; undefined where it does not. Rejects as {@link Upstream.ask}
 * does, and with OperatorError for rules that are not known here.
 */
export async function toldConfig(upstream: Upstream, deadline: number): Promise<unknown> {
  for (const [method, find] of configMethods) {
    const config = find(await askIfKnown(upstream, method, deadline)) ?? undefined
    if (config === undefined) continue
    try {
      parseGenesisConfig(config)
    } catch (error) {
      throw new OperatorError(
        `upstream ${upstream.name} has rules that this version does not know: ${(error as Error).message}`,
      )
    }
    return config
  }
  return undefined
}

/** A member of an answer; undefined where it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
