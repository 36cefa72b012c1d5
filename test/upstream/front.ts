/**
 * Simulates the systems between the program and a node: hosted endpoints, proxies, firewalls and pruned nodes. An HTTP
 * server forwards requests to the node, and changes requests and answers as these systems do.
 */
import { createServer, type IncomingHttpHeaders, request as open, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

export interface FrontCall {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

export interface FrontAnswer {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

export interface FrontRequest {
  readonly headers: IncomingHttpHeaders
  readonly path: string
  /** Calls of JSON-RPC; empty for the Beacon API. */
  readonly calls: readonly FrontCall[]
  /** Number of the request, from 1. */
  readonly serial: number
}

export interface FrontReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string | Buffer
  /** Sent at one byte a second. */
  readonly isSlow?: boolean
  /** Whether {@link body} contains everything, including the head; the connection ends with it. */
  readonly isWhole?: boolean
  /** Whether the connection ends without notice after the reply. */
  readonly isCut?: boolean
  /** Whether informational answers (1xx) come before it. */
  readonly isAnnounced?: boolean
}

/** Forwards the named calls, or all of them, and resolves to the node's reply. */
type Pass = (calls?: readonly FrontCall[]) => Promise<FrontReply>

/** The reply of a front to a request. */
export type Front = (request: FrontRequest, pass: Pass) => FrontReply | Promise<FrontReply>

/** Forwards all requests. */
export const passes: Front = (_request, pass) => pass()

export const text = (status: number, body: string, headers = {}): FrontReply => ({
  status,
  headers: { 'content-type': 'text/plain', ...headers },
  body,
})

export const json = (status: number, value: unknown): FrontReply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})

export const html = (status: number): FrontReply =>
  text(status, `<html><body><h1>${status}</h1></body></html>`, { 'content-type': 'text/html' })

export const rpcError = (code: number, message: string, id: unknown = null) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

/** Sends this reply to batches of more than `callsMax`. */
export const refusesBatches =
  (reply: FrontReply | ((calls: readonly FrontCall[]) => FrontReply), callsMax = 1): Front =>
  ({ calls }, pass) => {
    if (calls.length <= callsMax) return pass()
    return typeof reply === 'function' ? reply(calls) : reply
  }

/** Replaces the list of answers to a batch. */
export const changesBatches =
  (change: (answers: readonly FrontAnswer[]) => unknown): Front =>
  async ({ calls }, pass) => {
    const reply = await pass()
    return calls.length > 1 ? json(reply.status, change(JSON.parse(String(reply.body)))) : reply
  }

/** Replies with an HTTP status to every request that has a call of these methods. */
export const forbids =
  (methods: RegExp, reply: FrontReply): Front =>
  ({ calls }, pass) =>
    calls.some(({ method }) => methods.test(method)) ? reply : pass()

/** Sends its own answers to calls that `isMeant` selects. */
export const answers =
  (isMeant: (call: FrontCall) => boolean, answer: (call: FrontCall) => FrontAnswer): Front =>
  async ({ calls }, pass) => {
    if (!calls.some(isMeant)) return pass()
    const others = calls.filter((call) => !isMeant(call))
    const passed = others.length === 0 ? [] : [JSON.parse(String((await pass(others)).body))].flat()
    const own = calls.filter(isMeant).map((call) => ({ jsonrpc: '2.0', id: call.id, ...answer(call) }))
    const all = [...passed, ...own]
    return json(200, calls.length > 1 || all.length > 1 ? all : all[0])
  }

/** Sends this answer to the methods. */
export const answersMethods = (methods: RegExp, answer: FrontAnswer): Front =>
  answers(
    ({ method }) => methods.test(method),
    () => answer,
  )

/** One request in `every` gets this reply. */
export const sometimes =
  (every: number, reply: FrontReply): Front =>
  ({ serial }, pass) =>
    serial % every === 0 ? reply : pass()

/** Changes each reply of JSON. */
export const rewrites =
  (change: (body: string, reply: FrontReply) => string | Partial<FrontReply>): Front =>
  async (_request, pass) => {
    const reply = await pass()
    if (!/^[[{]/.test(String(reply.body))) return reply
    const changed = change(String(reply.body), reply)
    return { ...reply, ...(typeof changed === 'string' ? { body: changed } : changed) }
  }

/** Compresses every answer, even if the client does not accept it. */
export const packs: Front = async (_request, pass) => {
  const { status, headers, body } = await pass()
  return { status, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(body) }
}

/** The first handles the requests that it refuses, the second the rest. */
export const both =
  (first: Front, second: Front): Front =>
  (request, pass) =>
    first(request, async (calls = request.calls) => second({ ...request, calls }, () => pass(calls)))

/** Serves a front in front of the node at `url`, and returns its URL. */
export async function openFront(
  t: { teardown(close: () => unknown): void },
  url: string,
  front: Front,
): Promise<string> {
  let serial = 0
  const server = createServer(async (request, response) => {
    if (request.headers.upgrade !== undefined) return void response.writeHead(404).end()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const isBatch = body.startsWith('[')
    const calls: readonly FrontCall[] = body === '' ? [] : [JSON.parse(body)].flat()
    const pass: Pass = (some = calls) => {
      const sent = isBatch || some.length > 1 ? JSON.stringify(some) : JSON.stringify(some[0])
      return passOn(url, request.url ?? '/', request.headers, body === '' ? undefined : sent)
    }
    try {
      write(
        response,
        await front({ headers: request.headers, path: request.url ?? '/', calls, serial: ++serial }, pass),
      )
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function write(response: ServerResponse, reply: FrontReply): void {
  const { status, headers = {}, body, isSlow = false } = reply
  if (reply.isWhole === true) return void response.socket?.end(body)
  if (reply.isAnnounced === true) {
    response.writeProcessing()
    response.writeEarlyHints({ link: '</>; rel=preload' })
  }
  if (reply.isCut === true) response.on('finish', () => response.socket?.destroySoon())
  const { 'content-length': _, 'transfer-encoding': __, ...kept } = headers
  response.writeHead(status, { ...kept, 'content-length': Buffer.byteLength(body) })
  if (!isSlow) return void response.end(body)
  let at = 0
  const bytes = Buffer.from(body)
  const timer = setInterval(() => response.write(bytes.subarray(at, ++at)), 1_000)
  response.on('close', () => clearInterval(timer))
}

function passOn(
  url: string,
  path: string,
  { accept }: IncomingHttpHeaders,
  body: string | undefined,
): Promise<FrontReply> {
  const headers = { ...(accept !== undefined && { accept }), 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const asked = open(new URL(path, url), { method: body === undefined ? 'GET' : 'POST', headers })
    asked.on('error', reject)
    asked.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, body: Buffer.concat(chunks) })
      })
    })
    asked.end(body)
  })
}
