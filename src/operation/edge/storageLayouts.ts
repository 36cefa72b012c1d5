import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { LayoutError, parseStorageLayout, type StorageLayout } from '../../data/state/storageLayout.js'
import { UsageError } from '../../primitives/faults.js'
import { excerpt, isObject } from '../../primitives/jsonType.js'
import type { NetworkConfig } from '../config/config.js'

/** The layouts of a network; none without a file. Throws as {@link readStorageLayouts} does. */
export function readNetworkLayouts({
  storageLayoutsPath,
}: NetworkConfig): ReadonlyMap<string, StorageLayout> {
  return storageLayoutsPath === undefined ? new Map() : readStorageLayouts(storageLayoutsPath)
}

/** The largest contracts have layouts of some 100 KB; a larger file was given by mistake. */
const fileBytesMax = 64 * 2 ** 20

/**
 * Reads a file of storage layouts: a JSON object that maps each address to solc's `storageLayout` output. A value may
 * also be the path of a JSON file with this output, such as a build tool's artifact. The path is relative to this file.
 * The keys of the result are lower-case. Throws UsageError that names the address and the fault of its layout.
 */
export function readStorageLayouts(path: string): ReadonlyMap<string, StorageLayout> {
  const entries = readJson(path, 'the storage layouts')
  if (!isObject(entries)) {
    throw new UsageError(
      `the storage layouts ${path} are no JSON object from addresses to layouts; correct the file`,
    )
  }
  const layouts = new Map<string, StorageLayout>()
  for (const [address, entry] of Object.entries(entries)) {
    const key = address.toLowerCase()
    if (!/^0x[0-9a-f]{40}$/.test(key)) {
      throw new UsageError(
        `${path}: ${JSON.stringify(excerpt(address, 80))} is no address; write 0x and 40 hex digits`,
      )
    }
    if (layouts.has(key)) throw new UsageError(`${path}: ${key} is given twice; give one layout for it`)
    const isPath = typeof entry === 'string'
    const file = isPath ? resolve(dirname(path), entry) : path
    layouts.set(key, parse(isPath ? readJson(file, `the layout of ${key}`) : entry, key, file))
  }
  return layouts
}

function parse(json: unknown, address: string, file: string): StorageLayout {
  try {
    return parseStorageLayout(json)
  } catch (error) {
    if (!(error instanceof LayoutError)) throw error
    throw new UsageError(
      `${file}: the layout of ${address} is not as solc writes it: ${error.message}; compile with the output "storageLayout"`,
    )
  }
}

function readJson(path: string, what: string): unknown {
  let content: string
  try {
    if (statSync(path).size > fileBytesMax) {
      throw new UsageError(`${what}: ${path} is larger than 64 MiB; check that it is the right file`)
    }
    content = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof UsageError) throw error
    const why = (error as NodeJS.ErrnoException).code ?? 'unreadable'
    throw new UsageError(`cannot read ${what}: ${path} (${why}); check the path`)
  }
  try {
    return JSON.parse(content)
  } catch (error) {
    throw new UsageError(`${what}: ${path} is not JSON (${(error as Error).message}); correct the file`)
  }
}
