import { type Hash32, readUint32, writeUint32 } from '../../primitives/bytes.js'
import type { BlockDiff } from './blockDiff.js'

/** Bytes of `senders` for each transaction: its sender (20) and its hash (32). */
export const senderBytes = 52

/** Stands for the length of a body that is not stored. */
const unstoredBody = 0xffff_ffff

/** Offsets of the parts of fixed length, and of the rest. */
const bodyLengthAt = 32
const headerLengthAt = 36
const totalLengthAt = 40
const headerAt = 41

/**
 * A block without its body, as one row. Its parts are views of the row.
 *
 *   hash (32 bytes) ‖ length of the body (4, big-endian) ‖ length of the header (4) ‖ length of the total difficulty (1)
 *   ‖ header (RLP) ‖ total difficulty ‖ sender and hash of each transaction (52 each)
 */
export class StoredBlock {
  readonly #headerEnd: number
  readonly #sendersAt: number

  constructor(
    /** The whole row. */
    readonly bytes: Uint8Array,
  ) {
    this.#headerEnd = headerAt + readUint32(bytes, headerLengthAt)
    this.#sendersAt = this.#headerEnd + (bytes[totalLengthAt] as number)
  }

  get hash(): Hash32 {
    return this.bytes.subarray(0, bodyLengthAt) as Hash32
  }

  /** Whether this is the block with this hash. */
  is(hash: Uint8Array): boolean {
    const { bytes } = this
    for (let i = 0; i < bodyLengthAt; i++) if (bytes[i] !== hash[i]) return false
    return true
  }

  /** Whether the body, and with it the senders, are stored; only gateways keep headers without them. */
  get hasBody(): boolean {
    return this.bodyBytes !== unstoredBody
  }

  /** Length of its body, which is another row. */
  get bodyBytes(): number {
    return readUint32(this.bytes, bodyLengthAt)
  }

  /** RLP of the header. */
  get header(): Uint8Array {
    return this.bytes.subarray(headerAt, this.#headerEnd)
  }

  /** Total difficulty up to and including it, shortest big-endian bytes. */
  get totalDifficulty(): Uint8Array {
    return this.bytes.subarray(this.#headerEnd, this.#sendersAt)
  }

  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  get senders(): Uint8Array {
    return this.bytes.subarray(this.#sendersAt)
  }
}

type Parts = Pick<BlockDiff, 'header' | 'senders' | 'totalDifficulty'> & {
  /** Undefined if it is not stored. */
  readonly body: Uint8Array | undefined
}

/** The row of a block; see {@link StoredBlock}. */
export function storedBlockRow(hash: Uint8Array, { body, ...parts }: Parts): Uint8Array {
  return rowOf(hash, { ...parts, bodyBytes: body?.length ?? unstoredBody })
}

function rowOf(
  hash: Uint8Array,
  { header, bodyBytes, senders, totalDifficulty }: Omit<Parts, 'body'> & Pick<StoredBlock, 'bodyBytes'>,
): Uint8Array {
  const totalAt = headerAt + header.length
  const sendersAt = totalAt + totalDifficulty.length
  const row = new Uint8Array(sendersAt + senders.length)
  row.set(hash)
  writeUint32(row, bodyBytes, bodyLengthAt)
  writeUint32(row, header.length, headerLengthAt)
  row[totalLengthAt] = totalDifficulty.length
  row.set(header, headerAt)
  row.set(totalDifficulty, totalAt)
  row.set(senders, sendersAt)
  return row
}

/** The row of the same block with another total difficulty. */
export function withTotalDifficulty(block: StoredBlock, totalDifficulty: Uint8Array): Uint8Array {
  const { hash, header, senders, bodyBytes } = block
  return rowOf(hash, { header, bodyBytes, senders, totalDifficulty })
}

/** Index and hash of each transaction of a block with these senders. */
export function* transactionHashes(senders: Uint8Array): Generator<readonly [number, Hash32]> {
  for (let at = 0; at < senders.length; at += senderBytes) {
    yield [at / senderBytes, senders.subarray(at + 20, at + senderBytes) as Hash32]
  }
}

/** Sender of a transaction of a block with these senders. */
export function senderAt(senders: Uint8Array, index: number): Uint8Array {
  return senders.subarray(index * senderBytes, index * senderBytes + 20)
}
