import type { ChainReader } from '../../../data/store/chainReader.js'
import { logKeysOf } from '../../../data/store/layouts/logKeys.js'

/** Number of keys of the logs of block `number`, and of those for which the log index lacks the block. */
export function checkLogKeys(
  store: ChainReader,
  receipts: Uint8Array,
  number: number,
): { readonly count: number; readonly missing: number } {
  const keys = [...logKeysOf(receipts)]
  const lacks = (key: string) => store.readLogChunk(Buffer.from(key, 'latin1'), number)[0] !== number
  return { count: keys.length, missing: keys.filter(lacks).length }
}
