/** Nodes that a network asks: the schema of an entry of `upstreams`, with the reasons for its limits. */
import * as z from 'zod'
import { integer, list, object, text, withShortForm } from './schema.js'

/** Time of one attempt; for a proof of many slots a node needs a second. */
const timeoutMsDefault = 5_000
/** A block of 10 MiB, which is the largest that Osaka allows, is some 25 MiB of JSON. */
const answerBytesDefault = 64 * 2 ** 20

const urlExpected = 'a URL of http, https, ws or wss'
const nodeUrl = z.url({ protocol: /^(?:https?|wss?)$/, error: `expected ${urlExpected}` })

/** A proxy for the connection to a node. */
export const proxyUrl = z.url({ protocol: /^https?$/, error: 'expected a URL of http or https' })

const upstreamShape = {
  /** URL of the node. It may contain a key or password, and is never logged. */
  url: nodeUrl,
  /** WebSocket for new heads; if absent, the address of `url` is tried. */
  socketUrl: z.url({ protocol: /^wss?$/, error: 'expected a URL of ws or wss' }).optional(),
  /** Headers of every request, for instance with a key; never logged. */
  headers: z
    .record(text('the name of a header'), text('the value of a header'), { error: 'expected an object' })
    .optional(),
  /** URL of a proxy; if absent, the environment decides. It may contain a user and password, and is never logged. */
  proxy: proxyUrl.optional(),
  timeoutMs: integer(100, 600_000).default(timeoutMsDefault),
  answerBytesMax: integer(2 ** 20).default(answerBytesDefault),
  /** Most requests per second; if absent, no limit. */
  requestsPerSecond: integer(1, 1_000_000).optional(),
}

/** A URL is short for an object with only this `url`. */
export const upstreamSchema = withShortForm(
  nodeUrl,
  (url) => ({ url }),
  object(upstreamShape, `${urlExpected}, or an object`),
)

const passedExpected =
  'the name of a method such as bor_getAuthor, or the beginning of names and *, such as bor_*'

/** Methods unknown to this program that are passed to upstreams; their answers are not verified. */
export const passThroughSchema = list(
  z
    .string({ error: `expected ${passedExpected}` })
    .regex(/^[a-zA-Z][a-zA-Z0-9]*_([a-zA-Z0-9_]+|[a-zA-Z0-9_]*\*)$/, { error: `expected ${passedExpected}` }),
).default([])

export function isUpstreamUrl(value: string): boolean {
  return upstreamSchema.safeParse({ url: value }).success
}

/** The parts that are compared with each other. A part of the wrong type is left out: the schema reports it. */
const crossSchema = z
  .object({
    upstreams: z
      .array(z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]).catch(''))
      .optional()
      .catch(undefined),
    quorum: z.number().optional().catch(undefined),
  })
  .catch({})

/** Faults in the `upstreams` and `quorum` of one object. Each line begins with the path within it. */
export function findUpstreamFaults(raw: unknown): string[] {
  const { upstreams, quorum } = crossSchema.parse(raw)
  if (upstreams === undefined) return []
  const faults: string[] = []
  const hrefs = upstreams.map((url) => (URL.canParse(url) ? new URL(url).href : undefined))
  for (const [index, href] of hrefs.entries()) {
    const first = hrefs.indexOf(href)
    if (href === undefined || first === index) continue
    faults.push(
      `upstreams[${index}]: expected another URL than that of upstreams[${first}], since a node counts once`,
    )
  }
  if (quorum !== undefined && quorum > upstreams.length) {
    faults.push(`quorum: expected at most the number of upstreams (${upstreams.length}), got ${quorum}`)
  }
  return faults
}
