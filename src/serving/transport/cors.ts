import { type ExtraHeaders, noHeaders } from './wire.js'

/** Web origins whose pages may read answers: all, those listed as `scheme://host[:port]`, or {@link ofThisMachine}. */
export type CorsOrigins = '*' | readonly string[]

/** Means all pages that this machine serves to itself, on any port. */
const ofThisMachine = 'localhost'
const loopbackPattern = /^https?:\/\/(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

export interface CorsHeaders {
  /** Whether a page of `origin` may open a WebSocket, which has no preflight; empty: the client is no browser. */
  allows(origin: string): boolean
  /** Headers of the answer to a request from `origin`; an empty text means that the request has no origin. */
  answer(origin: string): ExtraHeaders
  /**
   * The headers of a cacheable answer, which a page may get from a browser's cache after another page's request. They
   * allow every page to read it, or vary by origin (Fetch standard, "CORS protocol and HTTP caches").
   */
  kept(origin: string): ExtraHeaders
  preflight(origin: string): ExtraHeaders
}

/**
 * The CORS headers of the Fetch standard. Keys are in the path or in headers, never in cookies. If keys are needed, `*`
 * therefore exposes nothing that the page could not read through a server of its own. Without keys, every page open in
 * a browser on this machine could read and submit.
 */
export function createCorsHeaders(origins: CorsOrigins): CorsHeaders {
  const exposed = [
    'access-control-expose-headers',
    'tidegate-block, tidegate-trust, retry-after, ratelimit, ratelimit-policy, etag, x-request-id',
  ] as const
  const anyOrigin: ExtraHeaders = [['access-control-allow-origin', '*'], exposed]
  const listed = new Set(origins === '*' ? [] : origins.map((origin) => origin.toLowerCase()))
  const isListed = (origin: string): boolean =>
    listed.has(origin.toLowerCase()) || (listed.has(ofThisMachine) && loopbackPattern.test(origin))
  const kept = (origin: string): ExtraHeaders => {
    if (origins === '*') return anyOrigin
    // Without `vary` a cache would return one origin's answer to another.
    const vary = ['vary', 'origin'] as const
    if (!isListed(origin)) return [vary]
    return [['access-control-allow-origin', origin], exposed, vary]
  }
  const answer = (origin: string) => (origin === '' ? noHeaders : kept(origin))
  return {
    allows: (origin) => origin === '' || origins === '*' || isListed(origin),
    answer,
    kept,
    preflight: (origin) => [
      ...answer(origin),
      ['access-control-allow-methods', 'POST, GET, HEAD, OPTIONS'],
      // The asterisk does not include Authorization.
      ['access-control-allow-headers', '*, authorization'],
      // One day; browsers reduce it to their own limit (2 hours in Chromium).
      ['access-control-max-age', '86400'],
    ],
  }
}
