import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, packageRoot } from '../config.js'
import type { OpenNetwork } from './openNetwork.js'

/** How a newcomer gets in. `open`: no keys asked for. `unknown`: keys exist, and their texts are nowhere kept. */
export type DemoAccess =
  | { readonly kind: 'open' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'key'; readonly text: string; readonly isNew: boolean }

interface DemoSights {
  readonly slots: readonly {
    readonly address: string
    readonly slot: string
    readonly label: string
    readonly contract: string
  }[]
}

/** What `serve` says once it listens: the networks, their addresses, and requests to paste. */
export function welcomeLines(
  config: Config,
  networks: readonly OpenNetwork[],
  port: number,
  demo: DemoAccess,
): string[] {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const origin = `http://${host}:${port}`
  const socketOrigin = `ws://${host}:${port}`
  const secret = demo.kind === 'key' ? demo.text : 'YOUR_API_KEY'
  const path = (network: string) => {
    const prefix = network === config.defaultNetwork ? '' : `/${network}`
    return demo.kind === 'open' ? `${origin}${prefix}/` : `${origin}${prefix}/v3/${secret}`
  }
  const socketPath = (network: string) => {
    const prefix = network === config.defaultNetwork ? '' : `/${network}`
    return demo.kind === 'open' ? `${socketOrigin}${prefix}/ws` : `${socketOrigin}${prefix}/ws/v3/${secret}`
  }
  const lines = [`Tidegate listens on ${origin}`]
  for (const { name, current } of networks) {
    const { identity, head } = current.chain
    lines.push(`  ${name}: chain id ${identity.chainId}, head ${head.number}, ${path(name)}`)
    lines.push(`  ${' '.repeat(name.length)}  ${socketPath(name)}`)
  }
  if (demo.kind === 'unknown') {
    lines.push(
      'Keys exist already and only their hashes are stored; make another with: tidegate keys create --name NAME',
    )
  }
  if (demo.kind === 'key' && demo.isNew)
    lines.push('Made the API key "demo" for you; it is in the addresses above and below.')
  lines.push('', 'Try it:')
  for (const { method, params } of exampleCalls(config)) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    lines.push(`  curl -s ${path(config.defaultNetwork)} -H 'Content-Type: application/json' -d '${body}'`)
  }
  return lines
}

function exampleCalls(config: Config): { method: string; params: unknown[] }[] {
  const general = [
    { method: 'eth_blockNumber', params: [] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ]
  const isDemo = config.networks.find(({ name }) => name === config.defaultNetwork)?.isEmbedded === true
  const slot = isDemo ? readSights().slots[0] : undefined
  if (slot === undefined) return general
  return [...general, { method: 'eth_getStorageAt', params: [slot.address, slot.slot, 'latest'] }]
}

function readSights(): DemoSights {
  return JSON.parse(readFileSync(join(packageRoot(), 'data/devnet/sights.json'), 'utf8')) as DemoSights
}
