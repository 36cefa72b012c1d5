/** `tidegate keys create | list | revoke`: the node store is opened for one change, beside any running server. */
import {
  type KeyRecord,
  KeyRing,
  listKeys as listRecords,
  revokeKey as revokeRecord,
} from '../access/keyRing.js'
import type { DataConfig } from '../config/config.js'
import { OperatorError } from '../primitives/faults.js'
import { isThere } from '../primitives/isThere.js'
import { NodeStore } from '../store/nodeStore.js'
import type { Io } from './commandLine.js'
import { keyToJson } from './keyJson.js'

/** Makes a key. Only its text goes to standard output, so that a script can read it there. */
export async function createKey(config: DataConfig, name: string, io: Io): Promise<number> {
  return withStore(config, false, (store) => {
    const { key, text } = KeyRing.open(store, config.node).createKey(name)
    io.err(
      `Made key ${key.id} (${key.name}). Copy it now; only its hash is stored, so it is not shown again:`,
    )
    io.out(text)
    return 0
  })
}

/** Lists all keys, as a table or as JSON. */
export async function listKeys(config: DataConfig, asJson: boolean, io: Io): Promise<number> {
  const keys = isThere(config.node.store) ? await withStore(config, true, listRecords) : []
  if (asJson) io.out(JSON.stringify(keys.map(keyToJson), undefined, 2))
  else if (keys.length > 0) io.out(buildTable(keys))
  else io.err(`No keys in ${config.dataDir} yet; make one with: tidegate keys create --name NAME`)
  return 0
}

/** Revokes the key with this id. */
export async function revokeKey(config: DataConfig, id: string, io: Io): Promise<number> {
  if (!isThere(config.node.store)) {
    throw new OperatorError(`there are no keys in ${config.dataDir}; check --data`)
  }
  return withStore(config, false, (store) => {
    const { name, revokedAtMs } = revokeRecord(store, id)
    if (revokedAtMs === undefined)
      io.out(`Revoked key ${id} (${name}); running servers refuse it within a second.`)
    else io.out(`Key ${id} (${name}) was revoked already, on ${formatTime(revokedAtMs)}.`)
    return 0
  })
}

async function withStore<T>(
  config: DataConfig,
  readOnly: boolean,
  work: (store: NodeStore) => T,
): Promise<T> {
  const store = NodeStore.open({ path: config.node.store, readOnly, mapBytes: config.mapBytes })
  try {
    return work(store)
  } finally {
    await store.close()
  }
}

function buildTable(keys: readonly KeyRecord[]): string {
  const rows = keys.map(({ id, name, createdAtMs, revokedAtMs }) => [
    id,
    name,
    formatTime(createdAtMs),
    revokedAtMs === undefined ? 'live' : `revoked ${formatTime(revokedAtMs)}`,
  ])
  const table = [['ID', 'NAME', 'CREATED', 'STATE'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => (row[column] ?? '').length)))
  return table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}

/** UTC, without fractions of a second. */
function formatTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')}Z`
}
