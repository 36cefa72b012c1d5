import { join } from 'node:path'
import { packageRoot } from '../../primitives/packageRoot.js'
import type { PublishConfig } from './databases.js'
import { demoNetworkName } from './embeddedNames.js'
import type { ChainEntry } from './file.js'
import type { GatewayConfig } from './gateway.js'
import { type HistoryConfig, keepAll } from './history.js'
import { knownAccountsDefault, type SourceConfig } from './source.js'

/** Long enough to read a head, short enough to wait for the next. */
const demoBlockSeconds = 2

export interface NetworkConfig {
  readonly name: string
  /**
   * `archive` has all state, `history` only blocks and receipts, `gateway` the data requested from upstreams. Undefined
   * without an entry: the kind of its store.
   */
  readonly kind: 'archive' | 'history' | 'gateway' | undefined
  /** Whether this is the embedded demo network, whose genesis and chain come with the program. */
  readonly isEmbedded: boolean
  readonly storePath: string
  /** Chain id that is compared with the store's; if undefined, it is not compared. */
  readonly chainId: number | undefined
  readonly networkId: number | undefined
  /** Undefined for a network found only in the data folder: its store has the genesis block. */
  readonly genesisPath: string | undefined
  /** Times of forks that are missing in the genesis or in the table of public networks. */
  readonly forks: { readonly amsterdamTime?: number | undefined }
  readonly source: SourceConfig | undefined
  /** Destination of the source's published blocks. */
  readonly publish: PublishConfig | undefined
  /** Limits of the stored history, for a network that executes blocks. */
  readonly history: HistoryConfig
  /** The block of another chain on which a developer chain begins; if absent, its genesis. */
  readonly fork?: ForkConfig | undefined
  /** Whether its store is removed when the program ends. */
  readonly isTemporary?: boolean
  /** Settings of a gateway. */
  readonly gateway: GatewayConfig | undefined
  /** Whether tracers in JavaScript that callers send are run; undefined if no entry says. */
  readonly javascriptTracers: boolean | undefined
  /** Absolute path of a file of storage layouts by address. */
  readonly storageLayoutsPath: string | undefined
  /** Lower case. */
  readonly hosts: readonly string[]
  readonly safe: boolean
  readonly safeLag: number
  readonly finalizedLag: number
  /** Added to gas estimates, in hundredths of a percent. */
  readonly estimateMarginBps: number
}

export interface ForkConfig extends Pick<GatewayConfig, 'upstreams' | 'pollMs'> {
  /** Number of the block; if undefined, the newest one. */
  readonly block: number | undefined
  /** Chain id; if undefined, that of the forked chain. */
  readonly chainId: number | undefined
  /** Balance of each account that the chain signs for, in wei, as a decimal. */
  readonly balance: string
}

export function storePath(dataDir: string, name: string): string {
  return join(dataDir, 'networks', name, 'chain.mdb')
}

export function entryToNetwork(entry: ChainEntry, dataDir: string): NetworkConfig {
  const { name, kind, hosts, safe, safeLag, finalizedLag, chainId, networkId, genesis, forks } = entry
  const execution =
    entry.kind === 'history'
      ? {}
      : {
          ...(entry.kind === 'gateway'
            ? { gateway: gatewayPartsOf(entry) }
            : { source: entry.source, publish: entry.publish, history: entry.history }),
          javascriptTracers: entry.javascriptTracers,
          storageLayoutsPath: entry.storageLayouts,
          estimateMarginBps: entry.estimateGas.marginBps,
        }
  return {
    ...storedNetwork(name, dataDir),
    kind,
    chainId,
    networkId,
    genesisPath: genesis,
    forks,
    hosts,
    safe,
    safeLag,
    finalizedLag,
    ...execution,
  }
}

/** A network without an entry in the configuration, whose store exists or will be made. */
export function storedNetwork(name: string, dataDir: string): NetworkConfig {
  return {
    name,
    kind: undefined,
    isEmbedded: false,
    storePath: storePath(dataDir, name),
    chainId: undefined,
    networkId: undefined,
    genesisPath: undefined,
    forks: {},
    source: undefined,
    publish: undefined,
    history: keepAll,
    gateway: undefined,
    javascriptTracers: undefined,
    storageLayoutsPath: undefined,
    hosts: [],
    safe: true,
    safeLag: 0,
    finalizedLag: 0,
    estimateMarginBps: 0,
  }
}

export function demoNetwork(dataDir: string): NetworkConfig {
  const folder = join(packageRoot(), 'data/devnet')
  return {
    ...storedNetwork(demoNetworkName, dataDir),
    kind: 'archive',
    isEmbedded: true,
    genesisPath: join(folder, 'genesis.json'),
    source: {
      type: 'develop',
      recorded: join(folder, 'chain.rlp'),
      blockSeconds: demoBlockSeconds,
      mining: true,
      accounts: knownAccountsDefault,
    },
    storageLayoutsPath: join(folder, 'layouts.json'),
  }
}

/** A network that asks these upstreams and stores proved data. */
export function gatewayNetwork(name: string, dataDir: string, gateway: GatewayConfig): NetworkConfig {
  return { ...storedNetwork(name, dataDir), kind: 'gateway', gateway }
}

function gatewayPartsOf(entry: GatewayConfig): GatewayConfig {
  const { upstreams, quorum, historyBlocks, logs, workingSet, pollMs, passThrough, beacon } = entry
  return { upstreams, quorum, historyBlocks, logs, workingSet, pollMs, passThrough, beacon }
}
