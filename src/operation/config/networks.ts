/** The networks of one command: from the configuration, the data folder and the command line. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readStoredIdentity } from '../../data/store/manifest.js'
import { UsageError } from '../../primitives/faults.js'
import { isThere, namesIn } from '../../primitives/files.js'
import { nearest } from '../../primitives/nearest.js'
import { beaconOf } from './beacon.js'
import {
  demoNetwork,
  entryToNetwork,
  gatewayNetwork,
  type NetworkConfig,
  storedNetwork,
  storePath,
} from './chainNetwork.js'
import { demoNetworkName, demoRollupName } from './embeddedNames.js'
import {
  type ConfigFile,
  type NetworkEntry,
  networkNameExpected,
  networkNamePattern,
  reservedNames,
} from './file.js'
import { gatewayOf } from './gateway.js'
import { historyOf } from './history.js'
import { existingFile } from './paths.js'
import { demoRollup, entryToRollup, type RollupConfig } from './rollupNetwork.js'
import { consensusFlags, followUrl } from './source.js'
import { findUpstreamFaults, isUpstreamUrl, upstreamSchema } from './upstream.js'

/** Flags that choose the served networks. */
export interface NetworkFlags {
  readonly network?: string | undefined
  /** URLs: serve a gateway to these nodes. */
  readonly upstream?: readonly string[] | undefined
  /** The networks of these nodes if `network` names none; if absent, not known yet. */
  readonly chains?: readonly UpstreamChain[] | undefined
  /** Block number from which that gateway completes its logs. */
  readonly logsFrom?: number | undefined
  /** Blocks below the head whose state, receipts and bodies are kept. */
  readonly history?: number | undefined
  /** URL of a node whose chain is followed. */
  readonly follow?: string | undefined
  /** The genesis of a gateway's chain, or of the followed node. */
  readonly genesis?: string | undefined
  /** URLs of beacon nodes, whose signatures confirm the head. */
  readonly beacon?: readonly string[] | undefined
  /** The listener for a consensus client, whose blocks the network takes. */
  readonly enginePort?: number | undefined
  readonly engineHost?: string | undefined
  readonly jwtSecret?: string | undefined
  /** URLs of nodes that send the blocks between the store and the head that the client chose. */
  readonly engineFrom?: readonly string[] | undefined
  /** URLs of beacon nodes that send them, too. */
  readonly engineBeacon?: readonly string[] | undefined
  /** Root of a beacon block, hex. */
  readonly checkpoint?: string | undefined
}

/** Nodes of one chain, and the name under which it is served. */
export interface UpstreamChain {
  readonly name: string
  readonly chainId: number
  /** Time between two blocks, if known. */
  readonly blockMs: number | undefined
  /** At least one. */
  readonly urls: readonly string[]
}

/** Name of a network whose nodes did not report their chain yet. */
export const unknownChainName = 'upstream'

interface DataFolder {
  readonly dataDir: string
  readonly mapBytes: number
}

export type Served = NetworkConfig | RollupConfig

/** The networks that `serve` serves. Throws UsageError if flags contradict each other or the configuration. */
export function servedNetworks(file: ConfigFile, data: DataFolder, flags: NetworkFlags): Served[] {
  return withHistory(networksOf(file, data, flags), flags.history)
}

/** Applies `--history` to the networks that execute blocks. Throws UsageError if none does. */
export function withHistory<N extends Served>(networks: readonly N[], blocks: number | undefined): N[] {
  if (blocks === undefined) return [...networks]
  if (!networks.some(canForget)) {
    throw new UsageError(
      '--history is for a network that executes blocks, other than a replay, which keeps all; a gateway has workingSet.maxMB in a configuration',
    )
  }
  return networks.map((each) => (canForget(each) ? { ...each, history: historyOf(blocks) } : each))
}

/** A replay unwinds to its first block at each start. */
function canForget(network: Served): boolean {
  const isExecuted = network.kind !== 'rollup' && (network.kind ?? 'archive') === 'archive'
  return isExecuted && network.source?.type !== 'replay'
}

function networksOf(file: ConfigFile, data: DataFolder, flags: NetworkFlags): Served[] {
  const { network, upstream, follow, genesis, logsFrom, beacon, checkpoint } = flags
  requireBeacon(beacon, checkpoint)
  if (upstream !== undefined) {
    if (follow !== undefined)
      throw new UsageError('--upstream and --follow exclude each other; leave one out')
    return upstreamNetworks(file, data, flags, upstream)
  }
  if (logsFrom !== undefined) throw new UsageError('--logs-from is for a network with --upstream')
  const { enginePort, engineHost, jwtSecret, engineFrom, engineBeacon } = flags
  const isUnderConsensus = [enginePort, engineHost, jwtSecret, engineFrom, engineBeacon].some(
    (flag) => flag !== undefined,
  )
  if (follow !== undefined && isUnderConsensus)
    throw new UsageError(
      '--follow and --engine-port exclude each other: blocks come from a node or from a consensus client',
    )
  if (follow !== undefined) return [followedNetwork(file, data, flags, follow)]
  if (beacon !== undefined) {
    throw new UsageError(
      '--beacon is for a network with --upstream or --follow; in a configuration, name the nodes in its beacon.nodes',
    )
  }
  if (isUnderConsensus) return [consensusNetwork(file, data, flags)]
  if (genesis !== undefined)
    throw new UsageError('--genesis is for a network with --upstream, --follow or --engine-port')
  return network === undefined ? configuredNetworks(file, data) : [findServedNetwork(file, data, network)]
}

/** The networks of `--upstream`: the network of `--network`, or one for each chain. */
function upstreamNetworks(
  file: ConfigFile,
  { dataDir }: DataFolder,
  { network, chains, genesis, logsFrom, beacon, checkpoint }: NetworkFlags,
  upstream: readonly string[],
): NetworkConfig[] {
  if (findUpstreamFaults({ upstreams: upstream }).length > 0)
    throw new UsageError('--upstream names one URL twice, and a node counts once; leave one out')
  const [first, ...others] = chains ?? []
  const one = Object.entries({ genesis, 'logs-from': logsFrom, beacon }).find(
    ([, value]) => value !== undefined,
  )
  if (one !== undefined && others.length > 0) {
    const names = others.map(({ name }) => name).join(', ')
    throw new UsageError(
      `--${one[0]} is for one network, and these upstreams are of ${first?.name}, ${names}; name them in a configuration`,
    )
  }
  const named: readonly Partial<UpstreamChain>[] = chains ?? [{ urls: upstream }]
  return named.map(({ name = network ?? unknownChainName, chainId, blockMs = Infinity, urls = [] }) => {
    if (findEntry(file, name) !== undefined) {
      throw new UsageError(
        `network ${name} is in the configuration; name its upstreams there, or leave --upstream out`,
      )
    }
    const gateway = gatewayOf(urls, logsFrom, beaconOf(beacon, checkpoint))
    // Block times are whole seconds, too coarse to predict the next block of a faster chain.
    const known = gatewayNetwork(name, dataDir, { ...gateway, pollMs: Math.min(gateway.pollMs, blockMs) })
    return { ...known, chainId, genesisPath: genesis === undefined ? undefined : existingFile(genesis) }
  })
}

function requireBeacon(beacon: readonly string[] | undefined, checkpoint: string | undefined): void {
  if (checkpoint !== undefined && beacon === undefined)
    throw new UsageError('--checkpoint is where signatures begin, which beacon nodes have; add --beacon URL')
}

/** Time for a page of accounts with their code, or of slots: a node may have to search for them. */
const stateTimeoutMs = 60_000

/** Nodes that send a state and its block, from flags. Throws UsageError. */
export function startNodes(
  urls: readonly string[],
  beacon: readonly string[] | undefined,
  checkpoint: string | undefined,
) {
  requireBeacon(beacon, checkpoint)
  if (findUpstreamFaults({ upstreams: urls }).length > 0)
    throw new UsageError('--state-from names one URL twice, and a node counts once; leave one out')
  const upstreams = urls.map((url) => upstreamSchema.parse({ url, timeoutMs: stateTimeoutMs }))
  return { upstreams, beacon: beaconOf(beacon, checkpoint) }
}

function configuredNetworks(file: ConfigFile, data: DataFolder): Served[] {
  return (
    file.networks?.map((entry) => entryToServed(entry, file, data)) ?? [
      findDemo(data),
      demoRollup(data.dataDir),
    ]
  )
}

function findServedNetwork(file: ConfigFile, data: DataFolder, name: string): Served {
  const entry = findEntry(file, name)
  if (entry) return entryToServed(entry, file, data)
  if (name === demoNetworkName) return findDemo(data)
  if (name === demoRollupName && !isThere(storePath(data.dataDir, name))) return demoRollup(data.dataDir)
  const network = storedNetwork(name, data.dataDir)
  requireStore(network, data, [demoNetworkName, demoRollupName])
  return network
}

/** The embedded network, unless its name belongs to a store of the operator. */
function findDemo({ dataDir, mapBytes }: DataFolder): NetworkConfig {
  const stored = storedNetwork(demoNetworkName, dataDir)
  // An unreadable path is reported when the store is made. LMDB crashes on an empty file that is opened for reading.
  const isMade = existsSync(stored.storePath) && statSync(stored.storePath).size > 0
  const identity = isMade ? readStoredIdentity(stored.storePath, mapBytes) : undefined
  return identity === undefined || identity.embedded ? demoNetwork(dataDir) : stored
}

/** The network of `--follow`: from the configuration, from the data folder, or new. */
function followedNetwork(
  file: ConfigFile,
  data: DataFolder,
  flags: NetworkFlags,
  url: string,
): NetworkConfig {
  if (!isUpstreamUrl(url)) throw new UsageError('--follow: expected a URL of http, https, ws or wss')
  const name = flags.network ?? onlyName(chainNames(file) ?? [])
  const known = chainNetwork(file, data, name)
  const genesisPath = flags.genesis === undefined ? known.genesisPath : existingFile(flags.genesis)
  if (known.kind === 'history') {
    throw new UsageError(`network ${name} is of kind history, which executes no blocks; name another one`)
  }
  return {
    ...known,
    kind: 'archive',
    genesisPath,
    source: followUrl(url, beaconOf(flags.beacon, flags.checkpoint)),
  }
}

/** The network of `--engine-port`: from the configuration, from the data folder, or new. */
function consensusNetwork(file: ConfigFile, data: DataFolder, flags: NetworkFlags): NetworkConfig {
  const { enginePort, engineHost, jwtSecret, engineFrom, engineBeacon, genesis } = flags
  for (const [flag, upstreams] of Object.entries({ from: engineFrom, beacon: engineBeacon })) {
    if (findUpstreamFaults({ upstreams }).length > 0)
      throw new UsageError(`--engine-${flag} names one URL twice, and a node counts once; leave one out`)
  }
  const name = flags.network ?? onlyName(chainNames(file) ?? [])
  const known = chainNetwork(file, data, name)
  if (known.kind === 'history' || known.kind === 'gateway')
    throw new UsageError(
      `network ${name} is of kind ${known.kind}, which executes no blocks; name another one`,
    )
  return {
    ...known,
    kind: 'archive',
    genesisPath: genesis === undefined ? known.genesisPath : existingFile(genesis),
    source: consensusFlags({
      host: engineHost,
      port: enginePort,
      jwtSecret: jwtSecret === undefined ? undefined : existingFile(jwtSecret),
      from: engineFrom,
      beaconNodes: engineBeacon,
    }),
  }
}

/**
 * The entry of a configured network; undefined if the file has no list of networks. Throws UsageError if the list lacks
 * this name.
 */
function findEntry(file: ConfigFile, name: string): NetworkEntry | undefined {
  if (!networkNamePattern.test(name) || reservedNames.has(name)) {
    const except = [...reservedNames].join(', ')
    throw new UsageError(`--network: expected ${networkNameExpected}, and none of ${except}`)
  }
  if (!file.networks) return undefined
  const entry = file.networks.find((candidate) => candidate.name === name)
  if (entry) return entry
  const names = file.networks.map((candidate) => candidate.name)
  throw new UsageError(`the configuration has no network ${name}; ${suggestName(name, names)}`)
}

/** Names of the configured networks that have a chain; undefined if the file has no list of networks. */
export function chainNames(file: ConfigFile): string[] | undefined {
  return file.networks?.filter(({ kind }) => kind !== 'rollup').map(({ name }) => name)
}

export function onlyName(names: readonly string[]): string {
  const [name, ...others] = names
  if (name !== undefined && others.length === 0) return name
  const choice = names.length === 0 ? '' : `, one of ${names.join(', ')}`
  throw new UsageError(`name the network with --network NAME${choice}`)
}

/**
 * Throws UsageError if the network has no store. The message names those that have one, and `others`, which need none.
 */
export function requireStore(network: NetworkConfig, data: DataFolder, others: readonly string[] = []): void {
  if (isThere(network.storePath)) return
  const names = storedNames(data)
  const hint =
    names.length > 0
      ? suggestName(network.name, [...new Set([...names, ...others])])
      : `make one with: tidegate import --network ${network.name} --genesis FILE CHAIN`
  throw new UsageError(`there is no store of network ${network.name} under ${data.dataDir}; ${hint}`)
}

function suggestName(name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  return near === undefined ? `choose one of ${names.join(', ')}` : `did you mean ${near}?`
}

export function storedNames(data: DataFolder): string[] {
  const folder = join(data.dataDir, 'networks')
  if (!isThere(folder)) return []
  return namesIn(folder)
    .filter((name) => networkNamePattern.test(name) && isThere(storePath(data.dataDir, name)))
    .sort()
}

function entryToServed(entry: NetworkEntry, { limits }: ConfigFile, { dataDir }: DataFolder): Served {
  return entry.kind === 'rollup'
    ? entryToRollup(entry, dataDir, limits.requestMsMax)
    : entryToNetwork(entry, dataDir)
}

/**
 * A network with a chain: from the configuration or, if it lists no networks, from the data folder, which may have no
 * store yet. Throws UsageError if the list lacks it, or if the network has no chain.
 */
export function chainNetwork(file: ConfigFile, { dataDir }: DataFolder, name: string): NetworkConfig {
  const entry = findEntry(file, name)
  if (entry === undefined) return storedNetwork(name, dataDir)
  if (entry.kind !== 'rollup') return entryToNetwork(entry, dataDir)
  throw new UsageError(`network ${name} is of kind ${entry.kind} and has no chain; name another one`)
}
