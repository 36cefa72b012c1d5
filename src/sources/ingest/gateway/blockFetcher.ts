/**
 * Reads parts of blocks from upstreams and proves them: headers by their hash; bodies, receipts and access lists by the
 * commitments in the header. Stores nothing.
 */

import type { BlockAccessList } from '../../../data/chain/blockAccessList.js'
import { UnknownTypeError } from '../../../data/chain/blockFromJson.js'
import type { ChainFamily } from '../../../data/chain/families/family.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { type Header, isProofOfStake, requireKnownFork } from '../../../data/chain/header.js'
import type { ReportedJson } from '../../../data/store/chainRows.js'
import type { CanonicalHeader, FetchedReceipts } from '../../../data/store/gatewayWriter.js'
import { senderBytes } from '../../../data/store/storedBlock.js'
import { BlockParts, bodyHashes, readBody } from '../../../execution/evm/blocks/blockParts.js'
import { bytesToHex, equalBytes, type Hash32, toQuantity } from '../../../primitives/bytes.js'
import { waitedForLater } from '../../../primitives/deferred.js'
import type { RlpItem } from '../../../primitives/rlp.js'
import type { TransactionTypes } from '../../../primitives/transactionTypes.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import type { Block } from '../blocks/block.js'
import {
  accessListMethods,
  askAccessList,
  askBlockRlp,
  askHeaderAt,
  askRawTransaction,
  askReceipts,
  askReceiptsJson,
  checkAccessList,
  readBlock,
  witnessMethods,
} from '../nodes/askedParts.js'
import { LackError, LieError } from '../nodes/lie.js'
import {
  type Asking,
  type Attempt,
  type ProveOptions,
  Proving,
  type ProvingOptions,
  unavailable,
} from '../nodes/proving.js'
import { requireReceiptForm } from '../nodes/receiptsFromJson.js'
import { readFamilyBlock, readFamilyHeader, readFamilyReceipts } from './familyBlock.js'
import type { HotSet } from './hotSet.js'

/** A block whose parts match its hash. */
export interface ProvedBlock extends Pick<Block, 'hash' | 'header' | 'headerRlp' | 'bodyRlp'> {
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
  /** For a chain of another family, and for a block with transactions of an unknown type. */
  readonly reported?: ReportedJson | undefined
}

/** A block whose receipts are requested. */
export type ReceiptsBlock = Pick<ProvedBlock, 'hash' | 'header' | 'reported'>

/** A block access list that its header commits to. */
interface ProvedList {
  readonly rlp: Uint8Array
  readonly list: BlockAccessList
}

export interface FetcherOptions extends ProvingOptions {
  readonly schedule: ForkSchedule
  /** Gets sentences about problems, for the operator. */
  readonly log?: (text: string) => void
  /** The data in use; if absent, nothing is proved with a head. */
  readonly hot?: HotSet
}

export class BlockFetcher {
  readonly proving: Proving
  protected readonly options: FetcherOptions
  readonly #parts: BlockParts
  readonly #schedule: ForkSchedule
  readonly #quorum: () => number
  /** Unknown types of transactions that were already logged. */
  readonly #unknownTypes = new Set<number>()

  constructor(upstreams: Asking, options: FetcherOptions) {
    this.options = options
    this.#quorum = () => upstreams.quorum
    this.proving = new Proving(upstreams, options)
    this.#parts = new BlockParts(options.schedule)
    this.#schedule = options.schedule
  }

  /** A block by its hash, proved; undefined if no node has it. `first`: see {@link Proving.prove}. */
  async readBlock(hash: Hash32, first?: Upstream): Promise<ProvedBlock | undefined> {
    const read = (attempt: Attempt) => this.blockFrom(hash, attempt)
    const what = `block ${bytesToHex(hash)}`
    const rows = ({ headerRlp, bodyRlp, senders }: ProvedBlock) => [headerRlp, bodyRlp, senders]
    return this.#agreed(what, read, await this.proving.prove(what, read, { first }), rows)
  }

  /** An unproved result counts if a quorum of nodes reports the same. A proved result needs no others. */
  async #agreed<T extends { readonly reported?: ReportedJson | undefined }>(
    what: string,
    read: (attempt: Attempt) => Promise<T | undefined>,
    found: T | undefined,
    rows: (found: T) => readonly Uint8Array[],
  ): Promise<T | undefined> {
    if (found?.reported?.evidence !== 'none' || this.#quorum() === 1) return found
    const byRows = new Map<string, T[]>()
    const agreed = await this.proving.agree(read, (each) => {
      const key = rows(each).map(bytesToHex).join()
      byRows.set(key, [...(byRows.get(key) ?? []), each])
      return each.reported === undefined ? key : `${key} ${sortedJson(each.reported.json)}`
    })
    if (agreed?.reported !== undefined)
      return { ...agreed, reported: { ...agreed.reported, evidence: 'quorum' } }
    // Members that are not in the rows come from one node alone.
    const [alike] = [...byRows.values()].find(({ length }) => length >= this.#quorum()) ?? []
    if (alike?.reported === undefined)
      throw unavailable(`fewer than ${this.#quorum()} upstreams agree on ${what}`)
    return alike
  }

  protected async blockFrom(hash: Hash32, attempt: Attempt): Promise<ProvedBlock | undefined> {
    const { family } = this.#schedule
    if (family.execution === undefined) return this.#familyBlock(hash, attempt, family)
    try {
      return await this.#ethereumBlock(hash, attempt)
    } catch (error) {
      if (!(error instanceof UnknownTypeError)) throw error
      if (!this.#unknownTypes.has(error.number))
        this.options.log?.(
          `${error.message}: transactions of this type are served as upstreams report them, with Tidegate-Trust`,
        )
      this.#unknownTypes.add(error.number)
      return this.#unknownBlock(hash, attempt)
    }
  }

  get #types(): TransactionTypes {
    return this.#schedule.family.transactionTypes
  }

  /** For a block with transactions of unknown types: its receipts may have unknown fields, too. */
  get #unknownFamily(): ChainFamily {
    return { ...this.#schedule.family, reportable: ['receipts'] }
  }

  /** A block with transactions of unknown types. */
  async #unknownBlock(hash: Hash32, attempt: Attempt): Promise<ProvedBlock | undefined> {
    const block = await this.#familyBlock(hash, attempt, this.#unknownFamily)
    // A part that one answer falsified may be correct in the next answer.
    const isKnown =
      block &&
      readBody(block.bodyRlp, block.header).transactions.every((item) => isKnownItem(item, this.#types))
    return isKnown ? { ...block, reported: undefined } : block
  }

  async #familyBlock(hash: Hash32, attempt: Attempt, family: ChainFamily): Promise<ProvedBlock | undefined> {
    const answer = await attempt.ask('eth_getBlockByHash', [bytesToHex(hash), true])
    if (answer === null) return undefined
    const rawOf = (transaction: string, index: number) => askRawTransaction(hash, transaction, index, attempt)
    const { chainId } = this.options.schedule.config
    const block = await readFamilyBlock(answer, { family, chainId, rawOf })
    if (equalBytes(block.hash, hash)) return block
    throw new LieError(`block ${bytesToHex(hash)} with the hash ${bytesToHex(block.hash)}`)
  }

  async #ethereumBlock(hash: Hash32, attempt: Attempt): Promise<ProvedBlock | undefined> {
    const rlp = await askBlockRlp(hash, attempt, this.#schedule)
    if (rlp === undefined) return undefined
    const block = readBlock(rlp)
    const { header, bodyRlp } = block
    if (!equalBytes(block.hash, hash)) {
      throw new LieError(`block ${bytesToHex(hash)} with the hash ${bytesToHex(block.hash)}`)
    }
    // The parts after the body are defined only for known forks.
    if (block.blockAccessList !== undefined) requireKnownFork(header)
    requireKnownTypes(bodyRlp, header, this.#types)
    const senders = this.#parts.checkBody(
      bodyRlp,
      header,
      isProofOfStake(header),
      (part, what) => new LieError(`block ${header.number}, whose ${part} ${what}`),
    )
    return { hash, header, headerRlp: Uint8Array.from(block.headerRlp), bodyRlp, senders }
  }

  /**
   * Receipts of a block, proved; undefined if no node has them. The request is sent at once, even before the block has
   * arrived.
   */
  async readReceipts(
    hash: Hash32,
    block: ReceiptsBlock | Promise<ReceiptsBlock | undefined>,
    first?: Upstream,
  ): Promise<FetchedReceipts | undefined> {
    const { family } = this.#schedule
    const read = async (attempt: Attempt): Promise<FetchedReceipts | undefined> => {
      if (family.execution === undefined) return this.#familyReceipts(hash, attempt, await block, family)
      const header = waitedForLater(Promise.resolve(block).then((of) => of?.header))
      const [row, of] = await Promise.all([askReceipts(hash, attempt, header, this.#types), block])
      if (of?.reported !== undefined) return this.#familyReceipts(hash, attempt, of, this.#unknownFamily)
      if (row === undefined || of === undefined) return undefined
      try {
        this.#parts.checkReceipts(
          row,
          of.header,
          (part, what) => new LieError(`${part} of block ${of.header.number} that ${what}`),
        )
      } catch (error) {
        requireReceiptForm(row)
        throw error
      }
      return { row }
    }
    const what = `the receipts of block ${bytesToHex(hash)}`
    return this.#agreed(what, read, await this.proving.prove(what, read, { first }), ({ row }) => [row])
  }

  async #familyReceipts(
    hash: Hash32,
    attempt: Attempt,
    block: ReceiptsBlock | undefined,
    family: ChainFamily,
  ): Promise<FetchedReceipts | undefined> {
    const answer = block && (await askReceiptsJson(hash, attempt))
    if (block === undefined || answer === undefined) return undefined
    const { reported = await this.#familyBlock(hash, attempt, family).then((of) => of?.reported) } = block
    return reported && readFamilyReceipts(answer, { ...block, reported }, family)
  }

  /** The access list of a block, proved and checked; undefined if no node has it. Requested as {@link readReceipts}. */
  async readAccessList(
    hash: Hash32,
    block: ProvedBlock | Promise<ProvedBlock | undefined>,
    options: ProveOptions = {},
  ): Promise<ProvedList | undefined> {
    const read = async (attempt: Attempt) => {
      const asked = unlessRefused(askAccessList(hash, attempt), accessListMethods, block)
      const [rlp, of] = await Promise.all([asked, block])
      // Before Amsterdam no header commits to a list.
      if (rlp === undefined || of?.header.blockAccessListHash === undefined) return undefined
      return { rlp, list: checkAccessList(rlp, of.header, of.senders.length / senderBytes) }
    }
    const what = `the access list of block ${bytesToHex(hash)}`
    return this.proving.prove(what, read, { methods: accessListMethods, ...options })
  }

  /**
   * The result of `execute` for a block's witness; undefined if no node has one. Requested as {@link readReceipts}.
   * `execute` throws for a lie.
   */
  async readWitness<T>(
    hash: Hash32,
    block: Promise<ProvedBlock | undefined>,
    options: ProveOptions,
    execute: (answer: unknown, block: ProvedBlock) => T,
  ): Promise<T | undefined> {
    const read = async (attempt: Attempt) => {
      const questions = witnessMethods.map((method) => ({ method, params: [bytesToHex(hash)] }))
      const asked = unlessRefused(attempt.askOneOf(questions), witnessMethods, block)
      const [{ result }, of] = await Promise.all([asked, block])
      return result === null || of === undefined ? undefined : execute(result, of)
    }
    const what = `the witness of block ${bytesToHex(hash)}`
    return this.proving.prove(what, read, { methods: witnessMethods, ...options })
  }

  /** The header of a number from some node; only its number is checked. Undefined if no node has it. */
  async readHeaderAt(number: number): Promise<CanonicalHeader | undefined> {
    return this.proving.prove(`block ${number}`, (attempt) => this.#headerAt(number, attempt))
  }

  /** The header of a number that a quorum of nodes has; undefined if fewer agree. */
  async readAgreed(number: number): Promise<CanonicalHeader | undefined> {
    return this.proving.agree(
      (attempt) => this.#headerAt(number, attempt),
      ({ hash }) => bytesToHex(hash),
    )
  }

  async #headerAt(number: number, attempt: Attempt): Promise<CanonicalHeader | undefined> {
    const { family } = this.#schedule
    if (family.execution !== undefined) return askHeaderAt(number, attempt, this.#schedule)
    const answer = await attempt.ask('eth_getBlockByNumber', [toQuantity(number), false])
    if (answer === null) return undefined
    const { hash, header, headerRlp } = readFamilyHeader(answer, family)
    if (header.number !== number) throw new LieError(`block ${header.number} instead of ${number}`)
    return { number, hash, header: headerRlp, totalDifficulty: undefined }
  }
}

/** Words with which a node reports that it lacks a block, possibly only for now. */
const absence = /not found|unknown block|missing trie|unavailable|not available|pruned/i

/** The answer; rejects with {@link LackError} if a node refuses these methods, in any words, for an existing block. */
async function unlessRefused<T>(
  asked: Promise<T>,
  methods: readonly string[],
  block: ProvedBlock | Promise<ProvedBlock | undefined>,
): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof NodeError) || absence.test(error.message)) throw error
    if ((await block) === undefined) throw error
    throw new LackError(methods, error.message)
  }
}

/** Throws {@link UnknownTypeError} if the header commits to a body with transactions of unknown types. */
function requireKnownTypes(bodyRlp: Uint8Array, header: Header, types: TransactionTypes): void {
  const body = readBody(bodyRlp, header)
  const unknown = body.transactions.find((item) => !isKnownItem(item, types))
  if (unknown === undefined || !equalBytes(bodyHashes(body).transactionsRoot, header.transactionsRoot)) return
  throw new UnknownTypeError((unknown as Uint8Array)[0] ?? 0)
}

function isKnownItem(item: RlpItem, types: TransactionTypes): boolean {
  return !(item instanceof Uint8Array) || types.has(item[0] ?? 0)
}

/**
 * JSON in one form for all nodes with the same meaning: sorted by names, in lower case, without members that are null.
 */
function sortedJson(json: Uint8Array): string {
  return JSON.stringify(JSON.parse(Buffer.from(json).toString()), (_name, value: unknown) => {
    if (typeof value === 'string') return value.toLowerCase()
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const members = Object.entries(value).filter(([, member]) => member !== null)
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
