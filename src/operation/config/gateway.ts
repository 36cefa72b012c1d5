/** The part of the configuration file for a network of kind `gateway`, with the reasons for its limits. */
import * as z from 'zod'
import { type BeaconConfig, beaconSchema } from './beacon.js'
import { flag, integer, list, object } from './schema.js'
import { passThroughSchema, upstreamSchema } from './upstream.js'

/** Some networks make a block a second; a poll more takes 1 KB. */
const pollMsDefault = 1_000
/** A little more than a day of Ethereum's blocks, of 700 bytes each: what EIP-2935 keeps, too. */
const historyBlocksDefault = 8_192

/**
 * Values, trie nodes and code that are held: what a day of Ethereum's mainnet touches has some 3 GB, and a small machine
 * has that much disk.
 */
const workingSetMbDefault = 4_096
/** Accounts and slots that are proved with each head where nothing tells what it changes: some 8 MB of answers. */
const proofUnitsDefault = 4_096
/** Contracts that are always held: each takes up to 15 MB. */
const watchedMax = 64

const watchedAddress = z
  .string({ error: 'expected an address' })
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'expected an address: 0x and 40 hex digits' })

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
  /** What is kept of the state, so that it need not be fetched again. */
  workingSet: object({
    /** Most MiB on disk of values, trie nodes and code. */
    maxMB: integer(16, 100_000_000).default(workingSetMbDefault),
    /** Most accounts and slots that are proved with each head where upstreams do not tell what a block changes. */
    proofUnits: integer(0, 100_000).default(proofUnitsDefault),
    /** Contracts that are never dropped, and held whole where upstreams enumerate their slots. */
    watch: list(watchedAddress)
      .max(watchedMax, { error: `expected at most ${watchedMax} addresses` })
      .default([]),
  }).prefault({}),
  /** Time between two polls of an upstream without a WebSocket. */
  pollMs: integer(50, 600_000).default(pollMsDefault),
  passThrough: passThroughSchema,
  /** Where it learns which head is signed; absent: the head is the highest that `quorum` upstreams have. */
  beacon: beaconSchema.optional(),
}

const gatewaySchema = object(gatewaySchemaParts)

export type GatewayConfig = z.output<typeof gatewaySchema>

/**
 * A gateway for these URLs, with all logs from block `logsFrom` on, with default values. Throws ZodError for a text
 * that is no such URL.
 */
export function gatewayOf(
  urls: readonly string[],
  logsFrom: number | undefined,
  beacon: BeaconConfig | undefined,
): GatewayConfig {
  const logs = logsFrom === undefined ? {} : { logs: { from: logsFrom } }
  return { ...gatewaySchema.parse({ upstreams: urls, ...logs }), beacon }
}
