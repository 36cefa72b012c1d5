/** The part of the configuration file for a network of kind `gateway`, with the reasons for its limits. */
import { z } from 'zod'
import { integer, list, object, text } from './schema.js'

/** Some networks make a block a second; a poll more takes 1 KB. */
const pollMsDefault = 1_000
/** Time of one attempt; a proof of many slots takes a node a second. */
const timeoutMsDefault = 5_000
/** A block of 10 MiB, which is the largest that Osaka allows, is some 25 MiB of JSON. */
const answerBytesDefault = 64 * 2 ** 20
/** A little more than a day of Ethereum's blocks, of 700 bytes each: what EIP-2935 keeps, too. */
const historyBlocksDefault = 8_192

const upstreamSchema = object({
  url: z.url({
    protocol: /^(?:https?|wss?)$/,
    error: 'expected a URL of http, https, ws or wss',
  }),
  /** Where heads are subscribed to; absent: looked for at the address of `url`. */
  socketUrl: z.url({ protocol: /^wss?$/, error: 'expected a URL of ws or wss' }).optional(),
  /** Headers of every request, for instance with a key. */
  headers: z.record(text('the name of a header'), text('the value of a header')).optional(),
  /** Longest time of one attempt. */
  timeoutMs: integer(100, 600_000).default(timeoutMsDefault),
  /** Most bytes of one answer. */
  answerBytesMax: integer(2 ** 20).default(answerBytesDefault),
  /** Most questions per second; absent: no limit. */
  requestsPerSecond: integer(1, 1_000_000).optional(),
})

export const gatewaySchemaParts = {
  /** Nodes of the chain, asked and not believed. */
  upstreams: list(upstreamSchema).min(1, { error: 'expected at least one upstream' }),
  /** Upstreams that must have a head before it is served, and that must agree on what cannot be proved. */
  quorum: integer(1, 100).default(1),
  /** Blocks below the head whose numbers are proved by a chain of headers. */
  historyBlocks: integer(1, 100_000_000).default(historyBlocksDefault),
  /** Time between two polls of an upstream without a WebSocket. */
  pollMs: integer(50, 600_000).default(pollMsDefault),
}

export type UpstreamConfig = z.output<typeof upstreamSchema>

/** How a gateway asks. */
export interface GatewayConfig {
  readonly upstreams: readonly UpstreamConfig[]
  readonly quorum: number
  readonly historyBlocks: number
  readonly pollMs: number
}

/** A gateway for these URLs, with default values. Throws ZodError for a text that is no such URL. */
export function gatewayOf(urls: readonly string[]): GatewayConfig {
  return object(gatewaySchemaParts).parse({ upstreams: urls.map((url) => ({ url })) })
}

/** Whether a text is the URL of an upstream. */
export function isUpstreamUrl(value: string): boolean {
  return upstreamSchema.safeParse({ url: value }).success
}
