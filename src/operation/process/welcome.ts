import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toChecksumAddress } from '../../primitives/addresses.js'
import { bytesToHex, toAddress } from '../../primitives/bytes.js'
import { packageRoot } from '../../primitives/packageRoot.js'
import { httpOrigin } from '../../primitives/urls.js'
import { version } from '../../primitives/version.js'
import { addressOfKey } from '../../sources/ingest/develop/knownKeys.js'
import { signingKeys } from '../../sources/ingest/develop/signer.js'
import type { Config, NetworkConfig, RollupConfig } from '../config/config.js'
import type { OpenNetwork } from '../edge/openNetwork.js'
import type { OpenRollup } from './openRollup.js'

/** A newcomer's access. `open`: no key is needed. `unknown`: keys exist, but their texts are not stored. */
export type DemoAccess =
  | { readonly kind: 'open' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'key'; readonly text: string; readonly isNew: boolean }

interface DemoExamples {
  readonly accounts: readonly {
    readonly name: string
    readonly address: string
    readonly privateKey: string
  }[]
  readonly transactions: readonly { readonly hash: string; readonly label: string }[]
  readonly slots: readonly {
    readonly address: string
    readonly slot: string
    readonly label: string
    readonly contract: string
  }[]
}

/** URLs of a network over HTTP and WebSocket, with a key if keys are needed. */
export function networkUrls(config: Config, port: number, network: string, key: string | undefined) {
  const origin = httpOrigin(config.host, port, config.tls !== undefined)
  const prefix = origin + (network === config.defaultNetwork ? '' : `/${network}`)
  const suffix = key === undefined ? '' : `/v3/${key}`
  return { url: `${prefix}${suffix || '/'}`, socketUrl: `${prefix.replace(/^http/, 'ws')}/ws${suffix}` }
}

export interface Welcome {
  readonly networks: readonly OpenNetwork[]
  readonly rollups: readonly OpenRollup[]
  readonly port: number
  readonly demo: DemoAccess
  /** Address of the dashboard; undefined if there is none. */
  readonly adminUrl: string | undefined
  /** A note for the operator about the transport. */
  readonly note: string | undefined
}

/** The line that `serve` prints before it opens anything, which takes a while if blocks are imported first. */
export function openingLine({ networks, rollups }: Config): string {
  const names = [...networks, ...rollups].map(({ name }) => name)
  return `Tidegate ${version} opens ${names.join(', ')} …`
}

/** Lines that `serve` prints once it listens: the networks, their addresses, the dashboard's, and requests to copy. */
export function welcomeLines(
  config: Config,
  { networks, rollups, port, demo, adminUrl, note }: Welcome,
): string[] {
  const origin = httpOrigin(config.host, port, config.tls !== undefined)
  const secret = demo.kind === 'key' ? demo.text : 'YOUR_API_KEY'
  const urlsOf = (network: string) =>
    networkUrls(config, port, network, demo.kind === 'open' ? undefined : secret)
  const lines = [`Tidegate listens on ${origin}`]
  for (const network of networks) {
    const { name } = network
    const { url, socketUrl } = urlsOf(name)
    lines.push(`  ${name}: ${stateOf(network)}, ${url}`, `  ${' '.repeat(name.length)}  ${socketUrl}`)
  }
  for (const { name, network } of rollups)
    lines.push(`  ${name}: rollup submissions, chain id ${network.chainId}, ${urlsOf(name).url}`)
  for (const network of config.networks) {
    const open = networks.find(({ name }) => name === network.name)
    for (const line of developerLines(network, open)) lines.push(line)
  }
  if (demo.kind === 'unknown') {
    lines.push(
      'Keys exist already and only their hashes are stored; make another with: tidegate keys create --name NAME',
    )
  }
  if (demo.kind === 'key' && demo.isNew)
    lines.push('Made the API key "demo" for you; it is in the addresses above and below.')
  const pages = { '': 'Web pages get no answers', localhost: 'Only web pages of this machine get answers' }
  const limited = pages[config.cors.origins.join() as keyof typeof pages]
  if (limited !== undefined) lines.push(`${limited}; --cors ORIGIN lets those of an origin call.`)
  if (adminUrl !== undefined) {
    lines.push(`The dashboard is at ${adminUrl}/; its token is in ${config.node.adminToken}`)
  }
  if (note !== undefined) lines.push('', `Note: ${note}.`)
  lines.push('', 'Try it:')
  for (const { network, method, params } of exampleCalls(config)) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    lines.push(`  curl -s ${urlsOf(network).url} -H 'Content-Type: application/json' -d '${body}'`)
  }
  return lines
}

function stateOf(network: OpenNetwork): string {
  if (network.opening !== undefined) return 'no block yet'
  const { identity, head } = network.current.chain
  return `chain id ${identity.chainId}, head ${head.number}`
}

/** Accounts of a developer chain that are printed: as many as anvil has. */
const accountsShown = 10

/** Description of a chain whose blocks are made here, and the accounts that it signs for. */
function developerLines({ name, source }: NetworkConfig, open: OpenNetwork | undefined): string[] {
  if (source?.type !== 'develop') return []
  const { blockSeconds } = source
  const when = blockSeconds === 0 ? 'for each' : `every ${blockSeconds} s`
  const made = `${name} is a developer chain: it takes transactions, and makes a block ${when}.`
  const accounts =
    open === undefined || open.opening !== undefined ? [] : richAccounts(open.current, source.accounts)
  if (accounts.length === 0) return [made]
  const names = new Map(readExamples().accounts.map(({ name, address }) => [address.toLowerCase(), name]))
  return [
    `${made} Accounts with ether, whose keys all the world knows:`,
    ...accounts.map(({ address, key, ether }) => {
      const name = names.get(bytesToHex(address))
      const named = name === undefined ? '' : `${name}: `
      return `  ${named}${toChecksumAddress(address)} (${ether} ETH), secret key ${bytesToHex(key)}`
    }),
  ]
}

/** The accounts with known keys that have ether at the head. */
function richAccounts({ head, state }: OpenNetwork['current'], count: number) {
  const accounts = signingKeys(count).flatMap((key) => {
    const address = toAddress(addressOfKey(key))
    const balance = state.readAccount(head, address)?.balance ?? 0n
    const ether = balance < 10n ** 18n ? 'less than 1' : String(balance / 10n ** 18n)
    return balance === 0n ? [] : [{ address, key, ether }]
  })
  return accounts.slice(0, accountsShown)
}

interface ExampleCall {
  readonly network: string
  readonly method: string
  readonly params: unknown
}

function exampleCalls(config: Config): ExampleCall[] {
  const archive = config.networks.find(({ name }) => name === config.defaultNetwork)
  return [...(archive ? readCalls(archive) : []), ...config.rollups.flatMap(submissionCalls)]
}

function readCalls({ name: network, isEmbedded }: NetworkConfig): ExampleCall[] {
  const general = [
    { network, method: 'eth_blockNumber', params: [] },
    { network, method: 'eth_getBlockByNumber', params: ['latest', false] },
  ]
  const slot = isEmbedded ? readExamples().slots[0] : undefined
  if (slot === undefined) return general
  return [...general, { network, method: 'eth_getStorageAt', params: [slot.address, slot.slot, 'latest'] }]
}

/** A transaction for the embedded rollup, which executes none; for other rollups only a read. */
function submissionCalls({ name: network, prefix, isEmbedded }: RollupConfig): ExampleCall[] {
  if (!isEmbedded) return [{ network, method: `${prefix}_chainId`, params: [] }]
  const transaction = {
    type: 'INVOKE',
    version: '0x3',
    sender_address: '0x71de',
    nonce: '0x0',
    calldata: ['0x1', '0x2'],
    signature: ['1', '2'],
    resource_bounds: { l1_gas: '0x28ed6103d0000', l2_gas: '0x28ed6103d0000' },
    tip: '0x0',
    paymaster_data: [],
    account_deployment_data: [],
    nonce_data_availability_mode: 'L1',
    fee_data_availability_mode: 'L1',
  }
  return [{ network, method: `${prefix}_addInvokeTransaction`, params: { invoke_transaction: transaction } }]
}

/** Example data of the demo network: a token, a slot and a variable of it, a transaction with logs. */
export function demoExample() {
  const { slots, transactions } = readExamples()
  const { address: contract, slot } = slots.find(
    (entry) => entry.contract === 'Tide',
  ) as DemoExamples['slots'][number]
  const { hash } = transactions.find(({ label }) => label === 'every number of topics') as { hash: string }
  return { transaction: hash, contract, slot, variable: 'totalSupply' }
}

function readExamples(): DemoExamples {
  return JSON.parse(readFileSync(join(packageRoot(), 'data/devnet/examples.json'), 'utf8')) as DemoExamples
}
