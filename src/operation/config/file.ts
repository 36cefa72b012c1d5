/**
 * The configuration file: its schema (limits in `limits.ts`), and reading it, with each fault named by its path. Owns
 * the permitted content of a file; `config.ts` combines it with the command line.
 */
import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import { mapBytesDefault } from '../../data/store/lmdb/environment.js'
import { UsageError } from '../../primitives/faults.js'
import { unitsMax } from '../../serving/rpc/contexts/price.js'
import { adminSchema } from './admin.js'
import { clientsShape, hostNames } from './clients.js'
import { afterDrainMsMin, findCrossFaults } from './crossFaults.js'
import { publishSchema, sharedSchema } from './databases.js'
import { gatewaySchemaParts } from './gateway.js'
import { historySchema } from './history.js'
import { issueToLines } from './issues.js'
import { readJson } from './json.js'
import { burstSeconds, limitsShape } from './limits.js'
import { loggingShape } from './logging.js'
import { withAbsolute } from './paths.js'
import { rollupShape } from './rollup.js'
import { flag, integer, list, milliseconds, object, text } from './schema.js'
import { sourceSchema, withAbsoluteSource } from './source.js'

const tlsSchema = object({
  /** PEM; the certificate first, then the chain to the authority. */
  cert: text('the path of a PEM file'),
  /** PEM, without a passphrase. */
  key: text('the path of a PEM file'),
})

const MiB = 2 ** 20

/** More edges than any machine can use. */
export const edgesMax = 64

/**
 * Longest map of a store, 16 TiB: the longest file of ext4, and seven fit into the 128 TiB of a process. At 32 TiB,
 * even two do not always fit.
 */
const mapBytesMax = 2 ** 44

const hourMs = 3_600_000

/** HTTP and WebSocket servers to choose from; see transport/chooseTransport.ts. */
export const transports = ['auto', 'uws', 'node'] as const

/** A network's name is also a folder of the data folder and a segment of its URL. */
export const networkNamePattern = /^[a-z0-9][a-z0-9-]{0,31}$/
export const networkNameExpected =
  '1 to 32 lower-case letters, digits and hyphens, not beginning with a hyphen'
/** First path segments that the server itself uses. */
export const reservedNames: ReadonlySet<string> = new Set(['v3', 'ws', 'health', 'admin'])

/** Members that every network has. */
const nameShape = {
  /** Name of the network, also its folder in the data folder and its segment in URLs. */
  name: text(networkNameExpected)
    .regex(networkNamePattern, { error: `expected ${networkNameExpected}` })
    .refine((name) => !reservedNames.has(name), {
      error: `expected a name other than ${[...reservedNames].join(', ')}, which addresses use`,
    }),
  /** Host names that address this network without its name in the path. */
  hosts: hostNames().default([]),
}

/** Members of every network with a chain. */
const chainShape = {
  /** Compared with the chain id of the store at start, so that a wrong store is noticed. */
  chainId: integer(1).optional(),
  /** Answer of net_version. If absent, the networkId of the genesis, or else its chain id. */
  networkId: integer(1).optional(),
  /**
   * geth's genesis.json, relative to the configuration file. Networks without execution that are known by name or chain
   * id need none. Neither do networks that trust their upstreams for the rules of the chain.
   */
  genesis: text('the path of a genesis.json').optional(),
  /** Times of forks that were fixed after the genesis file or this release was made. */
  forks: object({ amsterdamTime: integer(0).optional() }).default({}),
  /** Whether the `safe` tag is answered; if not, the error advises `finalized`. */
  safe: flag().default(true),
  /** Blocks by which `safe` follows the head. */
  safeLag: integer(0).default(0),
  /** Blocks by which `finalized` follows the head; at least safeLag. */
  finalizedLag: integer(0).default(0),
}

/** Members of networks that execute. */
const executionShape = {
  /**
   * Whether tracers in JavaScript that callers send are run. If absent, they run on developer chains, and if requests
   * need no key; elsewhere they would run beside the calls of other users.
   */
  javascriptTracers: flag().optional(),
  /** JSON from addresses to Solidity storage layouts, for tidegate_readVariable; relative to the configuration file. */
  storageLayouts: text('the path of a JSON file').optional(),
  estimateGas: object({
    /** Added to each estimate, in hundredths of a percent; 1,000 suits wallets that send an estimate unchanged. */
    marginBps: integer(0, 100_000).default(0),
  }).prefault({}),
}

const archiveShape = {
  ...nameShape,
  /** Executes every block and keeps all state. The default kind. */
  kind: z.literal('archive'),
  ...chainShape,
  genesis: chainShape.genesis.unwrap(),
  /** Origin of new blocks; if absent, only imported blocks are served. */
  source: sourceSchema.optional(),
  /** Destination of the published blocks of this network's source, for replicas. */
  publish: publishSchema.optional(),
  /** Limits of the stored history; older data is removed as blocks come. */
  history: historySchema.prefault({}),
  ...executionShape,
}

const historyShape = {
  ...nameShape,
  /** Blocks and receipts from archives (era1, ere); no state. */
  kind: z.literal('history'),
  ...chainShape,
}

const gatewayShape = {
  ...nameShape,
  /** Asks upstream nodes, proves their answers, and stores proved data. */
  kind: z.literal('gateway'),
  ...chainShape,
  ...gatewaySchemaParts,
  ...executionShape,
}

const networkKinds = z.discriminatedUnion(
  'kind',
  [
    object(archiveShape),
    object(historyShape),
    object(gatewayShape),
    object({ ...nameShape, ...rollupShape }),
  ],
  {
    error: ({ input }) =>
      typeof input === 'object'
        ? 'expected "archive", "history", "gateway" or "rollup"'
        : 'expected an object',
  },
)

/** A network of any kind; `archive` if it names none. */
const network = z.preprocess(
  (value) =>
    typeof value === 'object' && value !== null && !('kind' in value) ? { ...value, kind: 'archive' } : value,
  networkKinds,
)

export const fileSchema = object({
  /** Address to listen on. Only this machine can connect to the default. */
  host: text('a host name or IP address').default('127.0.0.1'),
  /** Port to listen on, 8545 as with other nodes; 0 takes a free one. */
  port: integer(0, 65_535).default(8545),
  /**
   * Threads that listen on the port, read the stores and answer. Default 1: each further one fills caches of its own,
   * and helps only with a core of its own.
   */
  edges: integer(1, edgesMax).default(1),
  /** uWebSockets.js (`uws`), node:http (`node`), or the faster one that can be loaded (`auto`). */
  transport: z.enum(transports, { error: `expected one of ${transports.join(', ')}` }).default('auto'),
  /** If given, HTTPS and WSS replace HTTP and WS. Paths are relative to the configuration file. */
  tls: tlsSchema.optional(),
  /** Folder of all stores, relative to the configuration file; if absent, `data/live` in the current folder. */
  dataDir: text('the path of a folder').optional(),
  /** Whether requests need an API key. `false` is refused on an address that other machines can connect to. */
  auth: flag().default(true),
  ...clientsShape,
  /** Whether answers are compressed for clients that accept it. Copies take a fifth of `limits.answerCacheBytes`. */
  compression: flag().default(true),
  /** Time for which a stopping server still takes requests, while `/ready` and `/health` already report the stop. */
  drainDelayMs: integer(0, hourMs).default(0),
  /** Time from the signal to the exit. If absent: `drainDelayMs`, the time limit of a request, and 5 s. */
  graceMs: milliseconds(afterDrainMsMin).optional(),
  ...loggingShape,
  /** The listener for operators, or `false`. */
  admin: adminSchema,
  /** Database of keys and the audit log; if absent, the data folder. */
  shared: sharedSchema.optional(),
  /** The network of URLs that name none; if absent, the first one. */
  defaultNetwork: text('the name of a network').optional(),
  /** If absent, the embedded demo network and a rollup network without a sequencer. */
  networks: list(network).min(1, { error: 'expected at least one network' }).optional(),
  limits: object(limitsShape).prefault({}),
  store: object({
    /** Address space reserved per store, in bytes; takes no memory or disk until used. */
    mapBytes: integer(16 * MiB, mapBytesMax).default(mapBytesDefault),
  }).prefault({}),
})

/** A valid file with defaults filled in and absolute paths. */
export type ConfigFile = z.output<typeof fileSchema>
export type NetworkEntry = NonNullable<ConfigFile['networks']>[number]
export type ChainEntry = Extract<NetworkEntry, { readonly kind: 'archive' | 'history' | 'gateway' }>
export type RollupEntry = Extract<NetworkEntry, { readonly kind: 'rollup' }>
export type Limits = ConfigFile['limits']

/** The rate and burst of each key, with the default burst filled in; undefined if keys have no limit. */
export function keyRates({ keyUnitsPerSecond, keyUnitsBurst }: Limits) {
  if (keyUnitsPerSecond === undefined) return undefined
  const unitsBurst = keyUnitsBurst ?? Math.max(keyUnitsPerSecond * burstSeconds, unitsMax)
  return { unitsPerSecond: keyUnitsPerSecond, unitsBurst }
}

/** The configuration without a file. */
export function defaultConfigFile(): ConfigFile {
  return fileSchema.parse({})
}

/** Reads and checks a file. Throws UsageError that lists every fault, or the position of a JSON syntax error. */
export function readConfigFile(path: string): ConfigFile {
  const raw = readJson(path)
  const folder = dirname(resolve(path))
  const parsed = fileSchema.safeParse(raw)
  const faults = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => issueToLines(issue, raw, fileSchema))),
    ...findCrossFaults(raw, folder),
  ]
  if (!parsed.success || faults.length > 0) {
    const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
    throw new UsageError(
      `the configuration ${path} has ${count}; correct the faults below and start again\n${faults
        .map((fault) => `  ${fault}`)
        .join('\n')}`,
    )
  }
  const { dataDir, tls, traces, networks, ...file } = parsed.data
  return {
    ...file,
    ...(dataDir !== undefined && { dataDir: resolve(folder, dataDir) }),
    ...(tls && { tls: withAbsolute(tls, folder, 'cert', 'key') }),
    ...(traces && { traces: withAbsolute(traces, folder, 'headersFile') }),
    ...(networks && { networks: networks.map((network) => withAbsolutePaths(network, folder)) }),
  }
}

function withAbsolutePaths(entry: NetworkEntry, folder: string): NetworkEntry {
  const network = withAbsolute(entry, folder, 'genesis', 'storageLayouts')
  if (network.kind !== 'archive' || network.source === undefined) return network
  return { ...network, source: withAbsoluteSource(network.source, folder) }
}
