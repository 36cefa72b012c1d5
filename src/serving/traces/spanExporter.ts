import { Client } from 'undici'
import { setTimeout } from '../../primitives/timers.js'
import { type Resource, renderBody } from './otlp.js'

export interface ExportLimits {
  /** Longest time of one exchange with the collector. */
  readonly timeoutMs: number
  /** Longest time that {@link SpanExporter.close} takes; a stopping server has 2 s to close everything. */
  readonly closeMsMax: number
  /** Time from the first waiting span to the next request. */
  readonly delayMs: number
}

const limitsDefault: ExportLimits = { timeoutMs: 10_000, closeMsMax: 500, delayMs: 1_000 }

/** Spans that wait, 1.5 MB; more are dropped. This value and the next are those of OpenTelemetry's SDKs. */
export const waitingMax = 2_048
/** Spans of one request to the collector; this many waiting spans are sent at once. */
const batchMax = 512

/** Bytes of an answer that are read, so that the connection can be used again; a longer answer ends it. */
const answerBytesMax = 64 * 1024

/** Least time between two warnings. */
const warnMs = 60_000

export interface SpanExporterOptions {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly resource: Resource
  readonly warn: (text: string) => void
  readonly nowMs: () => number
  readonly limits?: ExportLimits | undefined
}

/**
 * Sends spans by OTLP/HTTP, one request at a time, each span once: unsent ones are dropped and counted. No other work
 * waits for it.
 */
export class SpanExporter {
  readonly #options: SpanExporterOptions
  readonly #limits: ExportLimits
  readonly #client: Client
  readonly #path: string
  #waiting: string[] = []
  #timer: NodeJS.Timeout | undefined
  /** Undefined while no request is being sent. */
  #sending: Promise<void> | undefined
  #abort = new AbortController()
  #isClosing = false
  #isFailing = false
  /** Spans dropped since the last warning, and the cause of the last drop. */
  #dropped = 0
  #cause = ''
  #warnedMs = Number.NEGATIVE_INFINITY

  constructor(options: SpanExporterOptions) {
    const { origin, pathname, search } = new URL(options.endpoint)
    this.#options = options
    this.#limits = options.limits ?? limitsDefault
    // `#abort` limits the whole exchange, so undici's own time limits are off.
    this.#client = new Client(origin, { headersTimeout: 0, bodyTimeout: 0 })
    this.#path = pathname + search
  }

  /** Takes a span made by `renderSpan` (otlp.ts). */
  add(span: string): void {
    if (this.#isClosing) return
    if (this.#waiting.length >= waitingMax) return this.#drop(1, `more than ${waitingMax} wait to be sent`)
    this.#waiting.push(span)
    if (this.#sending !== undefined) return
    if (this.#waiting.length >= batchMax && !this.#isFailing) this.#begin()
    // The timer alone must not keep the process alive.
    else this.#timer ??= setTimeout(() => this.#begin(), this.#limits.delayMs).unref()
  }

  /** Sends waiting spans, and drops those that the collector does not take in time. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    const late = setTimeout(() => this.#abort.abort(), this.#limits.closeMsMax)
    await this.#sending
    await this.#send()
    clearTimeout(late)
    this.#warn()
    await this.#client.destroy()
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sending = this.#send().then(() => {
      this.#sending = undefined
      if (this.#waiting.length === 0 || this.#isClosing) return
      this.#timer = setTimeout(() => this.#begin(), this.#limits.delayMs).unref()
    })
  }

  /** Sends the spans that wait at the time of the call, until a request fails. Never rejects. */
  async #send(): Promise<void> {
    for (let left = this.#waiting.length; left > 0; left -= batchMax) {
      const batch = this.#waiting.splice(0, batchMax)
      const cause = await this.#post(renderBody(this.#options.resource, batch))
      this.#isFailing = cause !== undefined
      if (cause === undefined) continue
      this.#drop(batch.length, cause)
      if (!this.#isClosing) break
      // There is no later attempt.
      this.#drop(this.#waiting.splice(0).length, cause)
    }
    if (this.#options.nowMs() - this.#warnedMs >= warnMs) this.#warn()
  }

  /** Returns why the collector did not take the spans; undefined if it did. */
  async #post(body: string): Promise<string | undefined> {
    const { timeoutMs } = this.#limits
    const { signal } = this.#abort
    const late = setTimeout(() => this.#abort.abort(), timeoutMs)
    try {
      const headers = { 'content-type': 'application/json', ...this.#options.headers }
      const answer = await this.#client.request({ method: 'POST', path: this.#path, headers, body, signal })
      await answer.body.dump({ limit: answerBytesMax, signal })
      return answer.statusCode < 300 ? undefined : `the collector answered HTTP status ${answer.statusCode}`
    } catch (error) {
      if (signal.aborted) return 'the collector did not answer in time'
      return `the collector does not answer (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`
    } finally {
      clearTimeout(late)
      // A new one for the time limit of the next exchange.
      if (!this.#isClosing) this.#abort = new AbortController()
    }
  }

  #drop(count: number, cause: string): void {
    this.#dropped += count
    this.#cause = cause
  }

  #warn(): void {
    if (this.#dropped === 0) return
    const spans = this.#dropped === 1 ? 'a span of traces was' : `${this.#dropped} spans of traces were`
    this.#options.warn(`${spans} dropped: ${this.#cause}`)
    this.#dropped = 0
    this.#warnedMs = this.#options.nowMs()
  }
}
