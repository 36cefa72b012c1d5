/**
 * The configuration file: its schema (limits in `limits.ts`), and reading it, with each fault named by its path. Owns
 * what a file may contain; `config.ts` combines it with the command line.
 */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import { UsageError } from '../primitives/faults.js'
import { unitsMax } from '../rpc/contexts/price.js'
import { mapBytesDefault } from '../store/environment.js'
import { adminSchema } from './admin.js'
import { clientsShape, hostPattern } from './clients.js'
import { publishSchema } from './feed.js'
import { gatewaySchemaParts } from './gateway.js'
import { findHistoryFaults, historySchema } from './history.js'
import { issueToLines } from './issues.js'
import { readJson } from './json.js'
import {
  bodyBytesDefault,
  bufferedBodyBytesDefault,
  burstSeconds,
  limitsShape,
  requestMsDefault,
  socketIdleMsDefault,
  socketPingMsDefault,
  subscriptionQueueBytesDefault,
  subscriptionQueueBytesMaxDefault,
} from './limits.js'
import { findTracesFaults, loggingShape, withAbsoluteTraces } from './logging.js'
import { rollupShape } from './rollup.js'
import { flag, integer, list, object, text } from './schema.js'
import { sharedSchema } from './shared.js'
import { findSourceFaults, sourceSchema, withAbsoluteSource } from './source.js'
import { findTlsFaults, tlsSchema, withAbsoluteTls } from './tls.js'

const MiB = 2 ** 20

/** More edges than any machine can use. */
export const edgesMax = 64

const hourMs = 3_600_000

/** Least time for a server to answer what it has taken, and to close. */
const afterDrainMsMin = 3_000

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
  /** Also its folder in the data folder and its segment in URLs. */
  name: text(networkNameExpected)
    .regex(networkNamePattern, { error: `expected ${networkNameExpected}` })
    .refine((name) => !reservedNames.has(name), {
      error: `expected a name other than ${[...reservedNames].join(', ')}, which addresses use`,
    }),
  /** Host names that address this network without its name in the path. */
  hosts: list(
    text('a host name without scheme and port')
      .regex(hostPattern, { error: 'expected a host name without scheme and port' })
      .toLowerCase(),
  ).default([]),
}

const archiveShape = {
  ...nameShape,
  /** Executes every block and keeps all state. The default kind. */
  kind: z.literal('archive'),
  /** Compared with the chain id of the store at start, so that a wrong store is noticed. */
  chainId: integer(1).optional(),
  /** Answer of net_version. Where absent, the networkId of the genesis, or else its chain id. */
  networkId: integer(1).optional(),
  /** geth's genesis.json, relative to the configuration file. */
  genesis: text('the path of a genesis.json'),
  /** Times of forks that were fixed after the genesis file, or this release, was made. */
  forks: object({ amsterdamTime: integer(0).optional() }).default({}),
  /** Where new blocks come from; absent: only imported blocks are served. */
  source: sourceSchema.optional(),
  /** Where what this network's source brings is published, for replicas. */
  publish: publishSchema.optional(),
  /** How much of the past is kept; what is older is removed as blocks come. */
  history: historySchema.prefault({}),
  /** JSON from addresses to Solidity storage layouts, for tidegate_readVariable; relative to the configuration file. */
  storageLayouts: text('the path of a JSON file').optional(),
  /** Whether the `safe` tag is answered; if not, callers are told to use `finalized`. */
  safe: flag().default(true),
  /** Blocks by which `safe` follows the head. */
  safeLag: integer(0).default(0),
  /** Blocks by which `finalized` follows the head; at least safeLag. */
  finalizedLag: integer(0).default(0),
  estimateGas: object({
    /** Added to each estimate, in hundredths of a percent; 1,000 suits wallets that send an estimate unchanged. */
    marginBps: integer(0, 100_000).default(0),
  }).prefault({}),
}

const historyShape = {
  ...nameShape,
  /** Blocks and receipts from archives (era1, ere); no state. */
  kind: z.literal('history'),
  chainId: archiveShape.chainId,
  networkId: archiveShape.networkId,
  /** Not needed on networks that are known by their name or chain id. */
  genesis: archiveShape.genesis.optional(),
  forks: archiveShape.forks,
  safe: archiveShape.safe,
  safeLag: archiveShape.safeLag,
  finalizedLag: archiveShape.finalizedLag,
}

const gatewayShape = {
  ...nameShape,
  /** Asks upstream nodes, proves their answers, and keeps what is proved. */
  kind: z.literal('gateway'),
  chainId: archiveShape.chainId,
  networkId: archiveShape.networkId,
  /** Not needed on networks that are known, or whose upstreams are believed to say the rules of the chain. */
  genesis: archiveShape.genesis.optional(),
  forks: archiveShape.forks,
  ...gatewaySchemaParts,
  storageLayouts: archiveShape.storageLayouts,
  safe: archiveShape.safe,
  safeLag: archiveShape.safeLag,
  finalizedLag: archiveShape.finalizedLag,
  estimateGas: archiveShape.estimateGas,
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

/** A network of any kind; `archive` where it names none. */
const network = z.preprocess(
  (value) =>
    typeof value === 'object' && value !== null && !('kind' in value) ? { ...value, kind: 'archive' } : value,
  networkKinds,
)

/** Schema of the file. */
export const fileSchema = object({
  /** Address to listen on. Only this machine can reach the default. */
  host: text('a host name or IP address').default('127.0.0.1'),
  /** Port to listen on, 8545 as with other nodes; 0 takes a free one. */
  port: integer(0, 65_535).default(8545),
  /**
   * Threads that listen on the port, read the stores and answer. Default 1: each further one fills caches of its own,
   * and is of use only with a core of its own.
   */
  edges: integer(1, edgesMax).default(1),
  /** uWebSockets.js (`uws`), node:http (`node`), or the faster one that can be loaded (`auto`). */
  transport: z.enum(transports, { error: `expected one of ${transports.join(', ')}` }).default('auto'),
  /** Where given, HTTPS and WSS are spoken instead of HTTP and WS. Paths are relative to the configuration file. */
  tls: tlsSchema.optional(),
  /** Folder of all stores, relative to the configuration file; where absent, `data/live` in the current folder. */
  dataDir: text('the path of a folder').optional(),
  /** Whether requests need an API key. `false` is refused on an address that other machines can reach. */
  auth: flag().default(true),
  ...clientsShape,
  /** Whether answers are compressed for clients that accept it. Copies take a fifth of `limits.answerCacheBytes`. */
  compression: flag().default(true),
  /** How long a server that is to stop goes on as before, while `/ready` and `/health` already say that it stops. */
  drainDelayMs: integer(0, hourMs).default(0),
  /** Time from the signal to the exit. Where absent, that of a request longer than `drainDelayMs`, and 5 s more. */
  graceMs: integer(afterDrainMsMin).optional(),
  ...loggingShape,
  /** The listener for operators, or `false`. */
  admin: adminSchema,
  /** Where keys and the audit log are kept; absent: in the data folder. */
  shared: sharedSchema.optional(),
  /** The network of URLs that name none; where absent, the first one. */
  defaultNetwork: text('the name of a network').optional(),
  /** Where absent, the embedded demo network and a rollup network without a sequencer. */
  networks: list(network).min(1, { error: 'expected at least one network' }).optional(),
  limits: object(limitsShape).prefault({}),
  store: object({
    /** Address space reserved per store, in bytes; takes no memory or disk until used. */
    mapBytes: integer(16 * MiB, 2 ** 46).default(mapBytesDefault),
  }).prefault({}),
})

/** A valid file with defaults filled in and absolute paths. */
export type ConfigFile = z.output<typeof fileSchema>
export type NetworkEntry = NonNullable<ConfigFile['networks']>[number]
/** Of a network with a chain. */
export type ChainEntry = Extract<NetworkEntry, { readonly kind: 'archive' | 'history' | 'gateway' }>
export type RollupEntry = Extract<NetworkEntry, { readonly kind: 'rollup' }>
export type Limits = ConfigFile['limits']

/** What each key may spend, with the default burst filled in; undefined where keys have no limit. */
export function keyRates({ keyUnitsPerSecond, keyUnitsBurst }: Limits) {
  if (keyUnitsPerSecond === undefined) return undefined
  const unitsBurst = keyUnitsBurst ?? Math.max(keyUnitsPerSecond * burstSeconds, unitsMax)
  return { unitsPerSecond: keyUnitsPerSecond, unitsBurst }
}

/** The configuration without a file. */
export function defaultConfigFile(): ConfigFile {
  return fileSchema.parse({})
}

/** Reads and checks a file. Throws UsageError that lists every fault, or the place where the file is not JSON. */
export function readConfigFile(path: string): ConfigFile {
  const raw = readJson(path)
  const folder = dirname(resolve(path))
  const parsed = fileSchema.safeParse(raw)
  const faults = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => issueToLines(issue, raw, fileSchema))),
    ...findCrossFaults(raw, folder),
    ...findTlsFaults((raw as { tls?: unknown } | null)?.tls, folder),
    ...findTracesFaults((raw as { traces?: unknown } | null)?.traces, folder),
  ]
  if (!parsed.success || faults.length > 0) {
    const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
    throw new UsageError(
      `the configuration ${path} has ${count}; mend what is listed here and start again\n${faults
        .map((fault) => `  ${fault}`)
        .join('\n')}`,
    )
  }
  const { dataDir, networks, tls, traces, ...rest } = parsed.data
  return {
    ...rest,
    ...(dataDir !== undefined && { dataDir: resolve(folder, dataDir) }),
    ...(tls && { tls: withAbsoluteTls(tls, folder) }),
    ...(traces && { traces: withAbsoluteTraces(traces, folder) }),
    ...(networks && { networks: networks.map((network) => withAbsolutePaths(network, folder)) }),
  }
}

function withAbsolutePaths(network: NetworkEntry, folder: string): NetworkEntry {
  if (network.kind === 'rollup') return network
  if (network.kind === 'history') {
    return { ...network, ...(network.genesis !== undefined && { genesis: resolve(folder, network.genesis) }) }
  }
  if (network.kind === 'gateway') {
    return {
      ...network,
      ...(network.genesis !== undefined && { genesis: resolve(folder, network.genesis) }),
      ...(network.storageLayouts !== undefined && {
        storageLayouts: resolve(folder, network.storageLayouts),
      }),
    }
  }
  return {
    ...network,
    genesis: resolve(folder, network.genesis),
    ...(network.storageLayouts !== undefined && { storageLayouts: resolve(folder, network.storageLayouts) }),
    ...(network.source && { source: withAbsoluteSource(network.source, folder) }),
  }
}

/**
 * The parts of a file that are compared with each other. Parts of the wrong type are left out: the schema reports
 * them, and one run should report every fault.
 */
const crossSchema = z
  .object({
    defaultNetwork: z.string().optional().catch(undefined),
    drainDelayMs: z.number().catch(0),
    graceMs: z.number().optional().catch(undefined),
    networks: z
      .array(
        z
          .object({
            name: z.string().optional().catch(undefined),
            hosts: z.array(z.string().catch('')).catch([]),
            safe: z.boolean().catch(true),
            safeLag: z.number().catch(0),
            finalizedLag: z.number().catch(0),
            genesis: z.string().min(1).optional().catch(undefined),
            storageLayouts: z.string().min(1).optional().catch(undefined),
            source: z.unknown().optional(),
            publish: z.unknown().optional(),
            history: z.unknown().optional(),
            upstream: z
              .object({ waitMs: z.number().default(0) })
              .optional()
              .catch(undefined),
          })
          .catch({ name: undefined, hosts: [], safe: false, safeLag: 0, finalizedLag: 0 }),
      )
      .catch([]),
    limits: z
      .object({
        requestMsMax: z.number().catch(requestMsDefault).default(requestMsDefault),
        keyUnitsPerSecond: z.unknown().optional(),
        keyUnitsBurst: z.unknown().optional(),
        bodyBytesMax: z.number().catch(bodyBytesDefault),
        bufferedBodyBytesMax: z.number().catch(bufferedBodyBytesDefault),
        socketPingMs: z.number().catch(socketPingMsDefault),
        socketIdleMsMax: z.number().catch(socketIdleMsDefault),
        subscriptionQueueBytes: z.number().catch(subscriptionQueueBytesDefault),
        subscriptionQueueBytesMax: z.number().catch(subscriptionQueueBytesMaxDefault),
      })
      .optional()
      .catch(undefined),
  })
  .catch({ networks: [], drainDelayMs: 0 })

/** Whether a source, as it stands in the file, brings blocks that are executed. */
function isExecuting(source: unknown): boolean {
  return typeof source === 'object' && source !== null && (source as { type?: unknown }).type !== 'feed'
}

function findCrossFaults(raw: unknown, folder: string): string[] {
  const { networks, defaultNetwork, limits, drainDelayMs, graceMs } = crossSchema.parse(raw)
  const faults: string[] = []
  if (graceMs !== undefined && graceMs < drainDelayMs + afterDrainMsMin) {
    faults.push(
      `graceMs: expected at least ${afterDrainMsMin} more than drainDelayMs (${drainDelayMs}), got ${graceMs}`,
    )
  }
  const ownerOfName = new Map<string, string>()
  const ownerOfHost = new Map<string, string>()
  networks.forEach((network, index) => {
    const path = `networks[${index}]`
    const claim = (owners: Map<string, string>, value: string, where: string): void => {
      const owner = owners.get(value)
      if (owner !== undefined) faults.push(`${where}: ${JSON.stringify(value)} already stands at ${owner}`)
      else if (value !== '') owners.set(value, where)
    }
    claim(ownerOfName, network.name ?? '', `${path}.name`)
    network.hosts.forEach((host, at) => {
      claim(ownerOfHost, host.toLowerCase(), `${path}.hosts[${at}]`)
    })
    if (network.safe && network.finalizedLag < network.safeLag) {
      faults.push(
        `${path}.finalizedLag: expected at least safeLag (${network.safeLag}), got ${network.finalizedLag}`,
      )
    }
    const requestMsMax = limits?.requestMsMax ?? requestMsDefault
    if (network.upstream !== undefined && network.upstream.waitMs >= requestMsMax) {
      faults.push(
        `${path}.upstream.waitMs: expected less than limits.requestMsMax (${requestMsMax}), got ${network.upstream.waitMs}`,
      )
    }
    for (const [key, file] of [
      ['genesis', network.genesis],
      ['storageLayouts', network.storageLayouts],
    ] as const) {
      if (file !== undefined && !existsSync(resolve(folder, file))) {
        faults.push(`${path}.${key}: there is no file ${resolve(folder, file)}`)
      }
    }
    if (network.publish !== undefined && !isExecuting(network.source)) {
      faults.push(
        `${path}.publish: expected a source beside it that is no feed, since only what it brings is published`,
      )
    }
    faults.push(...findHistoryFaults(network.history, network.source).map((fault) => `${path}.${fault}`))
    faults.push(...findSourceFaults(network.source, folder).map((fault) => `${path}.source.${fault}`))
  })
  const names = networks.length > 0 ? [...ownerOfName.keys()] : ['demo']
  if (defaultNetwork !== undefined && !names.includes(defaultNetwork)) {
    faults.push(`defaultNetwork: expected one of ${names.join(', ')}, got ${JSON.stringify(defaultNetwork)}`)
  }
  if (limits && limits.keyUnitsBurst !== undefined && limits.keyUnitsPerSecond === undefined) {
    faults.push(
      'limits.keyUnitsBurst: expected keyUnitsPerSecond beside it, without which nothing is counted',
    )
  }
  if (limits && limits.bufferedBodyBytesMax < limits.bodyBytesMax) {
    const { bodyBytesMax, bufferedBodyBytesMax } = limits
    faults.push(
      `limits.bufferedBodyBytesMax: expected at least bodyBytesMax (${bodyBytesMax}), got ${bufferedBodyBytesMax}`,
    )
  }
  if (limits && limits.socketIdleMsMax <= limits.socketPingMs) {
    const { socketPingMs, socketIdleMsMax } = limits
    faults.push(
      `limits.socketIdleMsMax: expected more than socketPingMs (${socketPingMs}), got ${socketIdleMsMax}`,
    )
  }
  if (limits && limits.subscriptionQueueBytesMax < limits.subscriptionQueueBytes) {
    const { subscriptionQueueBytes, subscriptionQueueBytesMax } = limits
    faults.push(
      `limits.subscriptionQueueBytesMax: expected at least subscriptionQueueBytes (${subscriptionQueueBytes}), got ${subscriptionQueueBytesMax}`,
    )
  }
  return faults
}
