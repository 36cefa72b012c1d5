/** `dev`: writes the genesis of a developer chain if there is none, and serves it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { UsageError } from '../../primitives/faults.js'
import { makeFolder } from '../../primitives/files.js'
import { developGenesis } from '../../sources/ingest/develop/developGenesis.js'
import { addressOfKey, knownKeys, knownMnemonic } from '../../sources/ingest/develop/knownKeys.js'
import {
  devBalanceDefault,
  devChainIdDefault,
  isUpstreamUrl,
  knownAccountsDefault,
  type LogLevel,
  resolveDevConfig,
} from '../config/config.js'
import { serve } from '../process/serve.js'
import type { Io } from '../process/terminal.js'

const weiPerEther = 10n ** 18n

interface DevFlags {
  readonly port?: number | undefined
  readonly chainId?: number | undefined
  readonly accounts?: number | undefined
  /** In ether. */
  readonly balance?: number | undefined
  readonly blockTime?: number | undefined
  readonly noMining?: true | undefined
  /** URL, or URL@BLOCK. */
  readonly fork?: string | undefined
  readonly data?: string | undefined
  /** Path. */
  readonly config?: string | undefined
  readonly logLevel?: LogLevel | undefined
}

/** Settings of the first start, stored beside the genesis in the data folder. */
interface DevChain {
  /** Undefined for a fork with the chain id of its base. */
  readonly chainId?: number | undefined
  readonly accounts: number
  readonly balance: number
  /** Present for a fork. */
  readonly isFork?: true
}

/** Serves until stopped; resolves to the exit status. Throws UsageError if flags contradict each other or the folder. */
export async function dev(flags: DevFlags, io: Io): Promise<number> {
  const { data, blockTime, noMining = false, port, config: limitsFrom, logLevel } = flags
  if (blockTime !== undefined && noMining)
    throw new UsageError('--block-time and --no-mining exclude each other; leave one out')
  const dataDir = data === undefined ? mkdtempSync(join(tmpdir(), 'tidegate-dev-')) : resolve(data)
  const remove = () => {
    if (data === undefined) rmSync(dataDir, { recursive: true, force: true })
  }
  // A second signal ends the process at once.
  process.once('exit', remove)
  try {
    makeFolder(dataDir)
    const fork = flags.fork === undefined ? undefined : forkOf(flags.fork)
    const chain = openChain(dataDir, flags)
    for (const line of introLines(chain)) io.out(line)
    const config = resolveDevConfig({
      port,
      limitsFrom,
      logLevel,
      dataDir,
      genesis: join(dataDir, 'genesis.json'),
      fork: fork && { ...fork, chainId: chain.chainId, balance: String(BigInt(chain.balance) * weiPerEther) },
      accounts: chain.accounts,
      blockSeconds: blockTime ?? 0,
      mining: !noMining,
    })
    return await serve(config, () => config, io)
  } finally {
    process.off('exit', remove)
    remove()
  }
}

/** The chain of a data folder; a new one gets its genesis. */
function openChain(dataDir: string, given: DevFlags): DevChain {
  const path = join(dataDir, 'dev.json')
  const stored = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as DevChain) : undefined
  const isFork = given.fork !== undefined
  if (stored !== undefined && isFork !== (stored.isFork === true)) {
    throw new UsageError(
      isFork
        ? `the chain in ${dataDir} is no fork; leave --fork out, or name another folder`
        : `the chain in ${dataDir} is a fork; name a node of its base with --fork URL`,
    )
  }
  const {
    chainId = stored === undefined && !isFork ? devChainIdDefault : stored?.chainId,
    accounts = stored?.accounts ?? knownAccountsDefault,
    balance = stored?.balance ?? devBalanceDefault,
  } = given
  const chain: DevChain = { chainId, accounts, balance, ...(isFork && { isFork }) }
  if (stored === undefined) {
    if (chainId === undefined || isFork) {
      writeFileSync(path, `${JSON.stringify(chain)}\n`)
      return chain
    }
    const addresses = knownKeys(accounts).map(addressOfKey)
    writeFileSync(join(dataDir, 'genesis.json'), developGenesis({ chainId, addresses, balance }))
    writeFileSync(path, `${JSON.stringify(chain)}\n`)
    return chain
  }
  for (const name of ['chainId', 'accounts', 'balance'] as const) {
    if (chain[name] === stored[name]) continue
    const flag = name === 'chainId' ? 'chain-id' : name
    throw new UsageError(
      `the chain in ${dataDir} was begun with --${flag} ${stored[name]}; leave --${flag} out, or name another folder`,
    )
  }
  return chain
}

/** The node and the block of `--fork`. Throws UsageError. */
function forkOf(text: string): { readonly url: string; readonly block: number | undefined } {
  const [, url = text, digits] = /^(.*)@(\d+)$/.exec(text) ?? []
  const block = digits === undefined ? undefined : Number(digits)
  if (!isUpstreamUrl(url) || !Number.isSafeInteger(block ?? 0))
    throw new UsageError('--fork: expected a URL of http, https, ws or wss, or URL@BLOCK with a number')
  return { url, block }
}

function introLines({ chainId, isFork }: DevChain): string[] {
  const id = chainId === undefined ? 'the chain id of its base' : `chain id ${chainId}`
  const kind = isFork ? 'on a block of another chain, with' : 'with'
  return [
    `A developer chain ${kind} ${id}. Its accounts are those of a mnemonic that all the world knows: send`,
    'nothing of value to them.',
    '',
    `Mnemonic: ${knownMnemonic}`,
    "Derivation path: m/44'/60'/0'/0/",
    '',
  ]
}
