/** The part of the configuration file for a network of kind `gateway`, with the reasons for its limits. */
import { type BeaconConfig, beaconSchema } from './beacon.js'
import { flag, integer, list, object } from './schema.js'
import { passThroughSchema, type UpstreamConfig, upstreamSchema } from './upstream.js'

/** Some networks make a block a second; a poll more takes 1 KB. */
const pollMsDefault = 1_000
/** A little more than a day of Ethereum's blocks, of 700 bytes each: what EIP-2935 keeps, too. */
const historyBlocksDefault = 8_192

export const gatewaySchemaParts = {
  /** Nodes of the chain, asked and not believed. */
  upstreams: list(upstreamSchema).min(1, { error: 'expected at least one upstream' }),
  /** Upstreams that must have a head before it is served, and that must agree on what cannot be proved; absent: a majority. */
  quorum: integer(1, 100).optional(),
  /** Blocks below the head whose numbers are proved by a chain of headers. */
  historyBlocks: integer(1, 100_000_000).default(historyBlocksDefault),
  /** Logs that are fetched and proved before anybody asks for them; absent: none. */
  logs: object({
    /** The lowest block of them. */
    from: integer(0),
    /** Headers alone are fetched early, and the receipts of a block once a search matches its bloom. */
    lazy: flag().default(false),
  }).optional(),
  /** Time between two polls of an upstream without a WebSocket. */
  pollMs: integer(50, 600_000).default(pollMsDefault),
  passThrough: passThroughSchema,
  /** Where it learns which head is signed; absent: the head is the highest that `quorum` upstreams have. */
  beacon: beaconSchema.optional(),
}

/** How a gateway asks. */
export interface GatewayConfig {
  readonly upstreams: readonly UpstreamConfig[]
  readonly quorum?: number | undefined
  readonly historyBlocks: number
  readonly logs?: { readonly from: number; readonly lazy: boolean } | undefined
  readonly pollMs: number
  readonly passThrough: readonly string[]
  readonly beacon?: BeaconConfig | undefined
}

/** A gateway for these URLs, with all logs from block `logsFrom` on, with default values. Throws ZodError for a text that is no such URL. */
export function gatewayOf(
  urls: readonly string[],
  logsFrom: number | undefined,
  beacon: BeaconConfig | undefined,
): GatewayConfig {
  const logs = logsFrom === undefined ? {} : { logs: { from: logsFrom } }
  return { ...object(gatewaySchemaParts).parse({ upstreams: urls, ...logs }), beacon }
}
