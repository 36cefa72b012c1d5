/**
 * Keys of the log index: for each log its address and each topic with its position. Owns making keys, and reading them
 * from receipts.
 *
 * A key has 8 bytes: the position, and 7 bytes folded from the address or topic. Position 0 is the address, 1 to 4 are
 * topics, 5 is {@link anyLogKey}. So a key takes a quarter of a topic's space; among 10^8 topics one in 700,000 shares
 * its key with another. That is harmless, because a search checks the logs of each block it finds. Topics with equal
 * keys are easy to construct, but gain an attacker nothing.
 */
import { rlpEndAt, rlpPayloadAt } from '../../../primitives/rlp.js'

export const logKeyBytes = 8

/** The position after the address and four topics. */
const anyPosition = 5

const scratch = Buffer.alloc(logKeyBytes)

/** Key of every block that has a log. */
export const anyLogKey: Uint8Array = Uint8Array.of(anyPosition, 0, 0, 0, 0, 0, 0, 0)
const anyLogText = Buffer.from(anyLogKey).toString('latin1')

/** The key of an address (20 bytes at `start`) or a topic (32 bytes) at `position`. */
export function logKey(position: number, bytes: Uint8Array, start = 0): Uint8Array {
  fold(position, bytes, start)
  return Uint8Array.from(scratch)
}

function fold(position: number, bytes: Uint8Array, start: number): void {
  scratch[0] = position
  const last = start + (position === 0 ? 13 : 25)
  for (let i = 0; i < 7; i++) scratch[1 + i] = bytes[last + i] as number
  if (position === 0) return
  // Folded, because integers and addresses are at the end of a topic, and texts at its beginning.
  for (let i = 0; i < 7; i++) {
    const at = start + i
    const rest = i < 4 ? (bytes[at] as number) : 0
    const more = (bytes[at + 4] as number) ^ (bytes[at + 11] as number) ^ (bytes[at + 18] as number)
    scratch[1 + i] = (scratch[1 + i] as number) ^ rest ^ more
  }
}

/**
 * The keys of all logs of a block, each once, as Latin-1 text. `receipts` is the store's row: an RLP list of byte
 * strings, each a receipt in consensus encoding.
 */
export function logKeysOf(receipts: Uint8Array): ReadonlySet<string> {
  const keys = new Set<string>()
  const end = rlpEndAt(receipts, 0)
  for (let receipt = rlpPayloadAt(receipts, 0); receipt < end; receipt = rlpEndAt(receipts, receipt)) {
    addKeys(receipts, receiptLogsAt(receipts, receipt), keys)
  }
  return keys
}

/** Offset of the list of logs in the receipt (a byte string) at `receipt`. */
export function receiptLogsAt(receipts: Uint8Array, receipt: number): number {
  const content = rlpPayloadAt(receipts, receipt)
  const isLegacy = (receipts[content] as number) >= 0xc0
  let field = rlpPayloadAt(receipts, isLegacy ? content : content + 1)
  // Outcome, gas and bloom come first.
  for (let before = 0; before < 3; before++) field = rlpEndAt(receipts, field)
  return field
}

function addKeys(receipts: Uint8Array, logs: number, keys: Set<string>): void {
  const end = rlpEndAt(receipts, logs)
  let log = rlpPayloadAt(receipts, logs)
  if (log < end) keys.add(anyLogText)
  for (; log < end; log = rlpEndAt(receipts, log)) {
    const address = rlpPayloadAt(receipts, log)
    fold(0, receipts, rlpPayloadAt(receipts, address))
    keys.add(scratch.toString('latin1'))
    const topics = rlpEndAt(receipts, address)
    const topicsEnd = rlpEndAt(receipts, topics)
    let topic = rlpPayloadAt(receipts, topics)
    for (let position = 1; topic < topicsEnd; position++, topic = rlpEndAt(receipts, topic)) {
      fold(position, receipts, rlpPayloadAt(receipts, topic))
      keys.add(scratch.toString('latin1'))
    }
  }
}
