/** Checks that stored answers are those that are rendered from the rows of their blocks. */
import { Chain } from '../../../data/chain/chain.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { readyForm, readyRowsOf } from '../../../data/store/readyRows.js'
import { equalBytes } from '../../../primitives/bytes.js'

const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 }

/** Calls `fault` for each block with a row that is missing or has other content, and for rows of other blocks. */
export function verifyReady(store: ChainReader, fault: (sentence: string) => void): void {
  const range = store.readReadyRange()
  // Rows of another version of the program are not read, and removed by the next writer.
  if (range.form !== readyForm) return
  const chain = new Chain(store, options)
  let count = 0
  let bytes = 0
  for (let number = range.first; number <= range.last; number++) {
    const hash = store.readCanonicalHash(number)
    const block = hash && store.readBlock(hash)
    const texts = hash && chain.renderBlock(hash)
    if (block === undefined || texts === undefined) {
      fault(`block ${number}: it has stored answers, and cannot be rendered`)
      continue
    }
    const own = readyRowsOf(number, block, texts)
    count += own.rows.length
    bytes += own.bytes
    const areAlike = own.rows.every(([key, value]) => {
      const row = store.readReadyRow(key)
      return row !== undefined && equalBytes(row, value)
    })
    if (!areAlike) fault(`block ${number}: a stored answer about it is not the one that its rows give`)
  }
  const stored = store.countReady()
  if (stored !== count)
    fault(`stored answers: there are ${stored} rows, the blocks with answers have ${count}`)
  if (range.bytes !== bytes) fault(`stored answers: they have ${bytes} bytes, not ${range.bytes}`)
}
