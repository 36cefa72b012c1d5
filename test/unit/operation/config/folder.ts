import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { UsageError } from '../../../../src/primitives/faults.js'

/** A folder with a genesis, a chain and the given configuration; returns the configuration's path. */
export function writeConfig(folder: string, content: unknown): string {
  writeFileSync(join(folder, 'genesis.json'), '{}')
  writeFileSync(join(folder, 'chain.rlp'), '')
  const path = join(folder, 'tidegate.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** The refusal of a configuration, without its own path. */
export function refusal(folder: string, content: unknown): string {
  const path = writeConfig(folder, content)
  try {
    resolveServeConfig({ config: path })
  } catch (error) {
    if (error instanceof UsageError) return error.message.replaceAll(folder, 'DIR')
    throw error
  }
  return 'accepted'
}

/** Makes a data folder in which a network has a store. */
export function makeStore(dataDir: string, name: string): void {
  mkdirSync(join(dataDir, 'networks', name), { recursive: true })
  writeFileSync(join(dataDir, 'networks', name, 'chain.mdb'), '')
}
