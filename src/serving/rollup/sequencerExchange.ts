/**
 * One HTTP exchange with a sequencer: sends, reads a bounded answer, and decides whether the sequencer itself answered.
 */

import { readRetryAfter } from '../../primitives/retryAfter.js'
import { authorization, causeOf, withoutCredentials } from '../../primitives/urls.js'

/** An answer that may be the sequencer's own. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Undefined if the answer is not JSON. */
  readonly json: unknown
  readonly retryAfterMs: number | undefined
}

/** The sequencer did not answer. */
export interface Unanswered {
  readonly kind: 'unanswered'
  readonly why: string
  /** Whether the sequencer cannot have received the request. */
  readonly isUndelivered: boolean
  /** The wait in its `Retry-After` header, if any. */
  readonly retryAfterMs: number | undefined
}

/**
 * Sends `body` by POST, or a GET request without a body. A user and password in the URL become basic authorization.
 * Never rejects.
 */
export type Exchange = (url: URL, body?: string) => Promise<Answer | Unanswered>

/** Longest answer to a submission: an error with the trace of a validation fits. */
const submissionAnswerBytesMax = 2 ** 20

/**
 * Statuses besides 2xx that are about the request and not the server. Gateways refuse with 400 and 500; the others mean
 * that the request was too long or not understood. Any other status comes from a service in front of the sequencer, or
 * from a sequencer out of service, whatever the body.
 */
const wordStatuses: ReadonlySet<number> = new Set([400, 413, 414, 415, 422, 431, 500])

/**
 * Makes exchanges that take at most `timeoutMs`, connecting included, and end when `closing` is aborted. An answer
 * longer than `answerBytesMax` counts as not JSON.
 */
export function createExchange(
  timeoutMs: number,
  closing: AbortSignal,
  answerBytesMax = submissionAnswerBytesMax,
): Exchange {
  return async (url, body) => {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)])
    try {
      const response = await fetch(withoutCredentials(url), {
        ...(body !== undefined && { method: 'POST', body }),
        headers: { 'content-type': 'application/json', ...authorization(url) },
        redirect: 'manual',
        signal,
      })
      const { status, ok, headers } = response
      const retryAfterMs = readRetryAfter(headers.get('retry-after'), headers.get('date'))
      const json = await readJson(response, answerBytesMax)
      if (ok || wordStatuses.has(status)) return { kind: 'answer', status, json, retryAfterMs }
      return { ...unanswered(`HTTP status ${status}`), retryAfterMs }
    } catch (error) {
      if (signal.aborted && !closing.aborted) return unanswered(`no answer within ${timeoutMs} ms`)
      const cause = causeOf(error)
      return unanswered(cause, undelivered.has(cause))
    }
  }
}

export function unanswered(why: string, isUndelivered = false): Unanswered {
  return { kind: 'unanswered', why, isUndelivered, retryAfterMs: undefined }
}

/** Errors before a connection was established. */
const undelivered: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

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
