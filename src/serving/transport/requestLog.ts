/**
 * Records of requests: log lines, for all at level debug or for a sample, and spans of traces. Owns which requests are
 * logged, their ids, and the content of a record; the tracer owns which are traced. Without logging and tracing, a
 * request pays for one comparison.
 */
import { randomUUID } from 'node:crypto'
import type { Fault } from '../../primitives/faults.js'
import type { Answer } from '../rpc/answers/answer.js'
import { RequestContext } from '../rpc/contexts/requestContext.js'
import type { Endpoint } from '../rpc/dispatch/endpoint.js'
import type { Route } from './admission.js'
import type { ExtraHeaders } from './wire.js'

/** The record of a request. It contains no text of the client except the id, which {@link readRequestId} checked. */
export interface RequestLine {
  readonly request: string
  readonly key: string
  readonly network: string
  /** The method; of a batch the first one. `other` for an unknown method, or if the body is too long to be parsed. */
  readonly method: string
  /** Calls of a batch; undefined for a single call. */
  readonly calls: number | undefined
  readonly status: number
  /** Compute units spent; 0 if nothing is counted. */
  readonly units: number
  /** Time from the end of the body to the answer, whose sending may take longer. */
  readonly microseconds: number
  /** Id of the trace that the request is in. */
  readonly trace?: string
}

/** Identifies a span (W3C Trace Context): ids of 16 and 8 bytes in hex. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  /** The client's span; undefined if the trace begins here. */
  readonly parentId: string | undefined
}

/** Chooses the requests that are traced, and takes their records. Never throws. */
export interface RequestTracer {
  /** `traceParent` is the client's header as written, empty for none. If undefined, the request is not traced. */
  begin(traceParent: string): TraceContext | undefined
  end(context: TraceContext, line: RequestLine): void
}

export interface RequestLogOptions {
  readonly routes: readonly Pick<Route, 'name' | 'endpoint'>[]
  readonly methods: ReadonlySet<string>
  readonly settings: RequestLogSettings
  write(line: RequestLine, isSampled: boolean): void
  /** Traces requests; if absent, nothing is traced. */
  readonly tracer?: RequestTracer | undefined
}

/** Settings that may change while the server runs. */
export interface RequestLogSettings {
  /** One in this many requests is logged at any level; 0: none. */
  readonly sample: number
  /** Whether the log level includes all requests. */
  readonly isAll: boolean
}

/** Maximum length of a body that is parsed for its method names: about 0.3 ms. */
const readBytesMax = 64 * 1024

export class RequestLog {
  readonly #options: RequestLogOptions
  #settings: RequestLogSettings
  #isPaused = false
  #isOff: boolean

  constructor(options: RequestLogOptions) {
    this.#options = options
    this.#settings = options.settings
    this.#isOff = this.#findOff()
  }

  configure(settings: RequestLogSettings): void {
    this.#settings = settings
    this.#isOff = this.#findOff()
  }

  /** While paused, requests are neither logged nor traced. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused
    this.#isOff = this.#findOff()
  }

  #findOff(): boolean {
    const { sample, isAll } = this.#settings
    if (this.#isPaused) return true
    return sample === 0 && !isAll && this.#options.tracer === undefined
  }

  /** An endpoint that records one request; undefined if it is not recorded. Ids are the client's, empty for none. */
  watch(endpoint: Endpoint, requestId = '', traceParent = ''): WatchedEndpoint | undefined {
    if (this.#isOff) return undefined
    const { sample, isAll } = this.#settings
    const { routes, methods, tracer } = this.#options
    const isSampled = sample > 0 && Math.random() * sample < 1
    const isLogged = isSampled || isAll
    const trace = tracer?.begin(traceParent)
    if (!isLogged && trace === undefined) return undefined
    const network = routes.find((route) => route.endpoint === endpoint)?.name ?? ''
    const write = (line: RequestLine) => {
      if (isLogged) this.#options.write(trace ? { ...line, trace: trace.traceId } : line, isSampled)
      if (trace) tracer?.end(trace, line)
    }
    return new WatchedEndpoint(endpoint, network, requestId || randomUUID(), methods, write)
  }
}

/** Passes one request to an endpoint and records it. */
class WatchedEndpoint implements Endpoint {
  constructor(
    readonly endpoint: Endpoint,
    readonly network: string,
    readonly requestId: string,
    readonly methods: ReadonlySet<string>,
    readonly write: (line: RequestLine) => void,
  ) {}

  handle(
    body: Uint8Array,
    context: RequestContext = new RequestContext(),
    at?: string,
    ownsBody?: boolean,
  ): Answer | Promise<Answer> {
    const asked = this.#read(body)
    const startedMs = performance.now()
    const record = ({ status }: Answer) =>
      this.write({
        request: this.requestId,
        key: context.keyId,
        network: this.network,
        ...asked,
        status,
        units: context.spentUnits,
        microseconds: Math.round((performance.now() - startedMs) * 1_000),
      })
    const answer = this.endpoint.handle(body, context, at, ownsBody)
    if (answer instanceof Promise) void answer.then(record)
    else record(answer)
    return answer
  }

  refuse(body: Uint8Array, fault: Fault, context?: RequestContext): Answer {
    return this.endpoint.refuse(body, fault, context)
  }

  #read(body: Uint8Array): Pick<RequestLine, 'method' | 'calls'> {
    let calls: unknown
    try {
      if (body.length <= readBytesMax) calls = JSON.parse(Buffer.from(body).toString('utf8'))
    } catch {
      // The answer reports the error.
    }
    const [first, count] = Array.isArray(calls) ? [calls[0], calls.length] : [calls, undefined]
    const name: unknown = first?.method
    return { method: typeof name === 'string' && this.methods.has(name) ? name : 'other', calls: count }
  }
}

const requestIdPattern = /^[\w.:/+=@~-]{1,128}$/

/** The client's X-Request-Id; empty if absent, or if it could do harm in a log or in a header. */
export function readRequestId(header: string): string {
  return header !== '' && requestIdPattern.test(header) ? header : ''
}

/** `headers`, plus the request's id if it has one. */
export function withRequestId(headers: ExtraHeaders, requestId: string): ExtraHeaders {
  return requestId === '' ? headers : [...headers, ['x-request-id', requestId]]
}
