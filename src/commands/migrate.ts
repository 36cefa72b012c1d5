/** `tidegate migrate`: brings the stores of a data folder to the layout of this version. */
import type { StoresConfig } from '../config/config.js'
import { OperatorError } from '../primitives/faults.js'
import { isThere } from '../primitives/isThere.js'
import { ChainWriter } from '../store/chainWriter.js'
import { readStoredChain } from '../store/manifest.js'
import { NodeStore } from '../store/nodeStore.js'
import { schemaVersion } from '../store/tables.js'
import type { Io } from './commandLine.js'
import { createProgressView } from './importProgress.js'

/**
 * Upgrades every store in place; resolves to the exit status. Continues where a run was interrupted. Rejects with
 * OperatorError for a store that another process writes, and for one of an unknown version.
 */
export async function migrate({ dataDir, node, networks, mapBytes }: StoresConfig, io: Io): Promise<number> {
  const hasNode = isThere(node.store)
  if (!hasNode && networks.length === 0)
    throw new OperatorError(`there is no store under ${dataDir}; check --data`)
  for (const { name, storePath: path } of networks) {
    const before = readStoredChain(path, mapBytes)?.schema
    const view = createProgressView(name, process.stderr, io.err)
    const store = ChainWriter.openForWriting({ path, mapBytes, onUpgrade: view.upgrading })
    await store.close()
    view.clear()
    io.out(
      before === undefined || before === schemaVersion
        ? `${name}: up to date`
        : `${name}: upgraded from version ${before} to ${schemaVersion}`,
    )
  }
  if (!hasNode) return 0
  await NodeStore.open({ path: node.store, mapBytes }).close()
  io.out('keys and submissions: up to date')
  return 0
}
