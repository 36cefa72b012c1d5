import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '../library/until.js'
import { get as getOnce } from './httpClient.js'
import type { Service } from './service.js'

/** A client of a service's admin listener, with its token. */
export interface Admin {
  readonly origin: string
  readonly token: string
  get(path: string, init?: RequestInit): Promise<{ status: number; text: string; headers: Headers }>
  /** The metrics: name and labels → value. */
  metrics(): Promise<Map<string, number>>
}

export async function adminOf(service: Service, dataDir: string): Promise<Admin> {
  const origin = await waitFor(
    'the admin listener',
    () => /"admin":"(http:[^"]+)"/.exec(service.said.err)?.[1],
  )
  const token = readFileSync(join(dataDir, 'node/admin-token'), 'latin1')
  const get: Admin['get'] = async (path, init = {}) => {
    const given = (init.headers ?? { authorization: `Bearer ${token}` }) as Readonly<Record<string, string>>
    // The listener ends a connection that rests for some seconds, which a busy machine can see too late.
    const headers = { connection: 'close', ...given }
    const response = await fetch(origin + path, { ...init, headers })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  const metrics = async () => {
    const { text } = await getOnce(`${origin}/metrics`, { authorization: `Bearer ${token}` })
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
    )
  }
  return { origin, token, get, metrics }
}
