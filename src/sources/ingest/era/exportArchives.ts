import { closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { blockRlp } from '../../../data/chain/blockRows.js'
import { decodeHeader } from '../../../data/chain/header.js'
import { EpochTree, type HeaderRecord, uint256Bytes } from '../../../data/ssz/epochTree.js'
import { epochBlocks } from '../../../data/ssz/verifyHeaderProof.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { bytesToBigInt, type Hash32, hexDigits, toHash32 } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { Turns } from '../thread/pace.js'
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

interface ExportPlan {
  /** Prefix of the file names. */
  readonly network: string
  /** First block and last one. */
  readonly from: number
  readonly to: number
  /** Must exist. */
  readonly folder: string
  /** Ends the export; if absent, nothing stops it. */
  readonly stop?: AbortSignal
}

interface ExportedFile {
  readonly path: string
  readonly first: number
  readonly last: number
}

/**
 * Writes canonical blocks into files, one per epoch. A complete epoch before the Merge becomes an era1 archive, byte
 * for byte as go-ethereum writes it. Other blocks become RLP, one after another, as `geth export` writes them: from
 * Amsterdam on with the block access list as a fifth part. Throws OperatorError for a file that exists already, and for
 * a store without receipts; and the reason of `stop` once that is aborted. An incomplete file is removed.
 */
export async function* exportArchives(
  store: ChainReader,
  { network, from, to, folder, stop }: ExportPlan,
): AsyncGenerator<ExportedFile> {
  for (let first = from, last: number; first <= to; first = last + 1) {
    last = Math.min(first - (first % epochBlocks) + epochBlocks - 1, to)
    const draft = join(folder, `${network}-${first}.partial`)
    const blocks = readBlocks(store, first, last, stop)
    try {
      const name = isWhole(store, first, last)
        ? await writeEra(store, draft, network, first, blocks)
        : await writeRlp(store, draft, `${network}-${first}-${last}.rlp`, blocks)
      const path = join(folder, name)
      if (existsSync(path)) throw new OperatorError(`${path} exists already; name another folder`)
      renameSync(draft, path)
      yield { path, first, last }
    } finally {
      rmSync(draft, { force: true })
    }
  }
}

/** Whether these are all blocks of an archive of their epoch. */
function isWhole(store: ChainReader, first: number, last: number): boolean {
  if (first % epochBlocks !== 0) return false
  const sealed = store.readEpoch(first / epochBlocks)
  if (sealed?.accumulator !== undefined && sealed.count === last - first + 1) return true
  return last - first + 1 === epochBlocks && decodeHeader(readBlock(store, last).header).difficulty > 0n
}

async function writeEra(
  store: ChainReader,
  path: string,
  network: string,
  first: number,
  blocks: AsyncIterable<ReadBlock>,
): Promise<string> {
  const writer = new EraWriter(path, first)
  try {
    for await (const block of blocks) {
      const receipts = store.readReceipts(block.hash)
      if (receipts === undefined) throw new Error(`the receipts of block ${block.number} are missing`)
      writer.add({ ...block, receipts })
    }
    const epoch = String(first / epochBlocks).padStart(5, '0')
    return `${network}-${epoch}-${hexDigits(writer.finish()).slice(0, 8)}.era1`
  } finally {
    writer.close()
  }
}

async function writeRlp(
  store: ChainReader,
  path: string,
  name: string,
  blocks: AsyncIterable<ReadBlock>,
): Promise<string> {
  const file = openSync(path, 'wx')
  try {
    for await (const { number, hash, header, body } of blocks) {
      // The list of genesis is empty, and go-ethereum does not write it.
      const list = number > 0 ? store.readBlockAccessList(hash) : undefined
      const rlp = blockRlp(header, body, list)
      for (let done = 0; done < rlp.length; ) done += writeSync(file, rlp, done)
    }
    return name
  } finally {
    closeSync(file)
  }
}

interface ReadBlock extends Omit<ArchivedBlock, 'receipts'> {
  readonly number: number
  readonly hash: Hash32
}

/** Takes a turn of the event loop now and then, in which `stop` can be aborted. */
async function* readBlocks(
  store: ChainReader,
  first: number,
  last: number,
  stop: AbortSignal | undefined,
): AsyncGenerator<ReadBlock> {
  const turns = new Turns()
  for (let number = first; number <= last; number++) {
    if (turns.isDue) await turns.take()
    stop?.throwIfAborted()
    yield readBlock(store, number)
  }
}

function readBlock(store: ChainReader, number: number): ReadBlock {
  const hash = store.readCanonicalHash(number)
  const block = hash && store.readBlock(hash, number)
  const body = hash && store.readBody(hash)
  if (hash === undefined || block === undefined || body === undefined) {
    throw new Error(`block ${number} is missing`)
  }
  const totalDifficulty = bytesToBigInt(block.totalDifficulty)
  // Rows share memory with others; without the copy, an archive's records would keep all of it.
  return { number, hash: toHash32(Uint8Array.from(hash)), header: block.header, body, totalDifficulty }
}
