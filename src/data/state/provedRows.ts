/**
 * Rows of a gateway's store: fetched and proved data, in the tables of an archive. A state value is a stored value
 * (store/storedValueRows.ts), or the end of a walk down the tries. Owns the difference between *absent* and *not stored*.
 * Writes nothing.
 */
import { type Address, type Hash32, latin1Key, readUint64, toHash32 } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { keccak256 } from '../../primitives/keccak.js'
import { NotStoredError, type Wanted, wantedKey } from '../../primitives/notStored.js'
import { decodeRlp, decodeRlpList, rlpBytes } from '../../primitives/rlp.js'
import { ChainReader, type ChainReaderOptions } from '../store/chainReader.js'
import {
  type ChainRows,
  type Evidence,
  type ReportedJson,
  type ReportedPart,
  readReportedRow,
  reportedKey,
  slotInTrie,
  storeKindOf,
  type TransactionLocation,
} from '../store/chainRows.js'
import { readNamedPlace } from '../store/layouts/locations.js'
import type { ReceiptList } from '../store/layouts/packedReceipts.js'
import {
  readBounds,
  readStoredSlot,
  readStoredValue,
  storedValueKey,
  type ValueBounds,
} from '../store/layouts/storedValueRows.js'
import { lastAlike, logRangeAt } from '../store/logRanges.js'
import type { StoredBlock } from '../store/storedBlock.js'
import { keyAfterPrefix, metaKeys } from '../store/tables.js'
import { ValueUse } from '../store/valueUse.js'
import { checkCodeKnown, decodeAccount } from './account.js'
import { readTrie } from './trie.js'
import { MissingNodeError } from './trieNode.js'

/**
 * Most names of blocks and transactions that no upstream knew at this head. That covers some thousand requests per
 * second until the next block; further ones are asked again.
 */
const absentMax = 16_384
/**
 * Time for which that is remembered, in ms: a node that was out of service may know them, and return before the next
 * head.
 */
const absentMs = 2_000

/**
 * Most slots of an absent account that are stored, to stay current if the account is created. Further slots are zero
 * without that.
 */
const absentSlotsMax = 64

/**
 * Most slots of an account that are stored for the reads at one head if stored nodes prove them. For further slots only
 * the value is read. Each stored slot costs a run of the call, and a call may read thousands.
 */
const walkedSlotsMax = 256
/** Most accounts whose slots are counted: more than the calls at one head read many slots of. */
const walkedAccountsMax = 1_024

/** A store with the members that only some kinds have. */
export type OpenRows = ChainReader & ChainRows

/** Opens a store with the reader of its kind. Throws as {@link ChainReader.open} does. */
export function openRows(options: ChainReaderOptions): OpenRows {
  return ChainReader.open(options, (identity) =>
    storeKindOf(identity).state === 'proved' ? ProvedRows : ChainReader,
  )
}

export class ProvedRows extends ChainReader implements ChainRows {
  readonly mayLack = true
  /** Name → time of the next request, in the time of `performance.now()`. */
  readonly #absent = new Map<string, number>()
  readonly #use = ValueUse.shared()
  #absentAt: number | undefined
  /** Address → number of its slots that were not stored at the head, block {@link #missedAt}. */
  readonly #missed = new Map<string, number>()
  #missedAt: number | undefined
  #evidence: Evidence = 'proved'

  /** Remembers until the head changes, or for {@link absentMs}, that no upstream knows a block or a transaction. */
  noteAbsent(wanted: Wanted): void {
    const head = this.readHead()?.number
    if (this.#absentAt !== head || this.#absent.size >= absentMax) this.#absent.clear()
    this.#absentAt = head
    this.#absent.set(wantedKey(wanted), performance.now() + absentMs)
  }

  /** The weakest {@link Faith} of all numbers and block parts that were read since the last call. */
  readEvidence(): Evidence {
    const evidence = this.#evidence
    this.#evidence = 'proved'
    return evidence
  }

  #note(evidence: Evidence): void {
    if (evidence !== 'proved' && this.#evidence !== 'none') this.#evidence = evidence
  }

  #noteReported(hash: Hash32, part: ReportedPart): void {
    const row = this.tables.reported.getBrief(reportedKey(hash, part), 1)
    if (row !== undefined) this.#note(readReportedRow(row).evidence)
  }

  readReported(hash: Hash32, part: ReportedPart): ReportedJson | undefined {
    const reported = this.reportedRow(hash, part)
    if (reported !== undefined) this.#note(reported.evidence)
    return reported
  }

  override mayBeHead(): boolean {
    return false
  }

  override readCanonicalHash(number: number): Hash32 | undefined {
    const hash = super.readCanonicalHash(number)
    if (hash !== undefined || number > (this.readHead()?.number ?? 0)) return hash
    throw new NotStoredError({ kind: 'canonical', number })
  }

  override readHeader(hash: Hash32): Uint8Array | undefined {
    return (super.readBlock(hash) ?? this.#notStored({ kind: 'header', hash }))?.header
  }

  override readBlock(hash: Hash32, number?: number): StoredBlock | undefined {
    const block = super.readBlock(hash, number) ?? this.#notStored({ kind: 'header', hash })
    this.#noteReported(hash, 'block')
    if (block !== undefined && !block.hasBody) throw new NotStoredError({ kind: 'body', hash })
    return block
  }

  override readBody(hash: Hash32, isBrief?: boolean): Uint8Array {
    const body = super.readBody(hash, isBrief)
    if (body === undefined) throw new NotStoredError({ kind: 'body', hash })
    return body
  }

  override readReceipts(hash: Hash32, lacksBlooms?: boolean): Uint8Array | undefined {
    return this.#receipts(hash, super.readReceipts(hash, lacksBlooms))
  }

  override readReceiptList(hash: Hash32): ReceiptList | undefined {
    return this.#receipts(hash, super.readReceiptList(hash))
  }

  #receipts<R>(hash: Hash32, found: R | undefined): R | undefined {
    this.#noteReported(hash, 'receipts')
    if (found !== undefined || this.readHeader(hash) === undefined) return found
    throw new NotStoredError({ kind: 'receipts', hash })
  }

  override readBlockAccessList(hash: Hash32): Uint8Array {
    const list = super.readBlockAccessList(hash)
    if (list === undefined) throw new NotStoredError({ kind: 'accessList', hash })
    return list
  }

  /** Also undefined if the blocks below it are not stored down to genesis. */
  override readTotalDifficulty(hash: Hash32): Uint8Array | undefined {
    const total = super.readBlock(hash)?.totalDifficulty
    return total?.length === 0 ? undefined : total
  }

  override readLocation(hash: Hash32): TransactionLocation | undefined {
    const location = readNamedPlace(this.tables.locations, hash)
    const number = location && this.tables.numbers.getBrief(location.blockHash)
    if (number === undefined) return this.#notStored({ kind: 'location', hash })
    this.noteNumber(readUint64(number, 0))
    return location
  }

  override readNode(hash: Uint8Array): Uint8Array | undefined {
    this.#use.note(hash)
    return super.readNode(hash)
  }

  override readCode(hash: Hash32): Uint8Array {
    this.#use.note(hash)
    const code = super.readCode(hash)
    if (code === undefined) throw new NotStoredError({ kind: 'code', hash })
    return code
  }

  knowsCode(hash: Hash32): boolean {
    const { code, meta } = this.tables
    return code.doesExist(hash) || meta.doesExist(metaKeys.codeOwner(hash))
  }

  override readAccount(address: Address): Uint8Array | undefined {
    return this.readAccountAt(address, this.#headNumber())
  }

  override readSlot(address: Address, slot: Hash32): Uint8Array | undefined {
    return this.readSlotAt(address, slot, this.#headNumber())
  }

  override readAccountAt(address: Address, number: number): Uint8Array | undefined {
    const key = storedValueKey('account', address)
    this.#use.note(key)
    const bounds = readBounds(this.tables.meta)
    const stored = bounds && readStoredValue(this.tables.values, bounds, key, number)
    const state = () => ({ kind: 'state', ...this.#stateAt(number), address, slots: [] }) as const
    if (stored !== undefined) {
      const row = stored.length === 0 ? undefined : stored
      checkCodeKnown(this, row && decodeAccount(row), state)
      return row
    }
    const wanted = state()
    this.#requireStored(bounds, number, wanted)
    const row = this.#walk(wanted, wanted.stateRoot, address)
    checkCodeKnown(this, row && decodeAccount(row), state)
    return row
  }

  override readSlotAt(address: Address, slot: Hash32, number: number): Uint8Array | undefined {
    this.#use.note(storedValueKey('slot', address, slot))
    const bounds = readBounds(this.tables.meta)
    const stored = bounds && readStoredSlot(this.tables.values, bounds, address, slot, number)
    if (stored !== undefined) return stored.length === 0 ? undefined : stored
    if (bounds !== undefined && this.#isAbsent(bounds, address, number)) return undefined
    const state = this.#stateAt(number)
    const wanted: Wanted = { kind: 'state', ...state, address, slots: [slot] }
    if (!this.#hasMissedMany(address, number)) this.#requireStored(bounds, number, wanted)
    const account = this.#walk(wanted, state.stateRoot, address)
    const value =
      account && this.#walk(wanted, decodeAccount(account).storageRoot, slotInTrie(slot, this.trieForm))
    return value && rlpBytes(decodeRlp(value))
  }

  logIndexAt(number: number): { readonly isIndexed: boolean; readonly last: number } {
    const ranges = this.readLogRanges()
    return { isIndexed: logRangeAt(ranges, number) !== undefined, last: lastAlike(ranges, number) }
  }

  override readAccountChanges(): never {
    throw new FaultError({ kind: 'NoAccountHistory' })
  }

  override slotsOf(_address: Address): never {
    throw new Error('tries do not store the names of slots')
  }

  override slotsOfAt(_address: Address, _number: number): never {
    throw new Error('tries do not store the names of slots')
  }

  #headNumber(): number {
    const head = this.readHead()
    if (head === undefined) throw new Error('a store without a head')
    return head.number
  }

  #stateAt(number: number): { readonly block: Hash32; readonly stateRoot: Hash32 } {
    const block = this.readCanonicalHash(number)
    const header = block && this.readHeader(block)
    if (block === undefined || header === undefined) throw new Error(`there is no block ${number}`)
    // The state root is the fourth field of every header (yellow paper 4.4).
    return { block, stateRoot: this.readRootByHand(block) ?? toHash32(rlpBytes(decodeRlpList(header)[3])) }
  }

  /**
   * Whether an account is known to be absent, and enough of its slots are stored. Calls with code overrides for it may
   * read thousands of slots, and each stored slot costs a run.
   */
  #isAbsent(bounds: ValueBounds, address: Address, number: number): boolean {
    const { values } = this.tables
    if (readStoredValue(values, bounds, storedValueKey('account', address), number)?.length !== 0)
      return false
    const start = storedValueKey('slot', address)
    let slots = 0
    for (const _ of values.getRange({ start, end: keyAfterPrefix(start), limit: absentSlotsMax })) slots++
    return slots === absentSlotsMax
  }

  /**
   * Counts a slot that is not stored. Returns true after many misses in this account: then stored nodes must suffice.
   */
  #hasMissedMany(address: Address, number: number): boolean {
    if (this.#missedAt !== number || this.#missed.size >= walkedAccountsMax) this.#missed.clear()
    this.#missedAt = number
    const name = latin1Key(address)
    const count = (this.#missed.get(name) ?? 0) + 1
    this.#missed.set(name, count)
    return count > walkedSlotsMax
  }

  /**
   * At the head, requested values must be stored: at the next head other nodes prove them. The fetcher finds what
   * stored nodes prove already.
   */
  #requireStored(bounds: ValueBounds | undefined, number: number, wanted: Wanted): void {
    if (bounds !== undefined && number === this.readHead()?.number) throw new NotStoredError(wanted)
  }

  #walk(wanted: Wanted, root: Hash32, key: Uint8Array): Uint8Array | undefined {
    try {
      return readTrie(root, keccak256(key), (hash) => this.readNode(hash))
    } catch (error) {
      if (error instanceof MissingNodeError) throw new NotStoredError(wanted)
      throw error
    }
  }

  /** Numbers below the headers that are linked to the head are only reported by upstreams. */
  noteNumber(number: number): void {
    const linkedFrom = this.tables.meta.getBrief(metaKeys.linkedFrom)
    if (linkedFrom !== undefined && number < readUint64(linkedFrom, 0)) this.#note('quorum')
  }

  #notStored(wanted: Wanted): undefined {
    const until = this.#absentAt === this.readHead()?.number ? this.#absent.get(wantedKey(wanted)) : undefined
    if (until !== undefined && performance.now() < until) return undefined
    throw new NotStoredError(wanted)
  }
}
