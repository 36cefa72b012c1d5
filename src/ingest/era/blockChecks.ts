/**
 * Checks that the blocks of an archive form a chain: each header's hash, number, parent and total difficulty, and the
 * roots of its body and receipts. Executes nothing. Accumulators (epochImport.ts) and links show that the blocks
 * belong to the network.
 */
import type { ForkSchedule } from '../../chain/forks.js'
import { decodeHeader, type Header, headerHash } from '../../chain/header.js'
import { RecoveredKeys } from '../../evm/recoveredKeys.js'
import { readSignedTransaction } from '../../evm/signedTransaction.js'
import { InvalidTransactionError } from '../../evm/transaction.js'
import { bytesToHex, concatBytes, equalBytes, type Hash32 } from '../../primitives/bytes.js'
import { emptyUnclesHash, keccak256 } from '../../primitives/keccak.js'
import {
  decodeRlpList,
  encodeRlp,
  RlpError,
  type RlpItem,
  rlpBytes,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../../primitives/rlp.js'
import { indexedRoot } from '../../state/trie.js'
import type { BlockRecord, EraBlock, EraFile } from './eraFile.js'

/** The parent of the next block. */
export interface PreviousBlock {
  readonly number: number
  readonly hash: Hash32
  /** Total difficulty up to and including the block. */
  readonly totalDifficulty: bigint
}

/** A block whose parts match each other. */
export interface CheckedBlock extends PreviousBlock {
  readonly header: Header
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
}

const noSenders = new Uint8Array(0)
/** RLP of a body without transactions and uncles, before Shanghai. */
const emptyBody = Buffer.from('c2c0c0', 'hex')
const numberOfBloomBytes = 256

/** Checks the blocks of one archive, in order. Throws EraFileError that names record, byte and both values. */
export class BlockChecks {
  readonly #keys = new RecoveredKeys()
  readonly #archive: EraFile
  readonly #schedule: ForkSchedule

  constructor(archive: EraFile, schedule: ForkSchedule) {
    this.#archive = archive
    this.#schedule = schedule
  }

  /** Checks one block. `previous` is undefined where the previous block is not known. */
  check(block: EraBlock, number: number, previous: PreviousBlock | undefined): CheckedBlock {
    const header = this.#read('header', block, () => decodeHeader(block.header))
    const hash = headerHash(block.header)
    this.#expect('header', block, 'number', header.number, number)
    if (previous !== undefined) {
      this.#expectHash('header', block, 'parent', header.parentHash, previous.hash)
    }
    const totalDifficulty = this.#total(block, header, previous)
    const senders = this.#read('body', block, () => this.#checkBody(block, header, totalDifficulty))
    if (block.receipts !== undefined) this.#checkReceipts(block, header)
    return { number, hash, header, totalDifficulty, senders }
  }

  #total(block: EraBlock, header: Header, previous: PreviousBlock | undefined): bigint {
    if (previous !== undefined) {
      const sum = previous.totalDifficulty + header.difficulty
      if (block.totalDifficulty !== undefined) {
        this.#expect('total difficulty', block, 'total difficulty', block.totalDifficulty, sum)
      }
      return sum
    }
    const total = block.totalDifficulty
    if (total === undefined) {
      throw this.#archive.fault(
        'header',
        block,
        'begins an archive without total difficulties; import the archive before it first',
      )
    }
    if (total < header.difficulty) {
      throw this.#archive.fault(
        'total difficulty',
        block,
        `has the total difficulty ${total}, less than the block's own ${header.difficulty}`,
      )
    }
    return total
  }

  #checkBody(block: EraBlock, header: Header, totalDifficulty: bigint): Uint8Array {
    const { body } = block
    const isEmpty = emptyBody.equals(body)
    const items = isEmpty ? noItems : decodeRlpList(body)
    if (items.length < 2 || items.length > 3)
      throw new RlpError(`a body has 2 or 3 lists, got ${items.length}`, 0)
    const transactions = rlpList(items[0])
    const raw = transactions.map((item) => (item instanceof Uint8Array ? item : encodeRlp(item)))
    this.#expectHash('body', block, 'transactions root', indexedRoot(raw), header.transactionsRoot)
    const uncles = rlpList(items[1])
    const unclesHash = uncles.length === 0 ? emptyUnclesHash : keccak256(encodeRlp(uncles))
    this.#expectHash('body', block, 'uncles hash', unclesHash, header.unclesHash)
    const withdrawals = items[2] && indexedRoot(rlpList(items[2]).map(encodeRlp))
    if (withdrawals !== undefined || header.withdrawalsRoot !== undefined) {
      this.#expectHash('body', block, 'withdrawals root', withdrawals, header.withdrawalsRoot)
    }
    return transactions.length === 0
      ? noSenders
      : this.#readSenders(transactions, block, header, totalDifficulty)
  }

  #readSenders(
    transactions: readonly RlpItem[],
    block: EraBlock,
    header: Header,
    totalDifficulty: bigint,
  ): Uint8Array {
    const isMerged = header.number > 0 && this.#schedule.isMerged(totalDifficulty - header.difficulty)
    const fork = this.#schedule.forkAt(header.number, header.timestamp, isMerged)
    const { chainId } = this.#schedule.config
    try {
      return concatBytes(
        ...transactions.flatMap((item) => {
          const { sender, hash } = readSignedTransaction(item, fork, chainId, this.#keys)
          return [sender, hash]
        }),
      )
    } catch (error) {
      if (!(error instanceof InvalidTransactionError)) throw error
      throw this.#archive.fault(
        'body',
        block,
        `has a transaction that chain ${chainId} does not: ${error.message}`,
      )
    }
  }

  #checkReceipts(block: EraBlock, header: Header): void {
    const row = block.receipts as Uint8Array
    const receipts = this.#read('receipts', block, () => decodeRlpList(row).map(rlpBytes))
    this.#expectHash('receipts', block, 'receipts root', indexedRoot(receipts), header.receiptsRoot)
    const bloom = Buffer.alloc(numberOfBloomBytes)
    for (const receipt of receipts) this.#read('receipts', block, () => addBloom(bloom, receipt))
    if (!bloom.equals(header.logsBloom)) {
      throw this.#archive.fault('receipts', block, "has logs whose bloom is not the header's")
    }
  }

  #read<T>(record: BlockRecord, block: EraBlock, read: () => T): T {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RlpError)) throw error
      throw this.#archive.fault(record, block, `is not what it should be: ${error.message}`)
    }
  }

  #expect(record: BlockRecord, block: EraBlock, field: string, got: unknown, want: unknown): void {
    if (got === want) return
    throw this.#archive.fault(record, block, `has the ${field} ${got}, expected ${want}`)
  }

  #expectHash(
    record: BlockRecord,
    block: EraBlock,
    field: string,
    got: Uint8Array | undefined,
    want: Uint8Array | undefined,
  ): void {
    if (got !== undefined && want !== undefined && equalBytes(got, want)) return
    const text = (hash: Uint8Array | undefined) => (hash === undefined ? 'none' : bytesToHex(hash))
    throw this.#archive.fault(record, block, `has the ${field} ${text(got)}, expected ${text(want)}`)
  }
}

const noItems: readonly RlpItem[] = [[], []]

/** Adds the bloom of a receipt in consensus encoding. */
function addBloom(target: Uint8Array, receipt: Uint8Array): void {
  const isLegacy = (receipt[0] as number) >= 0xc0
  const [, , bloom] = rlpListSpans(receipt, rlpSpanAt(receipt, isLegacy ? 0 : 1))
  if (bloom === undefined || bloom.end - bloom.payload !== numberOfBloomBytes) {
    throw new RlpError('a receipt without bloom', 0)
  }
  for (let i = 0; i < numberOfBloomBytes; i++) {
    target[i] = (target[i] as number) | (receipt[bloom.payload + i] as number)
  }
}
