/** `tidegate migrate`: brings the stores of a data folder to the layout of this version. */
import type { StoresConfig } from '../config/config.js'
import { migrateChain } from '../ingest/migrateChain.js'
import { OperatorError } from '../primitives/faults.js'
import { isThere } from '../primitives/isThere.js'
import { kindOf } from '../store/chainRows.js'
import { ChainWriter } from '../store/chainWriter.js'
import { readStoredChain, readStoredIdentity } from '../store/manifest.js'
import { NodeStore } from '../store/nodeStore.js'
import { schemaOldest, schemaVersion } from '../store/tables.js'
import type { Io } from './commandLine.js'
import { createProgressView } from './importProgress.js'

/**
 * Makes the store of an archive anew, beside the old one, and upgrades others in place; resolves to the exit status.
 * Continues where a run was interrupted. Rejects with OperatorError for a store that another process writes, and for
 * one that cannot be brought up to date.
 */
export async function migrate({ dataDir, node, networks, mapBytes }: StoresConfig, io: Io): Promise<number> {
  const hasNode = isThere(node.store)
  if (!hasNode && networks.length === 0)
    throw new OperatorError(`there is no store under ${dataDir}; check --data`)
  for (const { name, storePath: path } of networks) {
    const before = readStoredChain(path, mapBytes)?.schema
    const identity = readStoredIdentity(path, mapBytes)
    const view = createProgressView(name, process.stderr, io.err)
    const isFormer = before !== undefined && before >= schemaOldest && before < schemaVersion
    if (isFormer && identity !== undefined && kindOf(identity) === 'archive') {
      await migrateChain({
        path,
        mapBytes,
        onBegin: (bytes, free) => io.err(roomText(name, bytes, free)),
        onProgress: view.upgrading,
      })
    } else {
      const store = ChainWriter.openForWriting({ path, mapBytes, onUpgrade: view.upgrading })
      await store.close()
    }
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

function roomText(network: string, bytes: number, free: number): string {
  const gigabytes = (count: number) => (count / 1e9).toFixed(count < 1e9 ? 3 : 1)
  return (
    `${network}: a new store is made beside the old one, which has ${gigabytes(bytes)} GB, and takes its place at the ` +
    `end; it may need as much, and ${gigabytes(free)} GB are free`
  )
}
