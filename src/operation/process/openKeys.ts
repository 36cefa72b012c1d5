import { NodeStore } from '../../data/store/node/nodeStore.js'
import { OperatorError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/files.js'
import { embeddedKeyRepository, type KeyRepository } from '../../serving/access/keyRepository.js'
import { Pepper } from '../../serving/access/pepper.js'
import type { DataConfig } from '../config/config.js'
import { SharedKeys, type SharedKeysOptions } from '../shared/sharedKeys.js'

/** The keys of a data folder, as a command reads and changes them. */
export interface OpenKeys extends KeyRepository {
  /** The secret for hashing keys; made with the first key. */
  readonly pepper: Pepper
}

/** Options of shared keys; undefined if the data folder has the keys. */
export function sharedKeysOptions({ node, mapBytes, shared }: DataConfig): SharedKeysOptions | undefined {
  if (shared === undefined) return undefined
  const { url, schema } = shared
  return { url, schema, path: node.sharedKeys, pepperPath: node.pepper, mapBytes }
}

export interface OpenKeysOptions {
  /** Applies to keys in a data folder. */
  readonly readOnly?: boolean
  /** Makes the store of keys if there is none. */
  readonly make?: boolean
}

/**
 * Opens the keys for `work`, and closes them again. Rejects with OperatorError if there are none, unless `make`, and if
 * the database of shared keys does not answer.
 */
export async function withKeys<T>(
  config: DataConfig,
  options: OpenKeysOptions,
  work: (book: OpenKeys) => T | Promise<T>,
): Promise<T> {
  const book = await openKeys(config, options)
  try {
    return await work(book)
  } finally {
    await book.close()
  }
}

async function openKeys(
  config: DataConfig,
  { readOnly = false, make = false }: OpenKeysOptions,
): Promise<OpenKeys> {
  const { node, mapBytes, dataDir } = config
  const options = sharedKeysOptions(config)
  if (options !== undefined) {
    const keys = await SharedKeys.open(options, { mustAnswer: true })
    return withPepper(keys, node.pepper, () => keys.close())
  }
  if (!make && !isThere(node.store)) throw new OperatorError(`there are no keys in ${dataDir}; check --data`)
  const store = NodeStore.open({ path: node.store, readOnly, mapBytes })
  return withPepper(embeddedKeyRepository(store), node.pepper, () => store.close())
}

function withPepper(book: KeyRepository, path: string, close: () => Promise<void>): OpenKeys {
  return {
    store: book.store,
    change: (work) => book.change(work),
    note: (note) => book.note(note),
    close,
    get pepper() {
      return Pepper.open(book.store, path)
    },
  }
}
