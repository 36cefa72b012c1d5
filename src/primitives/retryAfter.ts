/**
 * Longest `Retry-After` that is obeyed. A longer one is a mistake, or the server is down for so long that an attempt
 * every five minutes does no harm.
 */
const retryAfterMsMax = 300_000

/**
 * `Retry-After` (RFC 9110, section 10.2.3) in ms: seconds, or a date, which is compared with the answer's Date header
 * if there is one. Undefined without a value.
 */
export function readRetryAfter(retryAfter: unknown, date: unknown): number | undefined {
  const text = String(retryAfter ?? '').trim()
  const sentAtMs = Date.parse(String(date ?? '')) || Date.now()
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - sentAtMs
  return ms > 0 ? Math.min(ms, retryAfterMsMax) : undefined
}
