import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

/** The parts of an OTLP span that tests look at. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status?: { readonly code: number }
}

export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}

export interface Received {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Collector {
  readonly endpoint: string
  readonly received: readonly Received[]
  /** Spans of all requests so far. */
  spans(): ReceivedSpan[]
  close(): Promise<void>
}

/** A collector of OTLP/HTTP on a free port of the loopback address; `answer` is called once a body has arrived. */
export async function startCollector(
  t: Test,
  answer: (response: ServerResponse) => void = (response) => response.end('{}'),
): Promise<Collector> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    received.push({ path: request.url, headers: request.headers, body })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  t.teardown(close)
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}/v1/traces`,
    received,
    spans: () =>
      received.flatMap(({ body }) => {
        const { resourceSpans } = JSON.parse(body)
        return resourceSpans.flatMap((resource: { scopeSpans: { spans: ReceivedSpan[] }[] }) =>
          resource.scopeSpans.flatMap(({ spans }) => spans),
        )
      }),
    close,
  }
}

/** The attributes of a span or a resource by their keys. */
export function attributesOf({ attributes }: { readonly attributes: readonly Attribute[] }) {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  )
}
