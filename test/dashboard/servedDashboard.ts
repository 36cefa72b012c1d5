/** The program with its dashboard, an operator who logs in, and callers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { waitFor } from '../library/until.js'
import type { Visit } from '../service/browser.js'
import { writeConfig } from '../service/program.js'
import { serveDemo } from '../service/servedDemo.js'
import type { Service } from '../service/service.js'

/** The data of a server that an operator knows. */
export interface Dashboard {
  readonly service: Service
  /** URL of the admin listener. */
  readonly url: string
  readonly token: string
  /** The API key that the first start made. */
  readonly key: string
}

export interface Served extends Dashboard {
  /** Writes the configuration with this port of the admin listener; its path. */
  config(port: number): string
}

/** Serves the demo chain, and a rollup; callers need keys. */
export async function serve(t: Test): Promise<Served> {
  const networks = [{ name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA', prefix: 'starknet' }]
  const { service, folder, dataDir, config: path } = await serveDemo(t, { networks, admin: { port: 0 } }, [])
  const config = (port: number) =>
    writeConfig(folder, { ...JSON.parse(readFileSync(path, 'utf8')), admin: { port } })
  return { ...(await dashboardOf(service, dataDir)), config }
}

/** A server's own address of its dashboard. */
export async function dashboardOf(service: Service, dataDir: string): Promise<Dashboard> {
  const found = () => service.lines.flatMap((line) => /dashboard is at (\S+);/.exec(line)?.[1] ?? [])[0]
  const url = await waitFor('the address of the dashboard', found)
  const key = /\/v3\/(tg_\w+)/.exec(service.lines.join('\n'))?.[1] ?? ''
  return { service, url, key, token: readFileSync(join(dataDir, 'node/admin-token'), 'latin1') }
}

export async function logIn(visit: Visit, token: string): Promise<void> {
  await visit.fill('textbox', 'Admin token', token)
  await visit.click('button', 'Log in')
  await visit.see('Tidegate', 'header')
}

/** Opens a view, on narrow screens by the menu. */
export async function choose(visit: Visit, view: string): Promise<void> {
  const isNarrow = await visit.page.evaluate('innerWidth <= 640')
  if (isNarrow) await visit.click('button', 'Menu')
  await visit.click('link', view)
}

type Calls = readonly (readonly [method: string, params: readonly unknown[]])[]

const someAddress = `0x${'0'.repeat(40)}`
/** Calls that succeed, fail and wait for the pool. */
const someCalls: Calls = [
  ['eth_getBalance', [someAddress, 'latest']],
  ['eth_getBalance', []],
  ['eth_getProof', [someAddress, [], 'latest']],
]

/** Makes calls repeatedly, one after the other; the returned function ends them. */
export function load(
  { service, key }: Pick<Dashboard, 'service' | 'key'>,
  calls: Calls = someCalls,
): () => Promise<void> {
  let isEnded = false
  const bodies = calls.map(([method, params]) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  const ended = (async () => {
    while (!isEnded) {
      for (const body of bodies) await service.post(`/v3/${key}`, body)
      // The cores are the browser's.
      await pause(20)
    }
  })()
  return () => {
    isEnded = true
    return ended
  }
}
