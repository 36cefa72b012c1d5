import type { Hash32 } from '../../primitives/bytes.js'
import type { JsonBytes } from '../../primitives/jsonBytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import type { RlpSpan } from '../../primitives/rlp.js'
import { writeBlock } from './blockJson.js'
import { type BlockRows, transactionPosition } from './blockRows.js'
import { readTransaction, writeTransaction } from './transactionJson.js'

/** Writes the object of a block from the store, with full transactions or their hashes. */
export function writeStoredBlock(json: JsonBytes, hash: Hash32, rows: BlockRows, isFull: boolean): void {
  const { headerRlp, senders, size, totalDifficulty, withdrawals } = rows
  const uncleHashes = rows.uncles.map(({ start, end }) => keccak256(rows.body.subarray(start, end)))
  const writeTransactions = (): void => {
    for (let index = 0; index < rows.transactionCount; index++) {
      if (index > 0) json.text(',')
      if (!isFull) json.hex(senders, index * 52 + 20, index * 52 + 52)
      else {
        const transaction = readTransaction(rows.body, rows.transactions[index] as RlpSpan)
        writeTransaction(json, transaction, transactionPosition(rows, index))
      }
    }
  }
  writeBlock(json, headerRlp, { hash, totalDifficulty, size }, writeTransactions, uncleHashes, withdrawals)
}
