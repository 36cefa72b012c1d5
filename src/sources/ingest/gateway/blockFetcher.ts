/**
 * Reads parts of blocks from upstreams, and proves them: headers by their hash, bodies, receipts and access lists by what
 * the header commits to. Stores nothing.
 */
import type { BlockAccessList } from '../../../data/chain/blockAccessList.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { type Header, isProofOfStake, requireKnownFork } from '../../../data/chain/header.js'
import type { BlockName, Marker } from '../../../data/store/chainRows.js'
import type { CanonicalHeader } from '../../../data/store/gatewayWriter.js'
import { BlockParts } from '../../../execution/evm/blocks/blockParts.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import type { Upstream } from '../../upstream/upstream.js'
import type { Block } from '../block.js'
import { blockNameOf } from '../mayMark.js'
import {
  accessListMethods,
  askAccessList,
  askBlock,
  askHeaderAt,
  askReceipts,
  checkAccessList,
  witnessMethods,
} from './askedParts.js'
import type { HotSet } from './hotSet.js'
import { LieError } from './lie.js'
import { type Asking, type Attempt, type ProveOptions, Proving, type ProvingOptions } from './proving.js'

/** A block whose parts match its hash. */
export interface ProvedBlock extends Pick<Block, 'hash' | 'header' | 'headerRlp' | 'bodyRlp'> {
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
}

/** A block access list that its header commits to. */
interface ProvedList {
  readonly rlp: Uint8Array
  readonly list: BlockAccessList
}

/** Bytes of a transaction's sender and hash. */
const senderBytes = 52

export interface FetcherOptions extends ProvingOptions {
  readonly schedule: ForkSchedule
  /** Told of what went wrong, as sentences for the operator. */
  readonly log?: (text: string) => void
  /** What is in use; absent: nothing is proved with a head. */
  readonly hot?: HotSet
}

export class BlockFetcher {
  readonly proving: Proving
  protected readonly options: FetcherOptions
  readonly #parts: BlockParts
  readonly #schedule: ForkSchedule

  constructor(upstreams: Asking, options: FetcherOptions) {
    this.options = options
    this.proving = new Proving(upstreams, options)
    this.#parts = new BlockParts(options.schedule)
    this.#schedule = options.schedule
  }

  /** A block by its hash, proved; undefined where nobody knows it. `first`: see {@link Proving.prove}. */
  async readBlock(hash: Hash32, first?: Upstream): Promise<ProvedBlock | undefined> {
    const read = (attempt: Attempt) => this.blockFrom(hash, attempt)
    return this.proving.prove(`block ${bytesToHex(hash)}`, read, { first })
  }

  protected async blockFrom(hash: Hash32, attempt: Attempt): Promise<ProvedBlock | undefined> {
    const block = await askBlock(hash, attempt, this.#schedule)
    if (block === undefined) return undefined
    const { header, bodyRlp } = block
    if (!equalBytes(block.hash, hash)) {
      throw new LieError(`block ${bytesToHex(hash)} with the hash ${bytesToHex(block.hash)}`)
    }
    // What comes after its body is known of known forks alone.
    if (block.blockAccessList !== undefined) requireKnownFork(header)
    const senders = this.#parts.checkBody(
      bodyRlp,
      header,
      isProofOfStake(header),
      (part, what) => new LieError(`block ${header.number}, whose ${part} ${what}`),
    )
    return { hash, header, headerRlp: Uint8Array.from(block.headerRlp), bodyRlp, senders }
  }

  /**
   * Receipts of a block, proved; undefined where nobody has them. A row of the store. They are asked for at once, also
   * where the header is still to come.
   */
  async readReceipts(
    hash: Hash32,
    header: Header | Promise<Header | undefined>,
    first?: Upstream,
  ): Promise<Uint8Array | undefined> {
    const read = async (attempt: Attempt) => {
      const [receipts, of] = await Promise.all([askReceipts(hash, attempt, header), header])
      if (receipts === undefined || of === undefined) return undefined
      this.#parts.checkReceipts(
        receipts,
        of,
        (part, what) => new LieError(`${part} of block ${of.number} that ${what}`),
      )
      return receipts
    }
    return this.proving.prove(`the receipts of block ${bytesToHex(hash)}`, read, { first })
  }

  /** The access list of a block, proved and checked; undefined where nobody has it. Asked for as {@link readReceipts}. */
  async readAccessList(
    hash: Hash32,
    block: ProvedBlock | Promise<ProvedBlock | undefined>,
    options: ProveOptions = {},
  ): Promise<ProvedList | undefined> {
    const read = async (attempt: Attempt) => {
      const [rlp, of] = await Promise.all([askAccessList(hash, attempt), block])
      // Before Amsterdam nothing says what a list has to be.
      if (rlp === undefined || of?.header.blockAccessListHash === undefined) return undefined
      return { rlp, list: checkAccessList(rlp, of.header, of.senders.length / senderBytes) }
    }
    const what = `the access list of block ${bytesToHex(hash)}`
    return this.proving.prove(what, read, { methods: accessListMethods, ...options })
  }

  /**
   * What `execute` makes of a block's witness; undefined where nobody has one. Asked for as {@link readReceipts}.
   * `execute` throws what a lie throws.
   */
  async readWitness<T>(
    hash: Hash32,
    block: Promise<ProvedBlock | undefined>,
    options: ProveOptions,
    execute: (answer: unknown, block: ProvedBlock) => T,
  ): Promise<T | undefined> {
    const read = async (attempt: Attempt) => {
      const [{ result }, of] = await Promise.all([
        attempt.askOneOf(witnessMethods.map((method) => ({ method, params: [bytesToHex(hash)] }))),
        block,
      ])
      return result === null || of === undefined ? undefined : execute(result, of)
    }
    const what = `the witness of block ${bytesToHex(hash)}`
    return this.proving.prove(what, read, { methods: witnessMethods, ...options })
  }

  /** The header of a number as some node has it; only its number is checked. Undefined where nobody has it. */
  async readHeaderAt(number: number): Promise<CanonicalHeader | undefined> {
    return this.proving.prove(`block ${number}`, (attempt) => askHeaderAt(number, attempt))
  }

  /** The header of a number that a quorum of nodes has; undefined where fewer agree. */
  async readAgreed(number: number): Promise<CanonicalHeader | undefined> {
    return this.proving.agree(
      (attempt) => askHeaderAt(number, attempt),
      ({ hash }) => bytesToHex(hash),
    )
  }

  /** The block that an upstream calls safe or finalized; undefined where none says one. Unproved. */
  async readMarked(marker: Marker): Promise<BlockName | undefined> {
    return blockNameOf(await this.proving.guess('eth_getBlockByNumber', [marker, false]))
  }
}
