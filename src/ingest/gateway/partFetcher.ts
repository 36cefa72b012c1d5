/**
 * Fetches what a gateway lacks, proves it, and stores it. Owns which questions are asked of upstreams, and how their
 * answers are checked: headers by their hash, bodies and receipts by the header's roots, state by Merkle proofs under
 * its state root, code by its hash. An answer that is wrong is a lie: its upstream is accused, and another is asked.
 */
import {
  BlockJsonError,
  blockRlpFromJson,
  headerRlpFromJson,
  uncleHashesOf,
} from '../../chain/blockFromJson.js'
import type { ForkSchedule } from '../../chain/forks.js'
import { decodeHeader, type Header, headerHash } from '../../chain/header.js'
import {
  type Address,
  bytesToHex,
  equalBytes,
  type Hash32,
  toHash32,
  toQuantity,
} from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { keccak256 } from '../../primitives/keccak.js'
import type { Wanted } from '../../primitives/notHeld.js'
import { encodeRlpListOfEncoded, RlpError, rlpListSpans, rlpSpanAt } from '../../primitives/rlp.js'
import { transactionHashes } from '../../store/chainWriter.js'
import type { CanonicalHeader, GatewayWriter } from '../../store/gatewayWriter.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { BlockParts } from '../blockParts.js'
import { checkProof } from './accountProof.js'
import { LieError } from './lie.js'
import { bytesOf, receiptsFromJson, receiptsFromRaw } from './receiptsFromJson.js'

/** A block as RLP. */
export interface RawBlock {
  readonly header: Uint8Array
  /** RLP list: transactions, uncles and, since Shanghai, withdrawals. */
  readonly body: Uint8Array
}

/** A block whose parts match its hash. */
export interface ProvedBlock extends RawBlock {
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
}

/** `held`: stored. `absent`: nobody asked knows it. */
export type Outcome = 'held' | 'absent'

export interface FetcherOptions {
  readonly schedule: ForkSchedule
  /** Upstreams that have to agree on what cannot be proved: the hash of a number far below the head. */
  readonly quorum: number
  /** Longest time for one thing that is fetched, with all repetitions. */
  readonly fetchMsMax: number
  /** Called with each lie, as a sentence for the operator. */
  readonly log: (text: string) => void
}

/** Nodes that have to say that there is no such block or transaction, where there are so many: that cannot be proved. */
const denialsMin = 2

/** JSON-RPC codes of nodes that do not have a method. */
const unknownMethodCodes: ReadonlySet<number> = new Set([-32601, -32600, -32004])

/** Asks one question of a node that has not failed yet at what is to be proved; `not` excludes further ones. */
type Ask = (method: string, params: readonly unknown[], not?: Iterable<Upstream>) => Promise<unknown>

/** What is needed of {@link Upstreams}. */
export type Asking = Pick<Upstreams, 'ask' | 'answering'>

export class PartFetcher {
  readonly #store: GatewayWriter
  readonly #upstreams: Asking
  readonly #options: FetcherOptions
  readonly #parts: BlockParts
  /** By name: what is being fetched. */
  readonly #underWay = new Map<string, Promise<Outcome>>()
  /** Nodes without the `debug_getRaw…` methods. */
  readonly #rawless = new Set<Upstream>()

  constructor(store: GatewayWriter, upstreams: Asking, options: FetcherOptions) {
    this.#store = store
    this.#upstreams = upstreams
    this.#options = options
    this.#parts = new BlockParts(options.schedule)
  }

  /**
   * Fetches one thing; several that want the same at once share it. Rejects with FaultError where no upstream gives a
   * right answer.
   */
  fetch(wanted: Wanted): Promise<Outcome> {
    const name = nameOf(wanted)
    const running = this.#underWay.get(name)
    if (running !== undefined) return running
    const outcome = this.#fetch(wanted).finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, outcome)
    return outcome
  }

  async #fetch(wanted: Wanted): Promise<Outcome> {
    switch (wanted.kind) {
      case 'canonical':
        return this.#apart(wanted.number)
      case 'header':
      case 'body':
        return this.#block(wanted.hash)
      case 'receipts': {
        const { hash, others = [] } = wanted
        // A failure shows again when it is their turn.
        const rest = others.map((other) =>
          this.fetch({ kind: 'receipts', hash: other }).catch(() => undefined),
        )
        const [outcome] = await Promise.all([this.#receipts(hash), ...rest])
        return outcome
      }
      case 'location':
        return this.#location(wanted.hash)
      case 'code':
        return this.#code(wanted.hash)
      case 'state':
        return this.#state(wanted.stateRoot, wanted.address as Address, wanted.slots as readonly Hash32[])
    }
  }

  /** A block by its hash, proved; undefined where nobody knows it. */
  async readBlock(hash: Hash32): Promise<ProvedBlock | undefined> {
    return this.#prove(`block ${bytesToHex(hash)}`, (ask) => this.#blockFrom(hash, ask))
  }

  async #blockFrom(hash: Hash32, ask: Ask): Promise<ProvedBlock | undefined> {
    const block = await this.#rawBlock(hash, ask)
    if (block === undefined) return undefined
    const got = headerHash(block.header)
    if (!equalBytes(got, hash)) {
      throw new LieError(`block ${bytesToHex(hash)} with the hash ${bytesToHex(got)}`)
    }
    const header = decodeHeader(block.header)
    const senders = this.#parts.checkBody(
      block.body,
      header,
      isProofOfStake(header),
      (part, what) => new LieError(`block ${header.number}, whose ${part} ${what}`),
    )
    return { ...block, senders }
  }

  /** Receipts of a block with this header, proved; undefined where nobody has them. A row of the store. */
  async readReceipts(hash: Hash32, header: Header): Promise<Uint8Array | undefined> {
    return this.#prove(`the receipts of block ${header.number}`, async (ask) => {
      const receipts = await this.#rawReceipts(hash, ask)
      if (receipts === undefined) return undefined
      this.#parts.checkReceipts(
        receipts,
        header,
        (part, what) => new LieError(`${part} of block ${header.number} that ${what}`),
      )
      return receipts
    })
  }

  /** The header of a number as some node has it; only its number is checked. Undefined where nobody has it. */
  async readHeaderAt(number: number): Promise<CanonicalHeader | undefined> {
    return this.#prove(`block ${number}`, (ask) => this.#headerAt(number, ask))
  }

  async #block(hash: Hash32): Promise<Outcome> {
    const block = await this.readBlock(hash)
    if (block === undefined) return 'absent'
    this.#store.putSideHeader(hash, block.header)
    this.#store.putContent(hash, block)
    return 'held'
  }

  async #receipts(hash: Hash32): Promise<Outcome> {
    const header = this.#store.readHeader(hash)
    if (header === undefined) return 'absent'
    const decoded = decodeHeader(header)
    const row = await this.readReceipts(hash, decoded)
    if (row === undefined) throw unavailable(`no upstream has the receipts of block ${decoded.number}`)
    this.#store.putReceipts(hash, row)
    return 'held'
  }

  /** Header of a number that no chain of headers links to the head: `quorum` nodes have to say the same. */
  async #apart(number: number): Promise<Outcome> {
    const votes = new Map<string, number>()
    const found = await this.#prove(`block ${number}`, async (ask) => {
      const header = await this.#headerAt(number, ask)
      if (header === undefined) return undefined
      const key = bytesToHex(header.hash)
      const count = (votes.get(key) ?? 0) + 1
      votes.set(key, count)
      return count >= this.#options.quorum ? header : undefined
    })
    if (found === undefined) {
      throw unavailable(`fewer than ${this.#options.quorum} upstreams agree on block ${number}`)
    }
    this.#store.putApart(found)
    return 'held'
  }

  async #location(transactionHash: Hash32): Promise<Outcome> {
    const text = bytesToHex(transactionHash)
    const found = await this.#prove(`transaction ${text}`, async (ask) => {
      const answer = (await ask('eth_getTransactionByHash', [text])) as {
        readonly blockHash?: unknown
      } | null
      // Of a transaction that waits for its block nothing can be proved.
      if (answer === null || answer.blockHash === null) return undefined
      if (typeof answer.blockHash !== 'string') throw new LieError(`transaction ${text} without its block`)
      const blockHash = toHash32(fixed(answer.blockHash, 32))
      const block = await this.#blockFrom(blockHash, ask)
      const index = block && indexIn(block.senders, transactionHash)
      if (block === undefined || index === undefined) {
        throw new LieError(`transaction ${text} in block ${answer.blockHash}, which does not have it`)
      }
      return { blockHash, block, index }
    })
    if (found === undefined) return 'absent'
    const { blockHash, block, index } = found
    const { number } = decodeHeader(block.header)
    if (number > (this.#store.readHead()?.number ?? 0)) return 'absent'
    if (this.#store.readCanonicalRow(number) === undefined) await this.#apart(number)
    if (!this.#store.isCanonical(number, blockHash)) return 'absent'
    this.#store.putContent(blockHash, block)
    this.#store.putLocation(transactionHash, { blockHash, index })
    return 'held'
  }

  async #state(stateRoot: Hash32, address: Address, slots: readonly Hash32[]): Promise<Outcome> {
    const number = this.#store.readBlockOfState(stateRoot)
    const hash = number === undefined ? undefined : this.#store.readCanonicalHash(number)
    const what = `the state ${bytesToHex(stateRoot)}`
    if (number === undefined || hash === undefined) throw unavailable(`${what} is of no known block`)
    const params = [bytesToHex(address), slots.map(bytesToHex), { blockHash: bytesToHex(hash) }]
    const proved = await this.#prove(what, async (ask) =>
      checkProof(await ask('eth_getProof', params), { stateRoot, address, slots }),
    )
    if (proved === undefined) throw unavailable(`${what} is not available`)
    this.#store.putState(proved.nodes, proved.codeHash, { number, address })
    return 'held'
  }

  async #code(codeHash: Hash32): Promise<Outcome> {
    const owner = this.#store.readCodeOwner(codeHash)
    if (owner === undefined) throw unavailable(`the code ${bytesToHex(codeHash)} is of no known account`)
    const params = [bytesToHex(owner.address), toQuantity(owner.number)]
    const code = await this.#prove(`the code ${bytesToHex(codeHash)}`, async (ask) => {
      const code = bytesOf(await ask('eth_getCode', params))
      if (equalBytes(keccak256(code), codeHash)) return code
      throw new LieError(`code of ${params[0]} whose hash is not ${bytesToHex(codeHash)}`)
    })
    if (code === undefined) throw unavailable(`no upstream has the code ${bytesToHex(codeHash)}`)
    this.#store.putCode(codeHash, code)
    return 'held'
  }

  async #rawBlock(hash: Hash32, ask: Ask): Promise<RawBlock | undefined> {
    const raw = await this.#raw('debug_getRawBlock', hash, ask)
    if (raw !== undefined) return splitBlock(bytesOf(raw))
    const json = await ask('eth_getBlockByHash', [bytesToHex(hash), true])
    if (json === null) return undefined
    const uncles = uncleHashesOf(json).map(async (_, index) =>
      headerRlpFromJson(await ask('eth_getUncleByBlockHashAndIndex', [bytesToHex(hash), toQuantity(index)])),
    )
    return splitBlock(blockRlpFromJson(json, await Promise.all(uncles)))
  }

  async #rawReceipts(hash: Hash32, ask: Ask): Promise<Uint8Array | undefined> {
    const raw = await this.#raw('debug_getRawReceipts', hash, ask)
    if (raw !== undefined) return receiptsFromRaw(raw)
    const json = await ask('eth_getBlockReceipts', [bytesToHex(hash)])
    return json === null ? undefined : receiptsFromJson(json)
  }

  async #headerAt(number: number, ask: Ask): Promise<CanonicalHeader | undefined> {
    const raw = await this.#raw('debug_getRawHeader', number, ask)
    if (raw !== undefined) return readCanonical(bytesOf(raw), number)
    const json = await ask('eth_getBlockByNumber', [toQuantity(number), false])
    if (json === null) return undefined
    const found = readCanonical(headerRlpFromJson(json), number)
    const { hash } = json as { readonly hash?: unknown }
    if (String(hash).toLowerCase() === bytesToHex(found.hash)) return found
    throw new LieError(`block ${number} with the hash ${bytesToHex(found.hash)}, called ${hash}`)
  }

  /** The answer of a method that not every node has; undefined where none has it, or none knows such a block. */
  async #raw(method: string, block: Hash32 | number, ask: Ask): Promise<unknown> {
    const params = [typeof block === 'number' ? toQuantity(block) : bytesToHex(block)]
    while (this.#upstreams.answering.some((upstream) => !this.#rawless.has(upstream))) {
      try {
        return (await ask(method, params, this.#rawless)) ?? undefined
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        // Of an unknown block some nodes answer with an error: the JSON method tells.
        if (!unknownMethodCodes.has(error.code)) return undefined
        this.#rawless.add(error.upstream)
      }
    }
    return undefined
  }

  /**
   * What `prove` returns for the first node whose answers are right; undefined where those that answer know nothing of
   * it. `prove` asks, throws {@link LieError} or RlpError for what is wrong, and returns undefined for null. Rejects
   * with FaultError where nobody gives a right answer.
   */
  async #prove<T>(what: string, prove: (ask: Ask) => Promise<T | undefined>): Promise<T | undefined> {
    const deadline = performance.now() + this.#options.fetchMsMax
    const passed = new Set<Upstream>()
    const reasons: string[] = []
    let denials = 0
    while (denials < denialsMin && this.#upstreams.answering.some((upstream) => !passed.has(upstream))) {
      let last: Upstream | undefined
      const ask: Ask = async (method, params, not = []) => {
        const asked = await this.#upstreams.ask(method, params, { deadline, not: [...passed, ...not] })
        last = asked.upstream
        return asked.result
      }
      try {
        const proved = await prove(ask)
        if (proved !== undefined) return proved
        denials++
      } catch (error) {
        if (error instanceof NoAnswerError) throw unavailable(error.message)
        if (error instanceof NodeError) last = error.upstream
        else if (!isLie(error)) throw error
        else if (last !== undefined) this.#accuse(last, error.message)
        reasons.push(`${last?.name}: ${(error as Error).message}`)
      }
      if (last === undefined) throw new Error(`nobody was asked for ${what}`)
      passed.add(last)
    }
    if (denials > 0) return undefined
    throw unavailable(`no upstream gave ${what} (${reasons.join('; ') || 'none answers'})`)
  }

  #accuse(upstream: Upstream, what: string): void {
    upstream.accuse(what)
    this.#options.log(`upstream ${upstream.name} lied and is not asked for a while: ${what}`)
  }
}

/** Whether a block is one of proof of stake (EIP-3675). */
export function isProofOfStake({ difficulty, number }: Header): boolean {
  return difficulty === 0n && number > 0
}

/** A block's RLP as header and body. Throws RlpError. */
export function splitBlock(rlp: Uint8Array): RawBlock {
  const spans = rlpListSpans(rlp, rlpSpanAt(rlp, 0))
  const [header, ...rest] = spans.map(({ start, end }) => rlp.slice(start, end))
  if (header === undefined || rest.length < 2) throw new RlpError('a block has 3 or 4 parts', 0)
  return { header, body: encodeRlpListOfEncoded(rest) }
}

/** A header that is to be canonical. Throws {@link LieError} where it has another number. */
export function readCanonical(rlp: Uint8Array, number: number): CanonicalHeader {
  const header = decodeHeader(rlp)
  if (header.number !== number) throw new LieError(`block ${header.number} instead of ${number}`)
  return {
    number,
    hash: headerHash(rlp),
    header: rlp,
    stateRoot: header.stateRoot,
    totalDifficulty: undefined,
  }
}

/** Whether an answer was wrong, rather than absent. */
function isLie(error: unknown): error is Error {
  return error instanceof LieError || error instanceof RlpError || error instanceof BlockJsonError
}

/** `why` is the whole text. */
function unavailable(why: string): FaultError {
  return new FaultError({ kind: 'UpstreamsFailed', why })
}

function indexIn(senders: Uint8Array, transactionHash: Hash32): number | undefined {
  for (const [index, hash] of transactionHashes(senders)) if (equalBytes(hash, transactionHash)) return index
  return undefined
}

function fixed(hex: string, length: number): Uint8Array {
  const bytes = bytesOf(hex)
  if (bytes.length !== length) throw new LieError(`${length} bytes expected, got ${bytes.length}`)
  return bytes
}

function nameOf(wanted: Wanted): string {
  switch (wanted.kind) {
    case 'canonical':
      return `canonical ${wanted.number}`
    case 'state':
      return ['state', wanted.stateRoot, wanted.address, ...wanted.slots].map(textOf).join(' ')
    default:
      return `${wanted.kind} ${bytesToHex(wanted.hash)}`
  }
}

function textOf(part: string | Uint8Array): string {
  return typeof part === 'string' ? part : bytesToHex(part)
}
