/** The checks of a configuration file that a schema cannot express. */
import * as z from 'zod'
import { demoNetworkName, demoRollupName } from './embeddedNames.js'
import { findHistoryFaults } from './history.js'
import {
  bodyBytesDefault,
  bufferedBodyBytesDefault,
  requestMsDefault,
  socketIdleMsDefault,
  socketPingMsDefault,
  subscriptionQueueBytesDefault,
  subscriptionQueueBytesMaxDefault,
} from './limits.js'
import { findMissingFiles, rawPath } from './paths.js'
import { findSourceFaults } from './source.js'
import { findUpstreamFaults } from './upstream.js'

/** Least time for a server to answer accepted requests and to close. */
export const afterDrainMsMin = 3_000

/**
 * The parts of a file that are compared with each other. A part of the wrong type is left out: the schema reports it,
 * and one run should report every fault.
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
            genesis: rawPath,
            storageLayouts: rawPath,
            source: z.unknown().optional(),
            publish: z.unknown().optional(),
            history: z.unknown().optional(),
            upstreams: z.unknown().optional(),
            quorum: z.unknown().optional(),
            upstream: z
              .object({ waitMs: z.number().default(0) })
              .optional()
              .catch(undefined),
          })
          .catch({ name: undefined, hosts: [], safe: false, safeLag: 0, finalizedLag: 0 }),
      )
      .catch([]),
    tls: z.object({ cert: rawPath, key: rawPath }).optional().catch(undefined),
    traces: z.object({ headersFile: rawPath }).optional().catch(undefined),
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

/** Required order of limits. */
const limitOrder = [
  ['bufferedBodyBytesMax', 'at least', 'bodyBytesMax'],
  ['socketIdleMsMax', 'more than', 'socketPingMs'],
  ['subscriptionQueueBytesMax', 'at least', 'subscriptionQueueBytes'],
] as const

/** Whether a source, as written in the file, delivers blocks that are executed. */
function isExecuting(source: unknown): boolean {
  return typeof source === 'object' && source !== null && (source as { type?: unknown }).type !== 'feed'
}

/** Finds values that contradict each other, and missing files. Each line begins with a path. */
export function findCrossFaults(raw: unknown, folder: string): string[] {
  const { networks, defaultNetwork, limits, drainDelayMs, graceMs, tls, traces } = crossSchema.parse(raw)
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
    const { genesis, storageLayouts } = network
    const files = { [`${path}.genesis`]: genesis, [`${path}.storageLayouts`]: storageLayouts }
    for (const fault of findMissingFiles(files, folder)) faults.push(fault)
    if (network.publish !== undefined && !isExecuting(network.source)) {
      faults.push(
        `${path}.publish: expected a source beside it other than a feed: only blocks of a source are published`,
      )
    }
    for (const fault of findHistoryFaults(network.history, network.source)) faults.push(`${path}.${fault}`)
    for (const fault of findUpstreamFaults(network)) faults.push(`${path}.${fault}`)
    for (const fault of findSourceFaults(network.source, folder)) faults.push(`${path}.source.${fault}`)
  })
  const names = networks.length > 0 ? [...ownerOfName.keys()] : [demoNetworkName, demoRollupName]
  if (defaultNetwork !== undefined && !names.includes(defaultNetwork)) {
    faults.push(`defaultNetwork: expected one of ${names.join(', ')}, got ${JSON.stringify(defaultNetwork)}`)
  }
  if (limits && limits.keyUnitsBurst !== undefined && limits.keyUnitsPerSecond === undefined) {
    faults.push(
      'limits.keyUnitsBurst: expected keyUnitsPerSecond beside it, without which nothing is counted',
    )
  }
  for (const [name, relation, other] of limitOrder) {
    if (limits === undefined) break
    const value = limits[name]
    const least = limits[other]
    if (relation === 'at least' ? value >= least : value > least) continue
    faults.push(`limits.${name}: expected ${relation} ${other} (${least}), got ${value}`)
  }
  const files = { 'tls.cert': tls?.cert, 'tls.key': tls?.key, 'traces.headersFile': traces?.headersFile }
  return [...faults, ...findMissingFiles(files, folder)]
}
