/**
 * A chain of somebody's own that was imported as the network `demo`: its store decides, so it is served as any other
 * imported network, and not replaced by the blocks of the demo network that come with the program.
 */
import { statSync } from 'node:fs'
import { type Config, type NetworkConfig, storedNetwork } from '../config/config.js'
import { readChainFile } from '../ingest/chainFile.js'
import { readBlockLink } from '../ingest/parsedBlock.js'
import { equalBytes } from '../primitives/bytes.js'
import { OperatorError } from '../primitives/faults.js'
import { ChainReader } from '../store/chainReader.js'

/** What to do with each reading of the configuration, as the store is when this is called. */
export async function withOwnDemo({ networks, dataDir }: Config): Promise<(config: Config) => Config> {
  const embedded = networks.find(({ isEmbedded }) => isEmbedded)
  if (embedded === undefined || !(await holdsOther(embedded))) return (config) => config
  const own = storedNetwork(embedded.name, dataDir)
  return (config) => ({
    ...config,
    networks: config.networks.map((network) => (network.isEmbedded ? own : network)),
  })
}

/** Whether the store of the embedded network ends with a block that is not the embedded chain's. */
async function holdsOther({ storePath, source }: NetworkConfig): Promise<boolean> {
  // LMDB ends the process that opens an empty file for reading.
  if (source?.type !== 'replay' || (statSync(storePath, { throwIfNoEntry: false })?.size ?? 0) === 0)
    return false
  const head = await headOf(storePath)
  if (head === undefined) return false
  for await (const { rlp } of readChainFile(source.file)) {
    const { hash, parentHash } = readBlockLink(rlp)
    if (equalBytes(head, hash) || equalBytes(head, parentHash)) return false
  }
  return true
}

/** Undefined for a store that is not whole; the import of the embedded chain says why, or completes it. */
async function headOf(path: string): Promise<Uint8Array | undefined> {
  let store: ChainReader
  try {
    store = ChainReader.open({ path })
  } catch (error) {
    if (error instanceof OperatorError) return undefined
    throw error
  }
  try {
    return store.readHead()?.hash
  } finally {
    await store.close()
  }
}
