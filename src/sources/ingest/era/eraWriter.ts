import { closeSync, openSync, writeSync } from 'node:fs'
import { EpochTree, type HeaderRecord, uint256Bytes } from '../../../data/ssz/epochTree.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { recordHeaderBytes, recordTypes } from './e2store.js'
import { rowToInline } from './receiptForms.js'
import { frame } from './snappyFrames.js'

export interface ArchivedBlock extends HeaderRecord {
  /** RLP. */
  readonly header: Uint8Array
  /** RLP list: transactions, uncles and, since Shanghai, withdrawals. */
  readonly body: Uint8Array
  /** RLP list of byte strings, each a receipt in consensus encoding. */
  readonly receipts: Uint8Array
}

/** Bytes buffered before a write. */
const bufferBytes = 1024 * 1024

/** Writes an era1 archive, byte for byte like go-ethereum. */
export class EraWriter {
  readonly #fd: number
  readonly #first: number
  readonly #records: HeaderRecord[] = []
  readonly #offsets: number[] = []
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  #bytes = 0

  /** `first` is the number of the first block. Throws errors of opening and writing the file. */
  constructor(path: string, first: number) {
    this.#fd = openSync(path, 'wx')
    this.#first = first
    this.#write('version', new Uint8Array(0))
  }

  add({ header, body, receipts, hash, totalDifficulty }: ArchivedBlock): void {
    this.#offsets.push(this.#bytes)
    this.#records.push({ hash, totalDifficulty })
    this.#write('header', frame(header))
    this.#write('body', frame(body))
    this.#write('receipts', frame(rowToInline(receipts)))
    this.#write('total difficulty', uint256Bytes(totalDifficulty))
  }

  /** Completes the archive and returns its accumulator. */
  finish(): Hash32 {
    const { root } = new EpochTree(this.#records)
    this.#write('accumulator', root)
    const start = this.#bytes
    const index = Buffer.alloc(16 + 8 * this.#offsets.length)
    index.writeBigUInt64LE(BigInt(this.#first), 0)
    for (const [block, offset] of this.#offsets.entries()) {
      index.writeBigInt64LE(BigInt(offset - start), 8 + 8 * block)
    }
    index.writeBigUInt64LE(BigInt(this.#offsets.length), index.length - 8)
    this.#write('block index', index)
    this.#flush()
    return root
  }

  /** Closes the file, finished or not. */
  close(): void {
    closeSync(this.#fd)
  }

  #write(name: keyof typeof recordTypes, data: Uint8Array): void {
    const header = Buffer.alloc(recordHeaderBytes)
    header.writeUInt16LE(recordTypes[name], 0)
    header.writeUInt32LE(data.length, 2)
    this.#pending.push(header, data)
    this.#bytes += header.length + data.length
    this.#pendingBytes += header.length + data.length
    if (this.#pendingBytes >= bufferBytes) this.#flush()
  }

  #flush(): void {
    const bytes = Buffer.concat(this.#pending)
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done)
    this.#pending = []
    this.#pendingBytes = 0
  }
}
