/**
 * Traces of requests, for an OpenTelemetry collector. Owns which requests are traced, the ids of their spans, and the
 * export (spanExporter.ts). Does not own the record of a request (transport/requestLog.ts). Loaded only if traces are
 * configured.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { OperatorError } from '../../primitives/faults.js'
import { readPrivateFile } from '../access/privateFile.js'
import type { RequestLine, RequestTracer, TraceContext } from '../transport/requestLog.js'
import { renderSpan } from './otlp.js'
import { type ExportLimits, SpanExporter } from './spanExporter.js'

/** A name of RFC 9110, section 5.1, and visible characters with spaces between. */
const linePattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/

/**
 * The headers in a file, one `name: value` a line, names in lower case. Throws OperatorError if others can read the
 * file or a line is no header; the message contains nothing of the file.
 */
function readHeadersFile(path: string): Record<string, string> {
  const text = readPrivateFile(path)?.toString('latin1')
  if (text === undefined) throw new OperatorError(`there is no file ${path}, which traces.headersFile names`)
  const headers: Record<string, string> = {}
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const [, name, value] = linePattern.exec(line) ?? []
    if (name === undefined || value === undefined) {
      throw new OperatorError(`${path}: line ${index + 1} is no header; write "name: value"`)
    }
    headers[name.toLowerCase()] = value
  }
  return headers
}

export interface TracerOptions {
  /** URL to which OTLP is posted. */
  readonly endpoint: string
  /** One in this many requests is traced; 0: only requests that belong to a client's trace. */
  readonly sample: number
  /** Most requests of one second that are traced because their client traces them. */
  readonly parentsPerSecond: number
  /** Headers of requests to the collector; see {@link readHeadersFile}. */
  readonly headersFile: string | undefined
  readonly version: string
  /** Reports dropped spans and the cause, at most once a minute. */
  readonly warn: (text: string) => void
  /** Clock that never goes back, in milliseconds. */
  readonly nowMs?: () => number
  readonly limits?: ExportLimits
}

export class Tracer implements RequestTracer {
  readonly #options: TracerOptions
  readonly #exporter: SpanExporter
  readonly #nowMs: () => number
  #second = 0
  /** Traces of clients in that second. */
  #parents = 0

  /** Throws OperatorError if the file of headers cannot be used. */
  constructor(options: TracerOptions) {
    const { endpoint, headersFile, version, warn, limits } = options
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
    const headers = headersFile === undefined ? {} : readHeadersFile(headersFile)
    const resource = { version, instance: randomUUID() }
    this.#exporter = new SpanExporter({ endpoint, headers, resource, warn, nowMs: this.#nowMs, limits })
  }

  begin(traceParent: string): TraceContext | undefined {
    const parent = traceParent === '' ? undefined : parseTraceParent(traceParent)
    if (parent === undefined) {
      const { sample } = this.#options
      if (sample === 0 || Math.random() * sample >= 1) return undefined
      return { traceId: randomHex(16), spanId: randomHex(8), parentId: undefined }
    }
    if (!parent.isSampled || !this.#mayContinue()) return undefined
    return { traceId: parent.traceId, spanId: randomHex(8), parentId: parent.spanId }
  }

  end(context: TraceContext, line: RequestLine): void {
    this.#exporter.add(renderSpan(context, line, nowMicroseconds()))
  }

  /** Sends waiting spans, for at most `closeMsMax`. */
  close(): Promise<void> {
    return this.#exporter.close()
  }

  #mayContinue(): boolean {
    const second = Math.floor(this.#nowMs() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#parents = 0
    }
    return ++this.#parents <= this.#options.parentsPerSecond
  }
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}

/** Version, trace id, parent id and flags; later versions may add parts (W3C Trace Context, section 3.2). */
const traceParentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const zeros = /^0+$/

/** The client's trace and span; undefined for an invalid header, as for a missing one. */
function parseTraceParent(
  header: string,
): { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean } | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = traceParentPattern.exec(header) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/**
 * Microseconds since 1970. The monotonic clock is finer than the system's; the system's clock replaces it if it was set
 * since the start of the process.
 */
function nowMicroseconds(): number {
  const fineMs = performance.timeOrigin + performance.now()
  const systemMs = Date.now()
  return Math.round((Math.abs(fineMs - systemMs) < 2 ? fineMs : systemMs) * 1_000)
}
