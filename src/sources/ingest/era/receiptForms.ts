/**
 * Converts between three encodings of a block's receipts: a row of the store, era1's form and ere's form. A row is an
 * RLP list of byte strings, each a receipt in consensus encoding. In era1, legacy receipts are lists (EIP-2718). In
 * ere, receipts have no blooms.
 */
import { Blooms, encodeReceipt } from '../../../execution/evm/blocks/receipts.js'
import { bytesToBigInt, bytesToNumber } from '../../../primitives/bytes.js'
import {
  decodeRlpList,
  encodeRlp,
  encodeRlpListOfEncoded,
  RlpError,
  rlpBytes,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../../../primitives/rlp.js'

/** RLP of an empty list, in all forms. */
const noReceipts = 0xc0

/** era1's form as a row. Throws RlpError. */
export function inlineToRow(inline: Uint8Array): Uint8Array {
  if (inline.length === 1 && inline[0] === noReceipts) return inline
  const list = rlpSpanAt(inline, 0)
  if (list.end !== inline.length) throw new RlpError('bytes after the item', list.end)
  return encodeRlp(
    rlpListSpans(inline, list).map(({ isList, start, payload, end }) =>
      inline.subarray(isList ? start : payload, end),
    ),
  )
}

/** A row in era1's form. */
export function rowToInline(row: Uint8Array): Uint8Array {
  if (row.length === 1) return row
  return encodeRlpListOfEncoded(
    rlpListSpans(row, rlpSpanAt(row, 0)).map(({ start, payload, end }) => {
      const isLegacy = (row[payload] as number) >= noReceipts
      return row.subarray(isLegacy ? payload : start, end)
    }),
  )
}

/**
 * ere's form as a row: type, outcome, gas and logs of each receipt (eth/69); blooms are computed. Throws RlpError.
 */
export function slimToRow(slim: Uint8Array): Uint8Array {
  const blooms = new Blooms()
  return encodeRlp(
    decodeRlpList(slim).map((item) => {
      const [type, outcome, gasUsed, logs] = rlpList(item)
      const root = rlpBytes(outcome)
      const read = rlpList(logs).map((log) => {
        const [address, topics, data] = rlpList(log)
        return { address: rlpBytes(address), topics: rlpList(topics).map(rlpBytes), data: rlpBytes(data) }
      })
      const receipt = {
        type: bytesToNumber(rlpBytes(type)),
        outcome: root.length === 32 ? root : root.length === 1,
        gasUsed: bytesToBigInt(rlpBytes(gasUsed)),
        logs: read,
      }
      return encodeReceipt(receipt, blooms.bloomOf(read))
    }),
  )
}
