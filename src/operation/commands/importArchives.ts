/**
 * `tidegate import` of archives (era1, ere), on the network's ingest thread. The target is a store of history, a
 * gateway's store below its blocks, or an archive, which executes them.
 */
import { readFileSync, statSync } from 'node:fs'
import { identityWithForks, knownIdentity, knownNetworkNames } from '../../data/chain/knownNetworks.js'
import { epochBlocks } from '../../data/ssz/verifyHeaderProof.js'
import { ChainReader } from '../../data/store/chainReader.js'
import { type ChainIdentity, storeKindOf } from '../../data/store/chainRows.js'
import { bytesToHex } from '../../primitives/bytes.js'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import { startIngest } from '../../sources/ingest/thread/ingestThread.js'
import type { ImportedEpoch } from '../../sources/ingest/thread/messages.js'
import { readGenesis, requireChainId } from '../../sources/ingest/thread/taskStore.js'
import type { ImportConfig } from '../config/config.js'
import { genesisOf } from '../process/genesisOf.js'
import { archiveSummary, beneathSummary, importView } from '../process/importProgress.js'
import { logLine } from '../process/progressView.js'
import type { Io } from '../process/terminal.js'
import { followImport, importChain } from './importChain.js'

/** Imports; resolves to the exit status: 1 if it was interrupted before the archives ended. */
export async function importArchives(config: ImportConfig, io: Io): Promise<number> {
  const { network, accumulatorsPath } = config
  const stored = await readStored(config)
  const kind = stored === undefined ? network.kind : storeKindOf(stored).name
  if (accumulatorsPath !== undefined && (kind === 'archive' || kind === 'gateway')) {
    throw new UsageError(
      `network ${network.name} is of kind ${kind}, in which every block is proved; leave --accumulators out`,
    )
  }
  if (kind === 'archive') return importChain(config, io)
  if (kind === 'gateway' && stored === undefined) {
    throw new OperatorError(
      `the gateway ${network.name} has no head yet to which blocks could link; start it with its upstreams first`,
    )
  }
  const isBeneath = stored !== undefined && kind === 'gateway'
  const identity = isBeneath ? requireGenesis(stored, config) : findIdentity(config, stored)
  requireChainId(`the history of network ${network.name}`, identity, network.chainId)
  const task = {
    storePath: network.storePath,
    mapBytes: config.mapBytes,
    identity,
    archives: config.chainPaths,
    bytesTotal: config.chainPaths.reduce((bytes, path) => bytes + statSync(path).size, 0),
    accumulators: accumulatorsPath === undefined ? undefined : readAccumulators(accumulatorsPath),
  }
  const view = importView(network.name, (fields) => io.err(logLine(fields)))
  const onEpoch = (epoch: ImportedEpoch) => {
    view.clear()
    io.out(epochText(epoch, accumulatorsPath !== undefined))
  }
  const thread = startIngest(task, (progress) => view.update(progress), { onEpoch })
  const summary = isBeneath ? beneathSummary : archiveSummary
  return followImport(thread, network.name, { view, io, summary })
}

/**
 * The chain of the network's store. Undefined if there is no readable one: also for a store without a whole epoch, or
 * of another version, which its writer checks.
 */
async function readStored({ network, mapBytes }: ImportConfig): Promise<ChainIdentity | undefined> {
  const { storePath } = network
  // LMDB crashes on an empty file that is opened for reading.
  if ((statSync(storePath, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined
  try {
    const store = ChainReader.open({ path: storePath, mapBytes })
    const identity = store.readIdentity()
    await store.close()
    return identity
  } catch (error) {
    if (error instanceof OperatorError) return undefined
    throw error
  }
}

/** The identity of the named genesis, of a public network, or of the store. */
function findIdentity({ network }: ImportConfig, stored: ChainIdentity | undefined): ChainIdentity {
  const { name, chainId, forks } = network
  const named = readGenesisIdentity(network)
  if (named !== undefined) return named
  const known = knownIdentity(name, chainId) ?? stored
  try {
    if (known !== undefined) return identityWithForks(known, forks)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OperatorError(`network ${name}: ${error.message}`)
  }
  throw new UsageError(
    `network ${name} is none of those known here (${knownNetworkNames.join(', ')}); name its genesis with --genesis FILE, or the chainId of one of them in the configuration`,
  )
}

/** `stored`, if the named genesis is its own. Throws OperatorError otherwise. */
function requireGenesis(stored: ChainIdentity, { network }: ImportConfig): ChainIdentity {
  const { genesisPath, name } = network
  const named = readGenesisIdentity(network) ?? stored
  if (named.genesisHash === stored.genesisHash) return stored
  throw new OperatorError(
    `the genesis ${genesisPath} is ${named.genesisHash}, and the store of network ${name} is of the chain with genesis ${stored.genesisHash}`,
  )
}

/** The chain of the genesis that a network names; undefined if it names none. Throws OperatorError. */
function readGenesisIdentity(network: ImportConfig['network']): ChainIdentity | undefined {
  const genesis = genesisOf(network)
  return genesis && readGenesis(genesis).identity
}

/** Reads one root a line, 64 hex digits with or without 0x. Ignores empty lines and text after #. */
function readAccumulators(path: string): string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((line, index) => [line.replace(/#.*/, '').trim().toLowerCase(), index + 1] as const)
    .filter(([text]) => text !== '')
    .map(([text, line]) => {
      const digits = text.replace(/^0x/, '')
      if (/^[0-9a-f]{64}$/.test(digits)) return `0x${digits}`
      throw new UsageError(`${path}, line ${line}: expected 64 hex digits, the root of an epoch`)
    })
}

function epochText({ first, last, accumulator, isTrusted, link }: ImportedEpoch, hasList: boolean): string {
  const links = {
    genesis: 'begins with the genesis',
    previous: 'follows the epoch before',
    head: 'linked to the head, block by block',
    none: 'linked to nothing before it',
  }
  const blocks = `Epoch ${first / epochBlocks}: blocks ${first} to ${last}`
  if (link === 'head') return `${blocks}, ${links.head}.`
  const trust = isTrusted
    ? 'in the list of trusted accumulators'
    : hasList
      ? 'after the Merge, which no list covers'
      : "trusted as it is; the short hash in a file's name proves nothing, a list (--accumulators) does"
  const root = accumulator === undefined ? 'without accumulator' : `accumulator ${bytesToHex(accumulator)}`
  return `${blocks}, ${root}; ${links[link]}; ${trust}.`
}
