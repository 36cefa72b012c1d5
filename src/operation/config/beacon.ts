/** Beacon nodes that confirm the head by signatures: the schema of `beacon`, with the reasons for its limits. */
import * as z from 'zod'
import { integer, list, object, withShortForm } from './schema.js'
import { proxyUrl } from './upstream.js'

/** A block is signed every 12 s; a local node has the signatures 4 s after the start of its slot. */
const pollMsDefault = 2_000
/** Time of one attempt; then another node is asked. */
const timeoutMsDefault = 5_000
/** Eight updates with their sync committees are 420 KB of JSON, and the configuration of a network some 20 KB. */
const updateBytesMax = 4 * 2 ** 20

const urlExpected = 'a URL of http or https'
const beaconUrl = z.url({ protocol: /^https?$/, error: `expected ${urlExpected}` })

/** A beacon node whose answers have at most `answerBytesMax` bytes. */
export function beaconNode(answerBytesMax: number) {
  return withShortForm(
    beaconUrl,
    (url) => ({ url }),
    object(
      {
        /** May contain a key or password; it is never logged. */
        url: beaconUrl,
        /** Headers of every request, for instance with a key; never logged. */
        headers: z.record(z.string(), z.string(), { error: 'expected an object' }).optional(),
        /** As for an upstream. */
        proxy: proxyUrl.optional(),
        timeoutMs: integer(100, 600_000).default(timeoutMsDefault),
        /** Most requests per second; absent: no limit. */
        requestsPerSecond: integer(1, 1_000_000).optional(),
      },
      `${urlExpected}, or an object`,
    ).transform((node) => ({ ...node, answerBytesMax })),
  )
}

function hex(bytes: number) {
  const error = `expected 0x and ${2 * bytes} hex digits`
  return z.string({ error }).regex(new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`), { error })
}

const forkNames = ['genesis', 'altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu', 'gloas'] as const

/** The consensus layer of a network other than Ethereum's mainnet, Sepolia or Hoodi; its preset is that of mainnet. */
const networkSchema = object({
  /** Seconds since 1970. */
  genesisTime: integer(0),
  genesisValidatorsRoot: hex(32),
  /** In order, from `genesis` at epoch 0; without forks that are not planned. */
  forks: list(
    object({
      name: z.enum(forkNames, { error: `expected one of ${forkNames.join(', ')}` }),
      epoch: integer(0),
      version: hex(4),
    }),
  ).min(1, { error: 'expected at least one fork' }),
})

export const beaconSchema = object({
  /** Nodes with the Beacon API; their answers are verified. */
  nodes: list(beaconNode(updateBytesMax)).min(1, { error: 'expected at least one node' }),
  /** Root of a final beacon block; not needed once the store has a later block that follows from it. */
  checkpoint: hex(32).optional(),
  /** Time between two requests for the newest signed block. */
  pollMs: integer(50, 600_000).default(pollMsDefault),
  network: networkSchema.optional(),
})

export type BeaconConfig = z.output<typeof beaconSchema>

/** The beacon nodes of flags; undefined if they name no node. */
export function beaconOf(urls: readonly string[] | undefined, checkpoint?: string): BeaconConfig | undefined {
  return urls && beaconSchema.parse({ nodes: urls, checkpoint })
}

export function isBeaconUrl(value: string): boolean {
  return beaconUrl.safeParse(value).success
}
