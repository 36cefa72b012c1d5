/** Receipts of a block from the JSON of eth_getBlockReceipts. Errors show in the receipts root. */
import { Blooms, encodeReceipt } from '../../../execution/evm/blocks/receipts.js'
import { bytesOfHex, parseQuantity } from '../../../primitives/bytes.js'
import { decodeRlpList, encodeRlp, rlpBytes } from '../../../primitives/rlp.js'
import type { TransactionTypes } from '../../../primitives/transactionTypes.js'
import { MalformedError } from './lie.js'

type Json = Readonly<Record<string, unknown>>

/** A row of the store: an RLP list of byte strings, each a receipt in consensus encoding. Throws {@link MalformedError}. */
export function receiptsFromJson(answer: unknown, types: TransactionTypes): Uint8Array {
  if (!Array.isArray(answer)) throw new MalformedError('receipts that are no list')
  return encodeRlp(answer.map((receipt: Json) => receiptRlp(receipt, types)))
}

const blooms = new Blooms()
/** The lowest first byte of an RLP list; that of a typed receipt is lower. */
const firstOfList = 0xc0

/** A receipt in consensus encoding; `types` are those of its chain. Throws {@link MalformedError}. */
export function receiptRlp(receipt: Json, types: TransactionTypes): Uint8Array {
  try {
    const { type, status, root, cumulativeGasUsed, logs } = receipt
    const read = (logs as readonly Json[]).map(({ address, topics, data }) => ({
      address: bytesOf(address),
      topics: (topics as readonly unknown[]).map(bytesOf),
      data: bytesOf(data),
    }))
    const number = Number(quantityOf(type ?? '0x0'))
    const tail = types.get(number)?.receiptFields ?? []
    const fields = {
      type: number,
      outcome: status === undefined || status === null ? bytesOf(root) : quantityOf(status) === 1n,
      gasUsed: quantityOf(cumulativeGasUsed),
      logs: read,
      tail: tail.flatMap((name) =>
        (receipt[name] ?? undefined) === undefined ? [] : quantityOf(receipt[name]),
      ),
    }
    return encodeReceipt(fields, blooms.bloomOf(read))
  } catch (error) {
    throw new MalformedError(`receipts that cannot be read: ${(error as Error).message}`)
  }
}

/** Like {@link receiptsFromJson}, from the hex of debug_getRawReceipts. Throws {@link MalformedError}. */
export function receiptsFromRaw(answer: unknown): Uint8Array {
  if (!Array.isArray(answer)) throw new MalformedError('receipts that are no list')
  return encodeRlp(answer.map(bytesOf))
}

/** Throws RlpError if a receipt of a row is none, for example because it is cut short. */
export function requireReceiptForm(row: Uint8Array): void {
  for (const receipt of decodeRlpList(row).map(rlpBytes)) {
    const isTyped = (receipt[0] ?? firstOfList) < firstOfList
    decodeRlpList(isTyped ? receipt.subarray(1) : receipt)
  }
}

/** The integer of a hex quantity. Throws {@link MalformedError}. */
export function quantityOf(value: unknown): bigint {
  const integer = parseQuantity(value)
  if (integer === undefined) throw new MalformedError('a malformed number')
  return integer
}

/** Bytes of a text of hex digits. Throws {@link MalformedError}. */
export function bytesOf(value: unknown): Uint8Array {
  const bytes = bytesOfHex(value)
  if (bytes === undefined) throw new MalformedError('a value that is not hex')
  return bytes
}
