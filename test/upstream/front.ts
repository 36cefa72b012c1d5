/**
 * What stands between the program and a node in the world: an HTTP server that passes requests on to the node, and makes
 * of them and of the answers what hosted endpoints, proxies, firewalls and pruned nodes make of them.
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
  /** Of JSON-RPC; none of the Beacon API. */
  readonly calls: readonly FrontCall[]
  /** Counts requests, from 1. */
  readonly serial: number
}

export interface FrontReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string | Buffer
  /** One byte a second. */
  readonly isSlow?: boolean
  /** Whether all of it, the head too, is in {@link body}; the connection ends with it. */
  readonly isWhole?: boolean
  /** Whether the connection ends after it, though nothing said so. */
  readonly isCut?: boolean
  /** Whether informational answers (1xx) come before it. */
  readonly isAnnounced?: boolean
}

/** Passes calls on, all of them where none are named, and resolves to what the node replies. */
type Pass = (calls?: readonly FrontCall[]) => Promise<FrontReply>

/** What a front replies to a request. */
export type Front = (request: FrontRequest, pass: Pass) => FrontReply | Promise<FrontReply>

/** Passes everything on. */
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

/** Replies this to batches of more than `callsMax`. */
export const refusesBatches =
  (reply: FrontReply | ((calls: readonly FrontCall[]) => FrontReply), callsMax = 1): Front =>
  ({ calls }, pass) => {
    if (calls.length <= callsMax) return pass()
    return typeof reply === 'function' ? reply(calls) : reply
  }

/** Makes something else of the list of answers to a batch. */
export const changesBatches =
  (change: (answers: readonly FrontAnswer[]) => unknown): Front =>
  async ({ calls }, pass) => {
    const reply = await pass()
    return calls.length > 1 ? json(reply.status, change(JSON.parse(String(reply.body)))) : reply
  }

/** Refuses every request that has a call of these methods with an HTTP status. */
export const forbids =
  (methods: RegExp, reply: FrontReply): Front =>
  ({ calls }, pass) =>
    calls.some(({ method }) => methods.test(method)) ? reply : pass()

/** Answers calls that `isMeant` in its own way. */
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

/** Answers methods so. */
export const answersMethods = (methods: RegExp, answer: FrontAnswer): Front =>
  answers(
    ({ method }) => methods.test(method),
    () => answer,
  )

/** One request of so many gets this reply. */
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

/** Packs every answer, whoever asks. */
export const packs: Front = async (_request, pass) => {
  const { status, headers, body } = await pass()
  return { status, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(body) }
}

/** The first counts for what it refuses, the others for the rest. */
export const both =
  (first: Front, second: Front): Front =>
  (request, pass) =>
    first(request, async (calls = request.calls) => second({ ...request, calls }, () => pass(calls)))

/** Serves a front before the node at `url`, and returns its URL. */
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
