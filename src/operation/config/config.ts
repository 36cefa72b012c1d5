/**
 * The settings of one run of a command, as one frozen value with absolute paths. Flags of the command line override the
 * configuration file (see `file.ts`). Owns the layout of the data folder and the embedded demo network. Opens no store;
 * commands pass the values on. Other modules import only this file of `config`.
 *
 *   DIR/node/node.mdb             API keys, and transactions submitted to rollup networks
 *   DIR/node/rollup-NAME.writer   locked by the process that serves a rollup network
 *   DIR/node/pepper               secret under which API keys are hashed
 *   DIR/node/demo-key             plaintext of the demo network's key
 *   DIR/node/calls.jsonl          history of calls
 *   DIR/node/upstreams.json       chain ids that upstreams without a named network reported
 *   DIR/node/admin-token          token of the admin listener
 *   DIR/node/shared-keys.mdb      copy of the API keys that several processes share
 *   DIR/networks/NAME/chain.mdb   chain and state of one network
 */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { UsageError } from '../../primitives/faults.js'
import { isThere, namesIn } from '../../primitives/files.js'
import { isLoopback } from '../../primitives/urls.js'
import { type AdminConfig, adminOf } from './admin.js'
import { type ForkConfig, type NetworkConfig, storedNetwork } from './chainNetwork.js'
import type { SharedConfig } from './databases.js'
import { type ConfigFile, defaultConfigFile, fileSchema, keyRates, readConfigFile } from './file.js'
import { gatewayOf } from './gateway.js'
import { redactSecrets } from './issues.js'
import {
  chainNames,
  chainNetwork,
  type NetworkFlags,
  onlyName,
  requireStore,
  type Served,
  servedNetworks,
  startNodes,
  storedNames,
  withHistory,
} from './networks.js'
import { existingFile, existingPath } from './paths.js'
import type { RollupConfig } from './rollupNetwork.js'
import { addShortForm } from './schema.js'

export { isLoopback } from '../../primitives/urls.js'
export type { AdminConfig } from './admin.js'
export { isBeaconUrl } from './beacon.js'
export { type NetworkConfig, storePath } from './chainNetwork.js'
export { isPageOrigin, originExpected } from './clients.js'
export { feedSchemaOf } from './databases.js'
export { demoNetworkName } from './embeddedNames.js'
export { edgesMax, type Limits, transports } from './file.js'
export type { GatewayConfig } from './gateway.js'
export { type HistoryConfig, historyBlocksMin, historyLimits } from './history.js'
export { type LogLevel, logLevels } from './logging.js'
export { type UpstreamChain, unknownChainName } from './networks.js'
export { queueSchemaOf } from './rollup.js'
export type { RollupConfig } from './rollupNetwork.js'
export {
  blockSecondsMax,
  devBalanceDefault,
  devChainIdDefault,
  knownAccountsDefault,
  knownAccountsMax,
} from './source.js'
export { isUpstreamUrl } from './upstream.js'

/** Archives of history have these endings. */
const archivePattern = /\.(?:era1|ere)$/

/** Default data folder, relative to the current folder. */
export const dataDirDefault = 'data/live'

/**
 * Blocks whose state `verify` compares by default: seconds of work on the demo network, enough to find a common
 * fault.
 */
export const verifyBlocksDefault = 8

/** The network of `dev`. */
const devNetworkName = 'dev'

/** Time for closing after all requests are answered. */
const closeMs = 5_000

/** Flags with values of one type, if given; commands/commandList.ts describes each. */
type Flags<V, K extends string> = { readonly [N in K]?: V | undefined }

/** Flags of every command that works on a data folder. */
type DataFlags = Flags<string, 'config' | 'data'>

/** Keys of the file that have flags of their names. */
const overridden = ['host', 'port', 'logLevel', 'edges', 'transport'] as const

/** Flags that override a key of the file. */
type MergedFlags = DataFlags & {
  readonly [N in (typeof overridden)[number]]?: ConfigFile[N] | undefined
} & Flags<string, 'adminHost'> &
  Flags<number, 'adminPort'> &
  Flags<boolean, 'noAuth'> &
  Flags<readonly string[], 'cors'>

type ServeFlags = MergedFlags & NetworkFlags

type ImportFlags = DataFlags &
  Flags<
    string,
    'network' | 'genesis' | 'accumulators' | 'state' | 'checkpoint' | 'hash' | 'totalDifficulty'
  > &
  Flags<readonly string[], 'header' | 'stateFrom' | 'beacon'> &
  Flags<number, 'history'>

type NetworkStoreFlags = DataFlags & Flags<string, 'network'>

type VerifyFlags = NetworkStoreFlags & Flags<number, 'blocks' | 'seed'>

type ExportFlags = NetworkStoreFlags &
  Flags<boolean, 'state'> &
  Flags<number, 'block' | 'from' | 'to'> &
  Flags<string, 'out'>

/** Settings that all commands on a data folder share. */
export interface DataConfig {
  readonly dataDir: string
  readonly node: ReturnType<typeof nodePaths>
  /** Address space reserved per store, in bytes. */
  readonly mapBytes: number
  /** Number of ready answers of each network. */
  readonly ready: { readonly blocks: number; readonly bytes: number }
  /** The database of keys; if undefined, the node store has the keys. */
  readonly shared: SharedConfig | undefined
}

/** Settings of `backup`, which copies all stores of a data folder. */
export interface StoresConfig extends DataConfig {
  readonly networks: readonly NetworkConfig[]
}

/** Settings of `snapshot`, and of others that read the store of one network. */
export interface NetworkStoreConfig extends DataConfig {
  readonly network: NetworkConfig
}

/** Keys of the file that become settings of `serve` unchanged. */
const asInFile = [
  ...overridden,
  'tls',
  'drainDelayMs',
  'logStyle',
  'logSample',
  'traces',
  'auth',
  'allowedHosts',
  'trustedProxies',
  'compression',
  'limits',
] as const
type AsInFile = { readonly [K in (typeof asInFile)[number]]: ConfigFile[K] }

/** Settings of `serve`; see {@link fileSchema}. */
export interface Config extends DataConfig, AsInFile {
  readonly graceMs: number
  /** The admin listener; if undefined, there is none. */
  readonly admin: AdminConfig | undefined
  /** Origins whose web pages may call; "localhost" for those of this machine, "*" for all. */
  readonly cors: { readonly origins: readonly string[] }
  /** Name of one of {@link networks} or {@link rollups}. */
  readonly defaultNetwork: string
  readonly networks: readonly NetworkConfig[]
  readonly rollups: readonly RollupConfig[]
  readonly keyRates: ReturnType<typeof keyRates>
}

export interface ImportConfig extends DataConfig {
  readonly network: NetworkConfig
  /** Absolute, in the given order; a folder means its archives, sorted by name. */
  readonly chainPaths: readonly string[]
  /** Whether the files are archives (era1, ere). */
  readonly areArchives: boolean
  /** File of trusted accumulators. */
  readonly accumulatorsPath: string | undefined
  /** Start of the store: a block, with files or nodes that have the whole state after it. */
  readonly start: ReturnType<typeof startOf>
}

export interface VerifyConfig extends NetworkStoreConfig {
  /** Number of blocks whose state is compared. */
  readonly blocks: number
  /** Seed of the random choice of blocks; if undefined, a new choice in each run. */
  readonly seed: number | undefined
}

export interface ExportConfig {
  readonly mapBytes: number
  readonly network: NetworkConfig
  /** First and last block; if undefined, those of the store. */
  readonly from: number | undefined
  readonly to: number | undefined
  /** Absolute. */
  readonly folder: string
  /** Number of the block whose state is exported in place of blocks, `latest` for the head; if undefined, blocks. */
  readonly stateOf: number | 'latest' | undefined
}

/** Settings of `serve`. Throws UsageError that names every fault of the file, or the flag that is wrong. */
export function resolveServeConfig(flags: ServeFlags): Config {
  return serveConfigOf(mergeFlags(readFile(flags), flags), flags)
}

/** Settings of `dev` that differ from the defaults. */
export interface DevSettings {
  readonly port: number | undefined
  /** Path of the configuration file whose limits apply; if absent, the defaults do. */
  readonly limitsFrom?: string | undefined
  readonly logLevel: ConfigFile['logLevel'] | undefined
  /** Absolute. */
  readonly dataDir: string
  /** Whether the folder is removed at the end. */
  readonly isTemporary: boolean
  /** Absolute path of the genesis, which a fork does not read. */
  readonly genesis: string
  /** Undefined for a chain with a genesis. */
  readonly fork: DevFork | undefined
  readonly accounts: number
  readonly blockSeconds: number
  readonly mining: boolean
}

/** The fork of `dev`. */
export interface DevFork extends Pick<ForkConfig, 'block' | 'chainId' | 'balance'> {
  readonly url: string
}

/** Nothing follows the head of the nodes of a fork, so they are asked for it as rarely as a configuration allows. */
const forkPollMs = 600_000
/** Suites begin once the server listens, so it waits for the base of a fork, which a busy node may report late. */
const forkStartMsMax = 60_000

/** Settings of `dev`: one developer chain, without keys and dashboard. Throws UsageError for a faulty file. */
export function resolveDevConfig(settings: DevSettings): Config {
  const { port, limitsFrom, logLevel, dataDir, isTemporary, genesis, fork, ...source } = settings
  const limits = limitsFrom === undefined ? {} : readConfigFile(limitsFrom).limits
  const file = fileSchema.parse({
    port,
    dataDir,
    auth: false,
    admin: { enabled: false },
    // Suites start many chains, so each must listen at once.
    limits: { ...limits, warmUpMs: 0, ...(fork !== undefined && { startMsMax: forkStartMsMax }) },
    networks: [{ name: devNetworkName, genesis, source: { type: 'develop', ...source } }],
  })
  const config = serveConfigOf({ ...file, logLevel: logLevel ?? 'warn' }, {})
  const networks = config.networks.map((network) => {
    const chain = { ...network, isTemporary }
    if (fork === undefined) return chain
    const { url, ...base } = fork
    const { upstreams } = gatewayOf([url], undefined, undefined)
    const forked = { ...base, upstreams, pollMs: forkPollMs }
    return { ...chain, kind: undefined, genesisPath: undefined, fork: forked }
  })
  return deepFreeze({ ...config, networks })
}

function serveConfigOf(file: ConfigFile, flags: ServeFlags): Config {
  const data = resolveData(file, flags)
  const served = servedNetworks(file, data, flags)
  const { host, port, auth } = file
  if (!auth && !isLoopback(host)) {
    throw new UsageError(
      `without API keys only this machine may be served: listen on 127.0.0.1, ::1 or localhost instead of ${host}, or leave auth on`,
    )
  }
  return deepFreeze({
    ...data,
    ...(Object.fromEntries(asInFile.map((key) => [key, file[key]])) as unknown as AsInFile),
    graceMs: file.graceMs ?? file.drainDelayMs + file.limits.requestMsMax + closeMs,
    admin: adminOf(file.admin, port),
    cors: { origins: file.cors.origins ?? originsDefault(auth, served) },
    defaultNetwork: flags.network ?? file.defaultNetwork ?? (served[0] as Served).name,
    networks: served
      .filter((network) => network.kind !== 'rollup')
      .map((network) => withScripts(network, auth)),
    rollups: served.filter((network) => network.kind === 'rollup'),
    keyRates: keyRates(file.limits),
  })
}

/** The file, overridden by flags and completed from its other members. */
function mergeFlags(file: ConfigFile, flags: MergedFlags): ConfigFile {
  const auth = flags.noAuth ? false : file.auth
  return {
    ...file,
    ...Object.fromEntries(overridden.map((key) => [key, flags[key] ?? file[key]])),
    ...((flags.adminHost ?? flags.adminPort) !== undefined && {
      admin: {
        ...file.admin,
        enabled: true,
        host: flags.adminHost ?? file.admin.host,
        port: flags.adminPort ?? file.admin.port,
      },
    }),
    auth,
    cors:
      flags.cors === undefined ? file.cors : { origins: flags.cors.map((origin) => origin.toLowerCase()) },
  }
}

/**
 * Tracers in JavaScript run by default if no other users can suffer from them: without keys, or on a developer chain.
 */
function withScripts(network: NetworkConfig, auth: boolean): NetworkConfig {
  const byDefault = !auth || network.source?.type === 'develop'
  return { ...network, javascriptTracers: network.javascriptTracers ?? byDefault }
}

/** Pages of this machine may call a developer chain, as they may call anvil: it has nothing of value. */
function originsDefault(auth: boolean, served: readonly Served[]): string[] {
  if (auth) return ['*']
  const isForTests = (network: Served) =>
    network.kind === 'rollup' ? network.isEmbedded : network.source?.type === 'develop'
  return served.every(isForTests) ? ['localhost'] : []
}

/**
 * The file with defaults, flags and absolute paths, in the form of a file, without secrets: see {@link redactSecrets}.
 * Throws as {@link resolveServeConfig} does.
 */
export function mergedConfig(flags: MergedFlags): unknown {
  const { dataDir, cors } = resolveServeConfig(flags)
  return redactSecrets({ ...mergeFlags(readFile(flags), flags), dataDir, cors })
}

export function configSchema(): unknown {
  return z.toJSONSchema(fileSchema, { io: 'input', override: addShortForm })
}

/**
 * Settings of `import`. Throws UsageError if the network, its genesis or a file is not found, and for chain files mixed
 * with archives.
 */
export function resolveImportConfig(flags: ImportFlags, chainFiles: readonly string[]): ImportConfig {
  if (chainFiles.length === 0 && flags.state === undefined && flags.stateFrom === undefined)
    throw new UsageError(
      'import needs CHAIN, --state or --state-from; write tidegate import [flags] [CHAIN...]',
    )
  const file = readFile(flags)
  const data = resolveData(file, flags)
  const name = flags.network ?? onlyName(chainNames(file) ?? [])
  const known = chainNetwork(file, data, name)
  const genesisPath = flags.genesis === undefined ? known.genesisPath : existingFile(flags.genesis)
  const accumulatorsPath = flags.accumulators === undefined ? undefined : existingFile(flags.accumulators)
  const chainPaths = chainFiles.map(existingPath).flatMap(archivesIn)
  const areArchives = isArchiveImport(chainPaths)
  if (!areArchives && accumulatorsPath !== undefined) {
    throw new UsageError('--accumulators is for archives (.era1, .ere); chain files are executed instead')
  }
  if (!areArchives && (known.kind === 'history' || known.kind === 'gateway')) {
    throw new UsageError(
      `network ${name} is of kind ${known.kind}, which takes archives (.era1, .ere); name those, or another network`,
    )
  }
  const start = startOf(flags, areArchives)
  const [network = known] = withHistory([known], flags.history)
  if (!areArchives && genesisPath === undefined && !isThere(known.storePath)) {
    throw new UsageError(
      `network ${name} has no store under ${data.dataDir} yet; name its genesis with --genesis FILE for the first import`,
    )
  }
  return deepFreeze({
    ...data,
    network: { ...network, genesisPath },
    chainPaths,
    areArchives,
    accumulatorsPath,
    start,
  })
}

/** Start of the store, with absolute paths; if undefined, its genesis. */
function startOf(flags: ImportFlags, areArchives: boolean) {
  const { header, state, stateFrom, beacon, checkpoint, hash, totalDifficulty } = flags
  if (state === undefined && stateFrom === undefined) {
    const others = { header, hash, 'total-difficulty': totalDifficulty, beacon, checkpoint }
    const other = Object.entries(others).find(([, value]) => value)
    if (other === undefined) return undefined
    throw new UsageError(
      `--${other[0]} is of the block of a state; name that with --state FILE or --state-from URL`,
    )
  }
  if (areArchives)
    throw new UsageError('a state is for chain files, which are executed; import the archives by themselves')
  if (header === undefined && stateFrom === undefined)
    throw new UsageError(
      '--state needs the header of its block, and those of the 256 before it: --header FILE, or --state-from URL',
    )
  if (header === undefined && hash === undefined && state !== undefined)
    throw new UsageError('--state does not name its block; name it with --hash HASH or --header FILE')
  if (beacon !== undefined && stateFrom === undefined)
    throw new UsageError(
      '--beacon names the signed block, and a node has the blocks before it; add --state-from URL',
    )
  return {
    headers: header?.map(existingFile) ?? [],
    state: state === undefined ? undefined : existingFile(state),
    nodes: stateFrom && startNodes(stateFrom, beacon, checkpoint),
    hash: hash?.toLowerCase(),
    totalDifficulty: totalDifficulty === undefined ? undefined : BigInt(totalDifficulty),
  }
}

/** Settings of `snapshot`, and of others that read one store. Throws UsageError without a store or a data folder. */
export function resolveNetworkStoreConfig(flags: NetworkStoreFlags): NetworkStoreConfig {
  const file = readFile(flags)
  const data = resolveData(file, flags)
  const configured = chainNames(file)
  if (configured === undefined && !isThere(data.dataDir))
    throw new UsageError(`there is no folder ${data.dataDir}; check --data`)
  const name = flags.network ?? onlyName(configured ?? storedNames(data))
  const network = chainNetwork(file, data, name)
  requireStore(network, data)
  return deepFreeze({ ...data, network })
}

/** Settings of `verify`. Throws UsageError if there is no store to verify. */
export function resolveVerifyConfig(flags: VerifyFlags): VerifyConfig {
  const blocks = flags.blocks ?? verifyBlocksDefault
  return deepFreeze({ ...resolveNetworkStoreConfig(flags), blocks, seed: flags.seed })
}

/** Settings of `export`. Throws UsageError if there is no store to export from. */
export function resolveExportConfig(flags: ExportFlags): ExportConfig {
  const { mapBytes, network } = resolveNetworkStoreConfig(flags)
  const { state = false, block, from, to } = flags
  if (!state && block !== undefined) throw new UsageError('--block is the block of --state')
  if (state && (from !== undefined || to !== undefined))
    throw new UsageError('--from and --to are for blocks; name the block of --state with --block')
  const stateOf = state ? (block ?? 'latest') : undefined
  return deepFreeze({ mapBytes, network, from, to, stateOf, folder: resolve(flags.out ?? '') })
}

/** Settings of `backup`. */
export function resolveStoresConfig(flags: DataFlags): StoresConfig {
  const data = resolveDataConfig(flags)
  return deepFreeze({ ...data, networks: storedNames(data).map((name) => storedNetwork(name, data.dataDir)) })
}

/** Settings of `keys` and `restore`. */
export function resolveDataConfig(flags: DataFlags): DataConfig {
  return deepFreeze(resolveData(readFile(flags), flags))
}

function readFile(flags: DataFlags): ConfigFile {
  return flags.config === undefined ? defaultConfigFile() : readConfigFile(flags.config)
}

function resolveData(file: ConfigFile, flags: DataFlags): DataConfig {
  const dataDir = resolve(flags.data ?? file.dataDir ?? dataDirDefault)
  const { readyBlocks: blocks, readyBytes: bytes } = file.limits
  const { mapBytes } = file.store
  return { dataDir, node: nodePaths(dataDir), mapBytes, ready: { blocks, bytes }, shared: file.shared }
}

/** Files of the node store, listed at the top of this module. */
function nodePaths(dataDir: string) {
  const node = join(dataDir, 'node')
  return {
    store: join(node, 'node.mdb'),
    pepper: join(node, 'pepper'),
    demoKey: join(node, 'demo-key'),
    adminToken: join(node, 'admin-token'),
    jwtSecret: join(node, 'jwt.hex'),
    calls: join(node, 'calls.jsonl'),
    upstreams: join(node, 'upstreams.json'),
    sharedKeys: join(node, 'shared-keys.mdb'),
  }
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  }
  return Object.freeze(value)
}

/**
 * The archives of a folder in order of name, which is their order; a file unchanged. Throws UsageError for a folder
 * without archives.
 */
function archivesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  const names = namesIn(path).filter((name) => archivePattern.test(name))
  if (names.length === 0) throw new UsageError(`the folder ${path} has no archives (.era1, .ere); name files`)
  return names.sort().map((name) => join(path, name))
}

/** Whether all files are archives. Throws UsageError if only some are. */
function isArchiveImport(paths: readonly string[]): boolean {
  const archives = paths.filter((path) => archivePattern.test(path))
  if (archives.length === 0 || archives.length === paths.length) return archives.length > 0
  const other = paths.find((path) => !archivePattern.test(path))
  throw new UsageError(
    `${other} is no archive (.era1, .ere); import chain files and archives one after the other`,
  )
}
