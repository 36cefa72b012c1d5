/**
 * The genesis of a followed node. Most nodes have the genesis of their file. anvil (`--init FILE`) adds accounts and
 * contracts of its own to the state, and its genesis header has the root of an empty state. Both are completed here
 * from its answers, and compared with the root of its own proofs. The first block executed on that state proves it.
 */

import { BlockJsonError, headerRlpFromJson } from '../../../data/chain/blockFromJson.js'
import { includesFork } from '../../../data/chain/forks.js'
import { decodeHeader, encodeHeader, headerHash } from '../../../data/chain/header.js'
import { systemContracts } from '../../../data/chain/protocolContracts.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { bytesToHex, equalBytes, hexToBytes } from '../../../primitives/bytes.js'
import { pause } from '../../../primitives/deferred.js'
import { OperatorError } from '../../../primitives/faults.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { askGenesis } from '../../upstream/askChain.js'
import { askPatiently } from '../../upstream/retry.js'
import { NodeError, Upstream, type UpstreamOptions } from '../../upstream/upstream.js'
import { type Genesis, parseGenesis } from '../blocks/genesis.js'
import { reportedGenesis } from './reportedGenesis.js'

/** Wait before a node that does not answer is asked again. */
const retryMs = 500

/** Contracts that anvil deploys: the CREATE2 factory, and the system contracts of its hardfork. */
const anvilContracts = [
  '0x4e59b44847b379578588920ca78fbf26c0b4956c',
  ...systemContracts
    .filter(({ since }) => includesFork('prague', since))
    .map(({ address }) => bytesToHex(address)),
]

/**
 * The genesis with which `store` was made, or must be made, to follow nodes: the one of its file, or anvil's completion
 * of it. If `genesis` is undefined, it is made from a node's answers; undefined for a store that has a genesis and no
 * file. A new store waits for the first node that answers. Throws OperatorError if the file is of another chain than
 * that node.
 */
export async function genesisOfNode(
  genesis: Genesis | undefined,
  text: string,
  store: ChainWriter,
  nodes: readonly UpstreamOptions[],
  { notice, signal }: { readonly notice: (text: string) => void; readonly signal: AbortSignal },
): Promise<Genesis | undefined> {
  if (store.readIdentity() !== undefined) return genesis && completedGenesis(genesis, store)
  const upstreams = nodes.map((node) => new Upstream(node, undefined, notice))
  const close = () => {
    for (const upstream of upstreams) upstream.close()
  }
  signal.addEventListener('abort', close)
  try {
    for (let turn = 0; ; turn++) {
      const upstream = upstreams[turn % upstreams.length] as Upstream
      try {
        if (genesis !== undefined) return await askedGenesis(genesis, text, upstream)
        const reported = await reportedGenesis(upstream, notice)
        return await askedGenesis(parseGenesis(reported), reported, upstream)
      } catch (error) {
        if (error instanceof OperatorError) throw error
        if (error instanceof NodeError || error instanceof BlockJsonError) {
          throw new OperatorError(`upstream ${upstream.name} does not report its genesis: ${error.message}`)
        }
        if (signal.aborted) throw new OperatorError(`stopped before upstream ${upstream.name} answered`)
        if (upstream === upstreams.at(-1)) await pause(retryMs, signal)
      }
    }
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }
}

/** The genesis of a file. If `store` was made with anvil's completion of it, it has the identity of that. */
export function completedGenesis(genesis: Genesis, store: ChainWriter): Genesis {
  const known = store.readIdentity()
  const development = known?.development
  if (development === undefined || known?.genesisHash === genesis.identity.genesisHash) return genesis
  const stored = store.readHeader(store.readCanonicalHash(0) ?? genesis.blockDiff.hash)
  if (stored === undefined || !equalBytes(withoutState(stored), withoutState(genesis.blockDiff.header)))
    return genesis
  const { genesisHash = '' } = known ?? {}
  return { ...genesis, identity: { ...genesis.identity, genesisHash, development } }
}

async function askedGenesis(genesis: Genesis, text: string, upstream: Upstream): Promise<Genesis> {
  const ask = (method: string, params: readonly unknown[]) =>
    askPatiently(upstream, method, params, performance.now() + upstream.options.timeoutMs)
  const reported = await askGenesis(ask)
  // The node has pruned history; its chain id is compared at the first request.
  if ('why' in reported) return genesis
  const header = headerRlpFromJson(reported.block)
  const { hash } = genesis.blockDiff
  const isSame = equalBytes(headerHash(header), hash)
  const hasNoState = equalBytes(decodeHeader(header).stateRoot, emptyTrieRoot)
  if (isSame && !hasNoState) return genesis
  if (!hasNoState || !equalBytes(withoutState(header), withoutState(genesis.blockDiff.header))) {
    throw new OperatorError(
      `upstream ${upstream.name} is of another chain: its genesis is ${bytesToHex(headerHash(header))}, ` +
        `that of the file is ${bytesToHex(hash)}${differences(header, genesis.blockDiff.header)}`,
    )
  }
  const addresses = [...((await ask('eth_accounts', [])) as string[]), ...anvilContracts]
  const entries = await Promise.all(
    addresses.map(async (address) => {
      const [balance, nonce, code] = await Promise.all(
        ['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode'].map((method) =>
          ask(method, [address, '0x0']),
        ),
      )
      return [address.toLowerCase(), { balance, nonce, code }] as const
    }),
  )
  const present = entries.filter(
    ([, { balance, nonce, code }]) => balance !== '0x0' || nonce !== '0x0' || code !== '0x',
  )
  if (isSame && present.length === 0) return genesis
  const completed = parseGenesis(text, Object.fromEntries(present))
  const stateRoot = decodeHeader(completed.blockDiff.header).stateRoot
  const proof = (await ask('eth_getProof', [anvilContracts[0], [], '0x0'])) as {
    readonly accountProof: string[]
  }
  const root = keccak256(hexToBytes(proof.accountProof[0] ?? ''))
  if (!equalBytes(root, stateRoot)) {
    throw new OperatorError(
      `upstream ${upstream.name} has another genesis state than the file and what anvil adds to it: its root is ` +
        `${bytesToHex(root)}, not ${bytesToHex(stateRoot)}; name the file of its --init with --genesis`,
    )
  }
  return {
    ...completed,
    identity: {
      ...completed.identity,
      genesisHash: bytesToHex(headerHash(header)),
      development: { stateRoot: bytesToHex(stateRoot) },
    },
    blockDiff: { ...completed.blockDiff, header, hash: headerHash(header) },
  }
}

/** A header's RLP with the root of an empty state. */
function withoutState(header: Uint8Array): Uint8Array {
  return encodeHeader({ ...decodeHeader(header), stateRoot: emptyTrieRoot })
}

/** The fields that differ, as the end of a sentence. */
function differences(theirs: Uint8Array, ours: Uint8Array): string {
  const a = decodeHeader(theirs)
  const b = decodeHeader(ours)
  const text = (value: unknown) => (value instanceof Uint8Array ? bytesToHex(value) : String(value))
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])] as (keyof typeof a)[]
  const differing = names.filter((name) => text(a[name]) !== text(b[name]))
  return differing.length === 0 ? '' : ` (${differing.join(', ')} differ)`
}
