/** Receipts of a block from the JSON of eth_getBlockReceipts. Errors show in the receipts root. */
import { Blooms, encodeReceipt } from '../../../execution/evm/blocks/receipts.js'
import { hexToBytes, parseQuantity } from '../../../primitives/bytes.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import { LieError } from './lie.js'

type Json = Readonly<Record<string, unknown>>

/** A row of the store: an RLP list of byte strings, each a receipt in consensus encoding. Throws {@link LieError}. */
export function receiptsFromJson(answer: unknown): Uint8Array {
  if (!Array.isArray(answer)) throw new LieError('receipts that are no list')
  return encodeRlp(answer.map((receipt: Json) => receiptRlp(receipt)))
}

const blooms = new Blooms()
/** Members that receipts of OP Stack deposits have after their logs. */
const depositMembers: readonly string[] = ['depositNonce', 'depositReceiptVersion']

/** A receipt in consensus encoding; `more` names integer members after its logs. Throws {@link LieError}. */
export function receiptRlp(receipt: Json, more = depositMembers): Uint8Array {
  try {
    const { type, status, root, cumulativeGasUsed, logs } = receipt
    const read = (logs as readonly Json[]).map(({ address, topics, data }) => ({
      address: bytesOf(address),
      topics: (topics as readonly unknown[]).map(bytesOf),
      data: bytesOf(data),
    }))
    const fields = {
      type: Number(quantityOf(type ?? '0x0')),
      outcome: status === undefined || status === null ? bytesOf(root) : quantityOf(status) === 1n,
      gasUsed: quantityOf(cumulativeGasUsed),
      logs: read,
      tail: more.flatMap((name) =>
        (receipt[name] ?? undefined) === undefined ? [] : quantityOf(receipt[name]),
      ),
    }
    return encodeReceipt(fields, blooms.bloomOf(read))
  } catch (error) {
    throw new LieError(`receipts that cannot be read: ${(error as Error).message}`)
  }
}

/** As {@link receiptsFromJson}, from the hex of debug_getRawReceipts. Throws {@link LieError}. */
export function receiptsFromRaw(answer: unknown): Uint8Array {
  if (!Array.isArray(answer)) throw new LieError('receipts that are no list')
  return encodeRlp(answer.map(bytesOf))
}

/** The integer of a hex quantity. Throws {@link LieError}. */
export function quantityOf(value: unknown): bigint {
  const integer = parseQuantity(value)
  if (integer === undefined) throw new LieError('a number that is none')
  return integer
}

/** Bytes of a text of hex digits. Throws {@link LieError}. */
export function bytesOf(value: unknown): Uint8Array {
  try {
    if (typeof value === 'string') return hexToBytes(value)
  } catch {
    // The error is thrown below.
  }
  throw new LieError('a value that is not hex')
}
