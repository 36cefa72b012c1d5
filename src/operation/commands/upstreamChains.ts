/**
 * The networks that `--upstream` without `--network` makes: one for each chain id that the nodes report, under its
 * common name. The reports are stored, so that a network keeps its name while its nodes are away.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { networkOf } from '../../data/chain/knownNetworks.js'
import { storeKindOf } from '../../data/store/chainRows.js'
import { readStoredIdentity } from '../../data/store/manifest.js'
import { bytesToHex } from '../../primitives/bytes.js'
import { isThere, makeFolder } from '../../primitives/files.js'
import { keccak256 } from '../../primitives/keccak.js'
import { askChainId } from '../../sources/upstream/askChain.js'
import { Upstream, type UpstreamOptions } from '../../sources/upstream/upstream.js'
import {
  type Config,
  type GatewayConfig,
  type NetworkConfig,
  storePath,
  type UpstreamChain,
} from '../config/config.js'
import { createLog } from '../edge/log.js'

/** Wait before a node that gave no answer is asked again. */
const retryMs = 200

/** Chain ids by the hash of a URL, which may contain a key. */
const knownFile = z.record(z.string(), z.strictObject({ chainId: z.int(), name: z.string() }))
type KnownChains = z.infer<typeof knownFile>

/**
 * Asks the upstreams of the one network of `config` for their chain ids, for at most `limits.startMsMax`. A node that
 * never answered counts as one of the first chain until the next start. Returns undefined if no node ever reported its
 * chain.
 */
export async function upstreamChains(config: Config): Promise<UpstreamChain[] | undefined> {
  const { node, limits, networks } = config
  const { upstreams } = (networks[0] as NetworkConfig).gateway as GatewayConfig
  const known = readKnown(node.upstreams)
  const deadline = performance.now() + limits.startMsMax
  const asked = upstreams.map(async (options) => {
    const earlier = known[keyOf(options)]?.chainId
    return (await chainIdOf(options, deadline, earlier === undefined)) ?? earlier
  })
  const ids = await Promise.all(asked)
  const [first, ...others] = new Set(ids.filter((id) => id !== undefined))
  if (first === undefined) return undefined
  const log = createLog(config)
  const chains = [first, ...others].map((chainId) => {
    const earlier = Object.values(known).find((each) => each.chainId === chainId)
    const name = earlier?.name ?? nameOf(chainId, config)
    const own = upstreams.filter((_, at) => (ids[at] ?? first) === chainId)
    return { name, chainId, blockMs: networkOf(chainId)?.blockMs, urls: own.map(({ url }) => url) }
  })
  for (const [at, options] of upstreams.entries()) {
    const chain = chains.find(({ chainId }) => chainId === ids[at])
    if (chain !== undefined) known[keyOf(options)] = { chainId: chain.chainId, name: chain.name }
    else {
      const host = new URL(options.url).host
      const what = `upstream ${host} does not say which chain it has; until the next start it counts as one of this network`
      log.warn({ network: chains[0]?.name }, what)
    }
  }
  try {
    writeKnown(node.upstreams, known)
  } catch (error) {
    // A full disk is one cause: then the next start asks all nodes.
    log.warn(`the chains of upstreams cannot be stored for the next start: ${(error as Error).message}`)
  }
  return chains
}

/** A safe integer; undefined if the node does not report one in time. */
async function chainIdOf(
  options: UpstreamOptions,
  deadline: number,
  isPatient: boolean,
): Promise<number | undefined> {
  const upstream = new Upstream(options)
  try {
    for (;;) {
      const ask = (method: string, params: readonly unknown[]) => upstream.ask(method, params, deadline)
      const reported = await askChainId(ask).catch(() => undefined)
      if (reported?.id !== undefined) return reported.id
      if (!isPatient || performance.now() + retryMs >= deadline) return undefined
      await sleep(retryMs)
    }
  } finally {
    upstream.close()
  }
}

/** The common name of a chain; `chain-ID` if the data folder has another network under that name. */
function nameOf(chainId: number, { dataDir, mapBytes }: Config): string {
  const plain = `chain-${chainId}`
  const name = networkOf(chainId)?.name ?? plain
  const path = storePath(dataDir, name)
  // LMDB crashes on an empty file that is opened for reading.
  const isMade = isThere(path) && statSync(path).size > 0
  const stored = isMade ? readStoredIdentity(path, mapBytes) : undefined
  const isOther =
    stored !== undefined && (stored.chainId !== String(chainId) || storeKindOf(stored).blocks !== 'proved')
  return isOther ? plain : name
}

function keyOf({ url }: UpstreamOptions): string {
  return bytesToHex(keccak256(Buffer.from(new URL(url).href)))
}

/** Empty if the file is missing or damaged; then the nodes are asked again. */
function readKnown(path: string): KnownChains {
  try {
    return knownFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return {}
  }
}

function writeKnown(path: string, known: KnownChains): void {
  makeFolder(dirname(path), 0o700)
  writeFileSync(path, `${JSON.stringify(known, undefined, 2)}\n`, { mode: 0o600 })
}
