/** One HTTP exchange with a sequencer: sends, reads a bounded answer, and says whether it is one at all. */

/** An answer that may hold the sequencer's word. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Undefined where the answer is not JSON. */
  readonly json: unknown
  readonly retryAfterMs: number | undefined
}

/** No word of the sequencer. */
export interface Unanswered {
  readonly kind: 'unanswered'
  readonly why: string
  /** The sequencer cannot have got the request. */
  readonly isUndelivered: boolean
  /** The time after which it wants to be asked again, where it says one. */
  readonly retryAfterMs: number | undefined
}

/** Never rejects. `body` undefined: GET. */
export type Exchange = (url: string, body?: string) => Promise<Answer | Unanswered>

/** Longest answer to a submission: an error with the trace of a validation; anything longer is no sequencer's. */
const submissionAnswerBytesMax = 2 ** 20

/**
 * Longest `Retry-After` that is kept to: whoever says more has made a mistake, or is away for so long that a question
 * every five minutes does no harm.
 */
const retryAfterMsMax = 300_000

/**
 * Statuses that speak of the request and not of the server: gateways put their refusals under 400 and 500, and what
 * is too long or not understood comes under the others. Any other status but 2xx is the word of something in front of
 * the sequencer, or of one that is not at work, whatever the body says.
 */
const wordStatuses: ReadonlySet<number> = new Set([400, 413, 414, 415, 422, 431, 500])

/**
 * Exchanges that take `timeoutMs` at most, from the first byte sent to the last one received, and end with `closing`.
 * Of an answer longer than `answerBytesMax` nothing is known.
 */
export function createExchange(
  timeoutMs: number,
  closing: AbortSignal,
  answerBytesMax = submissionAnswerBytesMax,
): Exchange {
  return async (url, body) => {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)])
    try {
      const response = await fetch(url, {
        ...(body !== undefined && { method: 'POST', body }),
        headers: { 'content-type': 'application/json' },
        redirect: 'manual',
        signal,
      })
      const { status, ok, headers } = response
      const retryAfterMs = readRetryAfter(headers)
      const json = await readJson(response, answerBytesMax)
      if (ok || wordStatuses.has(status)) return { kind: 'answer', status, json, retryAfterMs }
      return { ...unanswered(`HTTP status ${status}`), retryAfterMs }
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error)
      const { code } = cause as NodeJS.ErrnoException
      if (signal.aborted && !closing.aborted) return unanswered(`no answer within ${timeoutMs} ms`)
      return unanswered(code ?? cause.message, undelivered.has(code ?? ''))
    }
  }
}

export function unanswered(why: string, isUndelivered = false): Unanswered {
  return { kind: 'unanswered', why, isUndelivered, retryAfterMs: undefined }
}

/** Failures before a connection stood. */
const undelivered: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** RFC 9110, 10.2.3: seconds, or a date, which is compared with the sender's own clock where that is told. */
function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? ''
  const sentAtMs = Date.parse(headers.get('date') ?? '') || Date.now()
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - sentAtMs
  return ms > 0 ? Math.min(ms, retryAfterMsMax) : undefined
}

async function readJson(response: Response, answerBytesMax: number): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  if (response.body === null) return undefined
  for await (const chunk of response.body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > answerBytesMax) return undefined
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}
