/** A node under a consensus client: starts it, and calls its Engine API as such a client does. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { tokenOf } from '../library/engineToken.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import { post } from './httpClient.js'
import { type RpcAnswer, type Service, startService } from './service.js'

export interface EngineNode {
  readonly service: Service
  /** URL of the listener for the consensus client. */
  readonly url: string
  /** File of the secret. */
  readonly jwt: string
  /** A right token. */
  tokenNow(): string
  /** Calls a method of the listener with a right token. */
  call(method: string, params?: readonly unknown[]): Promise<RpcAnswer>
  /** Sends a body with this `Authorization`; if undefined, with a right one. */
  send(
    body: string,
    authorization?: string | null,
  ): Promise<{ readonly status: number; readonly text: string }>
}

interface EngineFlags {
  /** Path of the genesis; if absent, the store of the folder has one. */
  readonly genesis?: string
  /** Data folder; if absent, a new one. */
  readonly data?: string
  /** Port of the listener; a free one if absent. */
  readonly port?: number
  /** File of the secret; if absent, a new one. */
  readonly jwt?: string
  /** More flags of `serve`. */
  readonly flags?: readonly string[]
}

/** Starts a node with the network `engine` on free ports. It stops when the test ends. */
export async function startEngine(
  t: Test,
  { genesis, data, port = 0, flags = [], ...given }: EngineFlags,
): Promise<EngineNode> {
  const folder = makeFolder(t)
  const jwt = given.jwt ?? writeInto(folder, 'jwt.hex', randomBytes(32).toString('hex'))
  const secret = Buffer.from(readFileSync(jwt, 'utf8'), 'hex')
  const named = genesis === undefined ? [] : ['--genesis', genesis]
  const place = ['--data', data ?? join(folder, 'data'), '--network', 'engine', '--admin-port', '0']
  const listener = ['--engine-port', String(port), '--jwt-secret', jwt, '--no-auth']
  const service = await startService([...place, ...named, ...listener, ...flags])
  t.teardown(() => service.stop())
  const url = await waitFor(
    'the listener of the consensus client',
    () => /may call (http:\S+?)"/.exec(service.said.err)?.[1],
  )
  const tokenNow = () => tokenOf(secret, { iat: Math.floor(Date.now() / 1_000) })
  const send: EngineNode['send'] = async (body, authorization) => {
    const given = authorization === undefined ? `Bearer ${tokenNow()}` : authorization
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (given !== null) headers.authorization = given
    const { status, text } = await post(url, body, headers)
    return { status, text }
  }
  return {
    service,
    url,
    jwt,
    tokenNow,
    send,
    async call(method, params = []) {
      const { text } = await send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      return JSON.parse(text) as RpcAnswer
    },
  }
}
