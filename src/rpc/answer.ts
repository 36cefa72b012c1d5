/** Text, or pieces to be sent one after another; text is to be sent as UTF-8. Empty for notifications alone. */
export type AnswerBody = string | readonly (string | Uint8Array)[]

/** What a request comes to. */
export interface Answer {
  /** What HTTP says; a WebSocket ignores it. */
  readonly status: number
  /** Bytes in it belong to caches: send them, never write to them. */
  readonly body: AnswerBody
  /** When to ask again, with status 429 or 503. */
  readonly retryAfterMs: number | undefined
  /** Number and hash of the block it was made from, as text; absent where no endpoint has seen the request, and on a network without blocks. */
  readonly block?: string | undefined
}
