/** `tidegate import` of archives of history (era1, ere), on the network's ingest thread. */
import { readFileSync, statSync } from 'node:fs'
import { knownIdentity, knownNetworkNames } from '../chain/knownNetworks.js'
import type { ImportConfig } from '../config/config.js'
import { parseGenesis } from '../ingest/genesis.js'
import { startIngest } from '../ingest/ingestThread.js'
import type { ImportedEpoch } from '../ingest/messages.js'
import { requireChainId } from '../ingest/taskStore.js'
import { bytesToHex } from '../primitives/bytes.js'
import { OperatorError, UsageError } from '../primitives/faults.js'
import { epochBlocks } from '../ssz/verifyHeaderProof.js'
import { ChainReader } from '../store/chainReader.js'
import type { ChainIdentity } from '../store/chainRows.js'
import type { Io } from './commandLine.js'
import { followImport } from './followImport.js'
import { archiveSummary, createProgressView } from './importProgress.js'

/** Imports; resolves to the exit status: 1 where it was interrupted before the archives ended. */
export async function importArchives(config: ImportConfig, io: Io): Promise<number> {
  const { network, accumulatorsPath } = config
  const identity = await findIdentity(config)
  requireChainId(`the history of network ${network.name}`, identity, network.chainId)
  const task = {
    storePath: network.storePath,
    mapBytes: config.mapBytes,
    identity,
    archives: config.chainPaths,
    bytesTotal: config.chainPaths.reduce((bytes, path) => bytes + statSync(path).size, 0),
    accumulators: accumulatorsPath === undefined ? undefined : readAccumulators(accumulatorsPath),
  }
  const view = createProgressView(network.name, process.stderr, io.err)
  const onEpoch = (epoch: ImportedEpoch) => {
    view.clear()
    io.out(epochText(epoch, accumulatorsPath !== undefined))
  }
  const thread = startIngest(task, (progress) => view.update(progress), {
    onUpgrade: view.upgrading,
    onEpoch,
  })
  return followImport(thread, network.name, { view, io, summary: archiveSummary })
}

/** Of the genesis that was named, of the store, or of a public network. */
async function findIdentity({ network, mapBytes }: ImportConfig): Promise<ChainIdentity> {
  const { name, genesisPath, storePath, chainId } = network
  if (genesisPath !== undefined) return readGenesisIdentity(genesisPath)
  const known = knownIdentity(name, chainId)
  if (known !== undefined) return known
  if (statSync(storePath, { throwIfNoEntry: false }) !== undefined) {
    const store = ChainReader.open({ path: storePath, mapBytes })
    const identity = store.readIdentity()
    await store.close()
    if (identity !== undefined) return identity
  }
  throw new UsageError(
    `network ${name} is none of those known here (${knownNetworkNames.join(', ')}); name its genesis with --genesis FILE, or the chainId of one of them in the configuration`,
  )
}

function readGenesisIdentity(path: string): ChainIdentity {
  try {
    return parseGenesis(readFileSync(path, 'utf8')).identity
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OperatorError(`the genesis ${path} is not usable: ${error.message}`)
  }
}

/** One root a line, 64 hex digits with or without 0x; empty lines and what follows # are passed over. */
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
    none: 'linked to nothing before it',
  }
  const trust = isTrusted
    ? 'in the list of trusted accumulators'
    : hasList
      ? 'after the Merge, where no list reaches'
      : "trusted as it is; the short hash in a file's name proves nothing, a list (--accumulators) does"
  const root = accumulator === undefined ? 'without accumulator' : `accumulator ${bytesToHex(accumulator)}`
  return `Epoch ${first / epochBlocks}: blocks ${first} to ${last}, ${root}; ${links[link]}; ${trust}.`
}
