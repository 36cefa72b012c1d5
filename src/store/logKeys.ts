/**
 * What the index of logs goes by: for each log its address and each of its topics, by its place. Owns how a key is made
 * and found in receipts.
 *
 * A key has 8 bytes: the place (0 for the address, 1 to 4 for the topics, 5 for {@link anyLogKey}), and 7 bytes folded
 * out of what stands there. So it takes a quarter of a topic in each of the millions of rows, and of 10^8 topics one in
 * 700,000 has the key of another one. Whoever finds a block by its key looks at the block's logs all the same. To make
 * topics with one key is easy, and gains nothing over logs with that very topic; addresses are hashes already.
 */
import { readRlpHeader } from '../primitives/rlp.js'

export const logKeyBytes = 8

/** The place after the address and four topics. */
const anyPlace = 5

const scratch = Buffer.alloc(logKeyBytes)

/** Of every block that has a log. */
export const anyLogKey: Uint8Array = Uint8Array.of(anyPlace, 0, 0, 0, 0, 0, 0, 0)
const anyLogText = Buffer.from(anyLogKey).toString('latin1')

/** The key of an address (20 bytes at `start`) or a topic (32 bytes) at `place`. */
export function logKey(place: number, bytes: Uint8Array, start = 0): Uint8Array {
  fold(place, bytes, start)
  return Uint8Array.from(scratch)
}

function fold(place: number, bytes: Uint8Array, start: number): void {
  scratch[0] = place
  const last = start + (place === 0 ? 13 : 25)
  for (let i = 0; i < 7; i++) scratch[1 + i] = bytes[last + i] as number
  if (place === 0) return
  // Integers and addresses stand at the end of a topic, texts at its beginning.
  for (let i = 0; i < 7; i++) {
    const at = start + i
    const rest = i < 4 ? (bytes[at] as number) : 0
    const more = (bytes[at + 4] as number) ^ (bytes[at + 11] as number) ^ (bytes[at + 18] as number)
    scratch[1 + i] = (scratch[1 + i] as number) ^ rest ^ more
  }
}

/**
 * The keys of all logs of a block, each once, as Latin-1 text; `receipts` is the store's row: an RLP list of byte
 * strings, each a receipt in consensus encoding. Throws RlpError where it is none.
 */
export function logKeysOf(receipts: Uint8Array): ReadonlySet<string> {
  const keys = new Set<string>()
  const list = readRlpHeader(receipts, 0)
  for (let at = list.payload; at < list.end; ) {
    const receipt = readRlpHeader(receipts, at)
    addKeys(receipts, logsAt(receipts, receipt.payload), keys)
    at = receipt.end
  }
  return keys
}

/** Where the list of logs begins in the receipt whose type or list is at `at`. */
function logsAt(receipts: Uint8Array, at: number): number {
  const isLegacy = (receipts[at] as number) >= 0xc0
  let field = readRlpHeader(receipts, isLegacy ? at : at + 1).payload
  // The outcome, gas and bloom come before.
  for (let before = 0; before < 3; before++) field = readRlpHeader(receipts, field).end
  return field
}

function addKeys(receipts: Uint8Array, at: number, keys: Set<string>): void {
  const logs = readRlpHeader(receipts, at)
  if (logs.payload === logs.end) return
  keys.add(anyLogText)
  for (let next = logs.payload; next < logs.end; ) {
    const log = readRlpHeader(receipts, next)
    const address = readRlpHeader(receipts, log.payload)
    fold(0, receipts, address.payload)
    keys.add(scratch.toString('latin1'))
    const topics = readRlpHeader(receipts, address.end)
    for (let place = 1, topic = topics.payload; topic < topics.end; place++) {
      const { payload, end } = readRlpHeader(receipts, topic)
      fold(place, receipts, payload)
      keys.add(scratch.toString('latin1'))
      topic = end
    }
    next = log.end
  }
}
