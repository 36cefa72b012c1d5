/**
 * Makes a genesis file from a node's answers, for a follower without one. The hash of block 0 proves header and state.
 * No hash covers the rules of the chain, so these are trusted. anvil reports neither rules nor state. The name of its
 * fork implies its rules, and its own accounts are added elsewhere.
 */
import { headerRlpFromJson } from '../../../data/chain/blockFromJson.js'
import { type EthereumFork, forkNames, forksByTime, forksUpToLondon } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash } from '../../../data/chain/header.js'
import { bytesToHex, equalBytes, toQuantity } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { accountsPerAnswer, readAccountPage } from '../../upstream/accountRange.js'
import { askChainId, askGenesis } from '../../upstream/askChain.js'
import { askIfKnown, askPatiently } from '../../upstream/retry.js'
import type { Upstream } from '../../upstream/upstream.js'
import { parseGenesis } from '../blocks/genesis.js'
import { chainIdOf, memberOf, reportedConfig } from '../nodes/chainOf.js'

/** Most answers for one genesis: 25,600 accounts. Larger ones, of public networks, come as files with their clients. */
const answersMax = 100

/** Location of a client's genesis, by the start of `web3_clientVersion`. */
const filesByClient: readonly (readonly [client: RegExp, file: string])[] = [
  [/^anvil/i, 'the file of its --init'],
  [/^geth/i, 'the one of `geth init`, or what `geth dumpgenesis` prints'],
  [/^reth/i, 'the file of its --chain'],
  [/^besu/i, 'the file of its --genesis-file'],
  [/^nethermind/i, "the genesis.json of the same network, in go-ethereum's form"],
  [/^erigon/i, 'the one of `erigon init`'],
  [/^tidegate/i, 'the "genesis" of that network in its configuration'],
]

/**
 * The text of a geth-format genesis. If the node does not provide it, throws OperatorError that names the required
 * file; otherwise rejects as {@link Upstream.ask} does. `notice` gets a sentence about the unverified parts.
 */
export async function reportedGenesis(upstream: Upstream, notice: (text: string) => void): Promise<string> {
  const deadline = performance.now() + upstream.options.timeoutMs
  const ask = (method: string, params: readonly unknown[]) => askPatiently(upstream, method, params, deadline)
  const [id, genesis, anvil, client] = await Promise.all([
    askChainId(ask),
    askGenesis(ask),
    askIfKnown(upstream, 'anvil_nodeInfo', deadline),
    askIfKnown(upstream, 'web3_clientVersion', deadline),
  ])
  const version = typeof client === 'string' ? client : ''
  const file = filesByClient.find(([begins]) => begins.test(version))?.[1] ?? 'its genesis.json'
  const unreported = (what: string) =>
    new OperatorError(
      `upstream ${upstream.name} does not report ${what}; name the genesis that the node was started with: --genesis FILE (${file})`,
    )
  if ('why' in genesis) throw unreported(`its first block (${genesis.why})`)
  const rlp = headerRlpFromJson(genesis.block)
  const header = decodeHeader(rlp)
  const chainId = await chainIdOf(upstream, id, deadline)
  const isAnvil = anvil !== undefined
  const config = isAnvil
    ? anvilConfig(chainId, anvil, await askIfKnown(upstream, 'eth_config', deadline))
    : await reportedConfig(upstream, deadline)
  if (config === undefined) throw unreported('the rules of its chain')
  const isEmpty = equalBytes(header.stateRoot, emptyTrieRoot)
  const alloc = isEmpty ? {} : await reportedState(upstream)
  if (alloc === undefined) throw unreported('the state of its genesis')
  const text = JSON.stringify({ ...membersOf(header), config, alloc })
  // anvil's own accounts are not in its header; they are completed and compared elsewhere.
  if (!isAnvil && !equalBytes(parseGenesis(text).blockDiff.hash, headerHash(rlp)))
    throw unreported('its whole genesis')
  notice(
    `the genesis is the one that ${upstream.name} reports; its rules (forks) are not verified: ${JSON.stringify(config)}`,
  )
  return text
}

/** The members of a genesis file that make its header. */
function membersOf(header: Header) {
  const { parentHash, miner, difficulty, gasLimit, gasUsed, timestamp, extraData, mixHash, nonce } = header
  const { baseFeePerGas, blobGasUsed, excessBlobGas, slotNumber } = header
  const later = { baseFeePerGas, blobGasUsed, excessBlobGas, slotNumber }
  return {
    parentHash: bytesToHex(parentHash),
    coinbase: bytesToHex(miner),
    mixHash: bytesToHex(mixHash),
    extraData: bytesToHex(extraData),
    nonce: bytesToHex(nonce),
    timestamp: toQuantity(timestamp),
    difficulty: toQuantity(difficulty),
    gasLimit: toQuantity(gasLimit),
    gasUsed: toQuantity(gasUsed),
    ...Object.fromEntries(
      Object.entries(later).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, toQuantity(value)] as const],
      ),
    ),
  }
}

/** The rules of anvil, all from the first block on; undefined for an unknown fork, or one before the Merge. */
function anvilConfig(chainId: number, info: unknown, forkConfig: unknown): object | undefined {
  const fork = String(memberOf(info, 'hardFork')).toLowerCase()
  const at = forkNames.indexOf((fork === 'merge' ? 'paris' : fork) as EthereumFork)
  if (at < forkNames.indexOf('paris')) return undefined
  const times = forksByTime.filter((name) => forkNames.indexOf(name) <= at)
  const blobs = memberOf(memberOf(forkConfig, 'current'), 'blobSchedule')
  const withBlobs = times.filter((name) => forkNames.indexOf(name) >= forkNames.indexOf('cancun'))
  return {
    chainId,
    ...forksUpToLondon,
    terminalTotalDifficulty: 0,
    ...Object.fromEntries(times.map((name) => [`${name}Time`, 0])),
    // Only the parameters in force matter, because no fork comes later.
    ...(blobs !== undefined && { blobSchedule: Object.fromEntries(withBlobs.map((name) => [name, blobs])) }),
  }
}

/**
 * The accounts of block 0 in the form of a genesis file; undefined if the node does not provide them, or has too many.
 */
async function reportedState(upstream: Upstream): Promise<Record<string, unknown> | undefined> {
  const alloc: Record<string, unknown> = {}
  let start: string | undefined = '0x'
  for (let answers = 0; answers < answersMax && start !== undefined; answers++) {
    const deadline = performance.now() + upstream.options.timeoutMs
    const params = ['0x0', start, accountsPerAnswer, false, false, false]
    const page = readAccountPage(await askIfKnown(upstream, 'debug_accountRange', deadline, params))
    if (page === undefined) return undefined
    for (const [address, account] of page.accounts) alloc[address.toLowerCase()] = entryOf(account)
    start = page.next
  }
  return start === undefined ? alloc : undefined
}

/** go-ethereum writes the values of slots without `0x`. */
function entryOf(account: unknown) {
  const storage = Object.entries((memberOf(account, 'storage') ?? {}) as Record<string, unknown>)
  return {
    balance: memberOf(account, 'balance'),
    nonce: memberOf(account, 'nonce'),
    code: memberOf(account, 'code') ?? '0x',
    storage: Object.fromEntries(storage.map(([slot, value]) => [slot, `0x${value}`])),
  }
}
