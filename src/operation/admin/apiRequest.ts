/** The checks of a request to the admin API, for every route. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type * as z from 'zod'
import type { Route } from './routes.js'

/** A refused request, with the reason for its sender. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/** Longest body; a key with many scopes has some thousand bytes. */
const bodyBytesMax = 64 * 1024

/**
 * Deepest nesting of a body, as for requests to the public listener; a deeper value cannot be written as JSON again.
 */
const depthMax = 64

/**
 * Whether a Host header names this machine by address, as `localhost`, or by one of `names` (lower case). With DNS
 * rebinding, a page whose name points to this machine's address sends that name.
 */
export function isOwnHost(header: string | undefined, names: ReadonlySet<string>): boolean {
  const host = (header ?? '').replace(/:[0-9]*$/, '').toLowerCase()
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) !== 0 || host === 'localhost' || names.has(host)
}

/**
 * The body of a request, parsed as JSON; undefined if it has none. Throws Refusal for another content type than JSON,
 * which a foreign web page could send without a preflight request. Also throws it for an encoded body, for one that is
 * too long or nested too deeply, and for invalid JSON.
 */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const { headers } = request
  if (!hasBody(headers)) return undefined
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json') {
    throw new Refusal(415, 'a body must have the content type application/json')
  }
  const encoding = headers['content-encoding'] ?? ''
  if (encoding !== '' && encoding.trim().toLowerCase() !== 'identity')
    throw new Refusal(415, 'a body must be sent as it is, without a content encoding')
  const parts: Uint8Array[] = []
  let bytes = 0
  // Reads to the end, at most until the time limit of requests: a client that is still sending may not read the
  // refusal.
  for await (const part of request as AsyncIterable<Uint8Array>) {
    bytes += part.length
    if (bytes <= bodyBytesMax) parts.push(part)
  }
  if (bytes > bodyBytesMax) throw new Refusal(413, `a body has at most ${bodyBytesMax} bytes`)
  if (bytes === 0) return undefined
  const body = parse(Buffer.concat(parts).toString('utf8'))
  if (isDeeper(body, depthMax)) throw new Refusal(400, `arrays and objects nest deeper than ${depthMax}`)
  return body
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'the body is not JSON')
  }
}

/** Level by level, because recursion would end with the stack. */
function isDeeper(value: unknown, max: number): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    level = level.filter((each) => typeof each === 'object' && each !== null)
    if (depth === max) return level.length > 0
    level = level.flatMap((each) => Object.values(each as object))
  }
  return false
}

function hasBody({ 'content-length': length, 'transfer-encoding': encoding }: IncomingHttpHeaders): boolean {
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/** Query and body as parsed by a route's schemas. Throws Refusal if they do not fit. */
export function fitToRoute({ query, body }: Route, search: URLSearchParams, sent: unknown) {
  if (body === undefined && sent !== undefined) throw new Refusal(400, 'this request takes no body')
  const asked = Object.fromEntries(search)
  if (query === undefined && search.size > 0) throw new Refusal(400, 'this path takes no query')
  return { query: query && fit(query, asked, 'query'), body: body && fit(body, sent, 'body') }
}

function fit(schema: z.ZodType, value: unknown, where: string): unknown {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const faults = error.issues.map(({ path, message }) => `${[where, ...path].join('.')}: ${message}`)
  throw new Refusal(400, faults.join('; '))
}
