/** `tidegate keys share`: copies the keys of a data folder into the database that several processes share. */

import { keyIdOf } from '../../data/store/node/keyTables.js'
import { NodeStore } from '../../data/store/node/nodeStore.js'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/files.js'
import { OtherPepper, Pepper } from '../../serving/access/pepper.js'
import type { DataConfig } from '../config/config.js'
import { sharedKeysOptions } from '../process/openKeys.js'
import type { Io } from '../process/terminal.js'
import { SharedKeys, type SharedKeysOptions } from '../shared/sharedKeys.js'
import { type Sharing, shareKeys } from '../shared/shareKeys.js'
import { actor } from './keys.js'

/** Copies the keys that `chosen` names, or all. */
export async function shareFolderKeys(
  config: DataConfig,
  chosen: readonly string[],
  io: Io,
): Promise<number> {
  const { node, dataDir } = config
  const options = sharedKeysOptions(config)
  if (options === undefined) {
    throw new UsageError('keys share needs a configuration with "shared"; give it with --config FILE')
  }
  const none = new OperatorError(`there are no keys in ${dataDir} to share; check --data`)
  if (!isThere(node.store)) throw none
  const from = NodeStore.open({ path: node.store, readOnly: true, mapBytes: config.mapBytes })
  try {
    if (!from.hasKeys()) throw none
    // Before opening the database, which would accept any pepper as its first.
    Pepper.open(from, node.pepper)
    const keys = await openShared(options, dataDir)
    try {
      print(await shareKeys(keys, from, chosen, actor()), dataDir, io)
    } finally {
      await keys.close()
    }
  } finally {
    await from.close()
  }
  return 0
}

async function openShared(options: SharedKeysOptions, dataDir: string): Promise<SharedKeys> {
  try {
    return await SharedKeys.open(options, { mustAnswer: true })
  } catch (error) {
    if (!(error instanceof OtherPepper)) throw error
    throw new OperatorError(
      `the shared keys were made with another pepper than those in ${dataDir}, and a key is valid with its own pepper alone: these keys cannot be shared, make others`,
    )
  }
}

function print({ added, there }: Sharing, dataDir: string, io: Io): void {
  for (const row of added) io.out(`Shared key ${keyIdOf(row)} (${row.name}).`)
  const count = (keys: number) => `${keys} ${keys === 1 ? 'key' : 'keys'}`
  const already = there.length === 0 ? '' : `; ${count(there.length)} had been shared before`
  io.err(
    `Shared ${count(added.length)} of ${dataDir}${already}. Processes that share keys follow within a second.`,
  )
}
