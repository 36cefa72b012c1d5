/**
 * The JSON of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids in hex, 64-bit integers as
 * text. Attributes follow OpenTelemetry's semantic conventions of RPC and HTTP; others have the prefix `tidegate.`.
 */
import { redactText } from '../access/keyText.js'
import type { RequestLine, TraceContext } from '../transport/requestLog.js'

/** The sender of the spans. */
export interface Resource {
  readonly version: string
  /** Different for each thread that listens. */
  readonly instance: string
}

/** SPAN_KIND_SERVER */
const serverKind = 2
/** STATUS_CODE_ERROR */
const errorStatus = 2
/** Trace flags: sampled; known whether the parent is in another process; parent in another process. */
const flags = { sampled: 0x001, isRemoteKnown: 0x100, isRemote: 0x200 }

/**
 * The span of a request that ended at `endMicroseconds` since 1970. API keys are cut as in the log, because the client
 * chooses the id of a request.
 */
export function renderSpan(
  { traceId, spanId, parentId }: TraceContext,
  line: RequestLine,
  endMicroseconds: number,
): string {
  const { request, key, network, method, calls, status, units, microseconds } = line
  const isFault = status >= 500
  const span = {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    flags: flags.sampled | flags.isRemoteKnown | (parentId === undefined ? 0 : flags.isRemote),
    name: calls === undefined ? method : 'batch',
    kind: serverKind,
    startTimeUnixNano: `${endMicroseconds - microseconds}000`,
    endTimeUnixNano: `${endMicroseconds}000`,
    attributes: [
      attribute('rpc.system', 'jsonrpc'),
      attribute('rpc.method', method),
      attribute('http.response.status_code', status),
      attribute('tidegate.network', network),
      attribute('tidegate.key', key),
      attribute('tidegate.units', units),
      attribute('tidegate.request', request),
      ...(calls === undefined ? [] : [attribute('tidegate.calls', calls)]),
      ...(isFault ? [attribute('error.type', String(status))] : []),
    ],
    ...(isFault && { status: { code: errorStatus } }),
  }
  return redactText(JSON.stringify(span))
}

/** The body of a request to the collector. `spans` are results of {@link renderSpan}. */
export function renderBody({ version, instance }: Resource, spans: readonly string[]): string {
  const resource = JSON.stringify({
    attributes: [
      attribute('service.name', 'tidegate'),
      attribute('service.version', version),
      attribute('service.instance.id', instance),
    ],
  })
  const scopeSpans = `{"scope":{"name":"tidegate"},"spans":[${spans.join(',')}]}`
  return `{"resourceSpans":[{"resource":${resource},"scopeSpans":[${scopeSpans}]}]}`
}

function attribute(key: string, value: string | number) {
  return { key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }
}
