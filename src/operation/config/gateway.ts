/** The part of the configuration file for a network of kind `gateway`, with the reasons for its limits. */
import * as z from 'zod'
import { type BeaconConfig, beaconSchema } from './beacon.js'
import { flag, integer, list, object } from './schema.js'
import { passThroughSchema, upstreamSchema } from './upstream.js'

/** Some networks make a block a second; each poll takes 1 KB. */
const pollMsDefault = 1_000
/** A little more than a day of Ethereum's blocks, of 700 bytes each; also the window of EIP-2935. */
const historyBlocksDefault = 8_192

/**
 * Values, trie nodes and code in the store: a day of Ethereum's mainnet touches some 3 GB, and a small machine has that
 * much disk.
 */
const workingSetMbDefault = 4_096
/** Accounts and slots proved with each head if no upstream reports its changes: some 8 MB of answers. */
const proofUnitsDefault = 4_096
/** Contracts that are never dropped: each takes up to 15 MB. */
const watchedMax = 64

const watchedAddress = z
  .string({ error: 'expected an address' })
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'expected an address: 0x and 40 hex digits' })

export const gatewaySchemaParts = {
  /** Nodes of the chain; their answers are verified. */
  upstreams: list(upstreamSchema).min(1, { error: 'expected at least one upstream' }),
  /**
   * Upstreams that must have a head before it is served, and that must agree on answers without proof; if absent, a
   * majority.
   */
  quorum: integer(1, 100).optional(),
  /** Blocks below the head whose numbers are proved by a chain of headers. */
  historyBlocks: integer(1, 100_000_000).default(historyBlocksDefault),
  /** Logs that are fetched and proved in advance; if absent, none. */
  logs: object({
    /** The lowest block with such logs. */
    from: integer(0),
    /** Fetches only headers in advance, and the receipts of a block once a search matches its bloom. */
    lazy: flag().default(false),
  }).optional(),
  /** The stored part of the state, which need not be fetched again. */
  workingSet: object({
    /** Most MiB on disk of values, trie nodes and code. */
    maxMB: integer(16, 100_000_000).default(workingSetMbDefault),
    /** Most accounts and slots proved with each head if upstreams do not report the changes of a block. */
    proofUnits: integer(0, 100_000).default(proofUnitsDefault),
    /** Contracts that are never dropped, and stored whole if upstreams enumerate their slots. */
    watch: list(watchedAddress)
      .max(watchedMax, { error: `expected at most ${watchedMax} addresses` })
      .default([]),
  }).prefault({}),
  /** Time between two polls of an upstream without a WebSocket. */
  pollMs: integer(50, 600_000).default(pollMsDefault),
  passThrough: passThroughSchema,
  /**
   * Beacon nodes that confirm the head by signatures; if absent, the head is the highest block that `quorum` upstreams
   * have.
   */
  beacon: beaconSchema.optional(),
}

const gatewaySchema = object(gatewaySchemaParts)

export type GatewayConfig = z.output<typeof gatewaySchema>

/**
 * A gateway for these URLs, with all logs from block `logsFrom`, with default values. Throws ZodError for an invalid
 * URL.
 */
export function gatewayOf(
  urls: readonly string[],
  logsFrom: number | undefined,
  beacon: BeaconConfig | undefined,
): GatewayConfig {
  const logs = logsFrom === undefined ? {} : { logs: { from: logsFrom } }
  return { ...gatewaySchema.parse({ upstreams: urls, ...logs }), beacon }
}
