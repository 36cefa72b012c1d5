/** e2store files: a sequence of records, each with type, length and data (nimbus-eth2, docs/e2store.md). */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { SnappyError, unframe } from './snappyFrames.js'

/** Name → type of a record, as a little-endian number. */
export const recordTypes = {
  version: 0x3265,
  header: 0x03,
  body: 0x04,
  receipts: 0x05,
  'total difficulty': 0x06,
  accumulator: 0x07,
  /** Receipts without their blooms, as eth/69 sends them. */
  'slim receipts': 0x0a,
  proof: 0x0b,
  'block index': 0x3266,
  /** The index of an .ere file. */
  'component index': 0x3267,
} as const
export type RecordName = keyof typeof recordTypes

const recordNames = new Map(Object.entries(recordTypes).map(([name, type]) => [type as number, name]))

/** An invalid file. `message` names the file, the record, its offset and the fault. */
export class EraFileError extends Error {
  override readonly name = 'EraFileError'
}

/** Type (2 bytes), length of the data (4), two zero bytes. */
export const recordHeaderBytes = 8

/** Bytes per read: large enough that reading takes negligible time. */
const windowBytes = 1024 * 1024

/**
 * Longest record, so that a damaged length cannot exhaust the memory: the Portal Network's limit for receipts, far
 * above those of any block.
 */
const recordBytesMax = 128 * 1024 * 1024

interface E2storeRecord {
  readonly type: number
  /** Offset of its header in the file. */
  readonly offset: number
  /** Owned by the receiver. */
  readonly data: Buffer
}

/** An e2store file, open for reading. All faults are {@link EraFileError}s. */
export class E2storeFile {
  readonly bytes: number
  readonly #fd: number

  constructor(readonly path: string) {
    try {
      this.#fd = openSync(path, 'r')
      this.bytes = fstatSync(this.#fd).size
    } catch (error) {
      throw new EraFileError(`${path}: ${(error as Error).message}`)
    }
  }

  close(): void {
    closeSync(this.#fd)
  }

  /** Reads bytes of the file. Throws if it ends earlier. */
  read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    let done = 0
    while (done < length) {
      const got = readSync(this.#fd, bytes, done, length - done, offset + done)
      if (got === 0) throw new EraFileError(`${this.path}: the file ends at byte ${offset + done}`)
      done += got
    }
    return bytes
  }

  fault(type: number | RecordName, offset: number, why: string): EraFileError {
    return new EraFileError(`${this.path}: the ${recordName(type)} record at byte ${offset} ${why}`)
  }
}

export function recordName(type: number | RecordName): string {
  return typeof type === 'string' ? type : (recordNames.get(type) ?? `unknown (0x${type.toString(16)})`)
}

/** Reads records one after the other, with its own buffer. */
export class RecordCursor {
  readonly #file: E2storeFile
  #window: Buffer = Buffer.alloc(0)
  /** Offset of the buffer in the file. */
  #start: number

  constructor(
    file: E2storeFile,
    public offset: number,
  ) {
    this.#file = file
    this.#start = offset
  }

  next(): E2storeRecord {
    const { offset } = this
    const file = this.#file
    if (offset + recordHeaderBytes > file.bytes) {
      throw new EraFileError(
        `${file.path}: a record is missing at byte ${offset}; the file ends at byte ${file.bytes}`,
      )
    }
    const header = this.#bytes(offset, recordHeaderBytes)
    const type = header.readUInt16LE(0)
    const length = header.readUInt32LE(2)
    const reserved = header.readUInt16LE(6)
    if (reserved !== 0) throw file.fault(type, offset, `has ${reserved} in its reserved bytes, expected 0`)
    const end = offset + recordHeaderBytes + length
    if (end > file.bytes) {
      throw file.fault(
        type,
        offset,
        `is cut short: it should end at byte ${end}, the file ends at ${file.bytes}`,
      )
    }
    if (length > recordBytesMax) {
      throw file.fault(type, offset, `claims ${length} bytes, more than ${recordBytesMax}`)
    }
    this.offset = end
    return { type, offset, data: this.#bytes(offset + recordHeaderBytes, length) }
  }

  /** The next record, which must have this type. */
  expect(name: RecordName): E2storeRecord {
    const record = this.next()
    if (record.type === recordTypes[name]) return record
    throw this.#file.fault(record.type, record.offset, `stands where a ${name} record was expected`)
  }

  /** The content of the next record, which must have this type and be in snappy frames. */
  unframe(name: RecordName): Uint8Array {
    const { offset, data } = this.expect(name)
    try {
      return unframe(data)
    } catch (error) {
      if (!(error instanceof SnappyError)) throw error
      const at = offset + recordHeaderBytes + error.offset
      throw this.#file.fault(name, offset, `is damaged: ${error.why} (byte ${at})`)
    }
  }

  /** A buffer is never overwritten, so that views of it stay valid. */
  #bytes(offset: number, length: number): Buffer {
    const at = offset - this.#start
    if (at >= 0 && at + length <= this.#window.length) return this.#window.subarray(at, at + length)
    const rest = this.#file.bytes - offset
    this.#window = this.#file.read(offset, Math.min(rest, Math.max(windowBytes, length)))
    this.#start = offset
    return this.#window.subarray(0, length)
  }
}
