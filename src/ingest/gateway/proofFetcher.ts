/**
 * Fetches what a gateway lacks, proves it, and stores it. Owns which questions are asked of upstreams, and how their
 * answers are checked: headers by their hash, bodies and receipts by the header's roots, state by Merkle proofs under
 * its state root, code by its hash. An answer that is wrong is a lie: its upstream is accused, and another is asked.
 */
import { blockRlpFromJson, headerRlpFromJson, uncleHashesOf } from '../../chain/blockFromJson.js'
import type { ForkSchedule } from '../../chain/forks.js'
import {
  decodeHeader,
  type Header,
  headerHash,
  isProofOfStake,
  requireKnownFork,
} from '../../chain/header.js'
import { BlockParts } from '../../evm/blocks/blockParts.js'
import {
  type Address,
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  toHash32,
  toQuantity,
} from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { emptyCodeHash, keccak256 } from '../../primitives/keccak.js'
import { type Wanted, type WantingCall, wantedKey } from '../../primitives/notHeld.js'
import { emptyAccount } from '../../state/account.js'
import { provedState } from '../../state/trieState.js'
import type { BlockName, Marker } from '../../store/chainRows.js'
import type { CanonicalHeader, CodeOwner, GatewayWriter } from '../../store/gatewayWriter.js'
import { transactionHashes } from '../../store/storedBlock.js'
import type { Upstream } from '../../upstream/upstream.js'
import { type Block, parseBlock } from '../block.js'
import { blockNameOf } from '../mayMark.js'
import { checkProof } from './accountProof.js'
import { LieError, MovedError } from './lie.js'
import { type Asking, type Attempt, Proving, type ProvingOptions, unavailable } from './proving.js'
import { bytesOf, receiptsFromJson, receiptsFromRaw } from './receiptsFromJson.js'
import { touchedBy } from './touched.js'

/** A block whose parts match its hash. */
export interface ProvedBlock extends Pick<Block, 'hash' | 'header' | 'headerRlp' | 'bodyRlp'> {
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
}

/** `held`: stored. `absent`: nobody asked knows it. */
export type Outcome = 'held' | 'absent'

type WantedState = Extract<Wanted, { readonly kind: 'state' }>

export interface FetcherOptions extends ProvingOptions {
  readonly schedule: ForkSchedule
}

/** Methods that execute their first parameter. */
const executedMethods: ReadonlySet<string> = new Set(['eth_call', 'eth_estimateGas', 'eth_createAccessList'])

export class ProofFetcher {
  readonly #store: GatewayWriter
  readonly #proving: Proving
  readonly #upstreams: Asking
  readonly #parts: BlockParts
  /** Things that were fetched, proved and kept, by kind. */
  readonly kept: Partial<Record<Wanted['kind'], number>> = {}
  /** By name: what is being fetched. */
  readonly #underWay = new Map<string, Promise<Outcome>>()

  constructor(store: GatewayWriter, upstreams: Asking, options: FetcherOptions) {
    this.#store = store
    this.#proving = new Proving(upstreams, options)
    this.#upstreams = upstreams
    this.#parts = new BlockParts(options.schedule)
  }

  /**
   * Fetches one thing; several that want the same at once share it. Of a `call` that will be executed, the accounts,
   * slots and code that it may read are fetched together. Rejects with FaultError where no upstream gives a right answer.
   */
  async fetch(wanted: Wanted, call?: WantingCall): Promise<Outcome> {
    if (wanted.kind === 'state' && call !== undefined && executedMethods.has(call.method)) {
      const [outcome] = await Promise.all([this.#fetchOnce(wanted), this.#fetchAhead(wanted, call)])
      return outcome
    }
    return this.#fetchOnce(wanted)
  }

  #fetchOnce(wanted: Wanted): Promise<Outcome> {
    const name = wantedKey(wanted)
    const running = this.#underWay.get(name)
    if (running !== undefined) return running
    const outcome = this.#fetchAndCount(wanted).finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, outcome)
    return outcome
  }

  async #fetchAndCount(wanted: Wanted): Promise<Outcome> {
    const outcome = await this.#fetch(wanted)
    if (outcome !== 'absent') this.noteKept(wanted.kind)
    return outcome
  }

  noteKept(kind: Wanted['kind']): void {
    this.kept[kind] = (this.kept[kind] ?? 0) + 1
  }

  async #fetch(wanted: Wanted): Promise<Outcome> {
    switch (wanted.kind) {
      case 'canonical':
        return this.#unlinkedHeader(wanted.number)
      case 'header':
      case 'body':
        return this.#block(wanted.hash)
      case 'receipts': {
        const { hash, others = [] } = wanted
        // A failure shows again when it is their turn.
        const rest = others.map((other) =>
          this.#fetchOnce({ kind: 'receipts', hash: other }).catch(() => undefined),
        )
        const [outcome] = await Promise.all([this.#receipts(hash), ...rest])
        return outcome
      }
      case 'accessList':
        return this.#accessList(wanted.hash)
      case 'location':
        return this.#location(wanted.hash)
      case 'code':
        return this.#code(wanted.hash)
      case 'state':
        return this.#state(wanted)
    }
  }

  /** A block by its hash, proved; undefined where nobody knows it. `first`: see {@link Proving.prove}. */
  async readBlock(hash: Hash32, first?: Upstream): Promise<ProvedBlock | undefined> {
    const read = (attempt: Attempt) => this.#blockFrom(hash, attempt)
    return this.#proving.prove(`block ${bytesToHex(hash)}`, read, first)
  }

  async #blockFrom(hash: Hash32, attempt: Attempt): Promise<ProvedBlock | undefined> {
    const block = await this.#rawBlock(hash, attempt)
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

  /** Receipts of a block with this header, proved; undefined where nobody has them. A row of the store. */
  async readReceipts(hash: Hash32, header: Header, first?: Upstream): Promise<Uint8Array | undefined> {
    const read = async (attempt: Attempt) => {
      const receipts = await this.#rawReceipts(hash, attempt)
      if (receipts === undefined) return undefined
      this.#parts.checkReceipts(
        receipts,
        header,
        (part, what) => new LieError(`${part} of block ${header.number} that ${what}`),
      )
      return receipts
    }
    return this.#proving.prove(`the receipts of block ${header.number}`, read, first)
  }

  /** The header of a number as some node has it; only its number is checked. Undefined where nobody has it. */
  async readHeaderAt(number: number): Promise<CanonicalHeader | undefined> {
    return this.#proving.prove(`block ${number}`, (attempt) => this.#headerAt(number, attempt))
  }

  /** The header of a number that a quorum of nodes has; undefined where fewer agree. */
  async readAgreed(number: number): Promise<CanonicalHeader | undefined> {
    return this.#proving.agree(
      (attempt) => this.#headerAt(number, attempt),
      ({ hash }) => bytesToHex(hash),
    )
  }

  /** The block that an upstream calls safe or finalized; undefined where none says one. Unproved. */
  async readMarked(marker: Marker): Promise<BlockName | undefined> {
    return blockNameOf(await this.#proving.guess('eth_getBlockByNumber', [marker, false]))
  }

  /** Nonce of an account at the head, proved; undefined before there is a head. Rejects as {@link fetch} does. */
  async readNonce(address: Address): Promise<bigint | undefined> {
    const head = this.#store.readHead()
    const header = head && this.#store.readHeader(head.hash)
    if (head === undefined || header === undefined) return undefined
    const { stateRoot } = decodeHeader(header)
    await this.#fetchOnce({ kind: 'state', block: head.hash, stateRoot, address, slots: [] })
    return (provedState(this.#store, stateRoot, head.hash).account(address) ?? emptyAccount).nonce
  }

  async #block(hash: Hash32): Promise<Outcome> {
    const block = await this.readBlock(hash)
    if (block === undefined) return 'absent'
    this.keep(block)
    return 'held'
  }

  /** Stores a block. */
  keep({ hash, headerRlp, bodyRlp, senders }: ProvedBlock): void {
    this.#store.putSideHeader(hash, headerRlp)
    this.#store.putContent(hash, { body: bodyRlp, senders })
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

  /** The hash in the header proves a block access list. */
  async #accessList(hash: Hash32): Promise<Outcome> {
    const header = this.#store.readHeader(hash)
    const decoded = header && decodeHeader(header)
    if (decoded?.blockAccessListHash === undefined) return 'absent'
    const what = `the access list of block ${decoded.number}`
    const list = await this.#proving.prove(what, async (attempt) => {
      // Whoever has no such method answers with an error, and others are asked.
      const raw = await attempt.ask('debug_getRawBlockAccessList', [bytesToHex(hash)])
      if (raw === null) return undefined
      const list = bytesOf(raw)
      this.#parts.checkAccessList(list, decoded, (why) => new LieError(`${what}, which ${why}`))
      return list
    })
    if (list === undefined) throw unavailable(`no upstream has ${what}`)
    this.#store.putBlockAccessList(hash, list)
    return 'held'
  }

  /** Stores a header that no chain of headers links to the head. */
  async #unlinkedHeader(number: number): Promise<Outcome> {
    const found = await this.readAgreed(number)
    if (found === undefined) {
      throw unavailable(`fewer than ${this.#upstreams.quorum} upstreams agree on block ${number}`)
    }
    this.#store.putUnlinkedHeader(found)
    return 'held'
  }

  async #location(transactionHash: Hash32): Promise<Outcome> {
    const text = bytesToHex(transactionHash)
    const found = await this.#proving.prove(`transaction ${text}`, async (attempt) => {
      const answer = (await attempt.ask('eth_getTransactionByHash', [text])) as {
        readonly blockHash?: unknown
      } | null
      // Of a transaction that waits for its block nothing can be proved.
      if (answer === null || answer.blockHash === null || answer.blockHash === undefined) return undefined
      const bytes = bytesOfHex(answer.blockHash, 32)
      if (bytes === undefined) throw new LieError(`transaction ${text} without its block`)
      const blockHash = toHash32(bytes)
      const block = await this.#blockFrom(blockHash, attempt)
      if (block === undefined) throw new MovedError(`transaction ${text} in a block that it does not have`)
      const index = indexIn(block.senders, transactionHash)
      if (index !== undefined) return { blockHash, block, index }
      throw new LieError(`transaction ${text} in block ${answer.blockHash}, which does not have it`)
    })
    if (found === undefined) return 'absent'
    const { blockHash, block, index } = found
    const { number } = block.header
    if (number > (this.#store.readHead()?.number ?? 0)) return 'absent'
    if (this.#store.readCanonicalRow(number) === undefined) await this.#unlinkedHeader(number)
    if (!this.#store.isCanonical(number, blockHash)) return 'absent'
    this.keep(block)
    this.#store.putLocation(transactionHash, { blockHash, index })
    return 'held'
  }

  /** Asks by the block's hash, also of one that is not canonical, or above the head. */
  async #state(wanted: WantedState): Promise<Outcome> {
    const { block, stateRoot, slots } = wanted
    const address = wanted.address as Address
    const params = [bytesToHex(address), slots.map(bytesToHex), { blockHash: bytesToHex(block) }]
    const what = `the state of block ${bytesToHex(block)}`
    const proved = await this.#proving.prove(what, async (attempt) => {
      const answer = await attempt.ask('eth_getProof', params)
      if (answer === null) return undefined
      return checkProof(answer, { stateRoot, address, slots: slots as readonly Hash32[] })
    })
    if (proved === undefined) throw unavailable(`no upstream has ${what}`)
    this.#store.putState(proved.nodes, proved.codeHash, { block, address })
    return 'held'
  }

  /**
   * Fetches what an upstream says that a call reads. That is a guess: what is missing still is asked for when the call
   * reads it, so that all failures are passed over here.
   */
  async #fetchAhead({ block, stateRoot }: WantedState, { params }: WantingCall): Promise<void> {
    const message = Array.isArray(params) ? params[0] : undefined
    const header = this.#store.readHeader(block)
    if (header === undefined || typeof message !== 'object' || message === null) return
    const at = { blockHash: bytesToHex(block) }
    const answer = await this.#proving.guess('eth_createAccessList', [message, at])
    const { miner } = decodeHeader(header)
    const touched = touchedBy(message as Readonly<Record<string, unknown>>, answer, miner as Address)
    const read = async (address: Address, slots: readonly Hash32[]) => {
      await this.#fetchOnce({ kind: 'state', block, stateRoot, address, slots })
      const { codeHash } = provedState(this.#store, stateRoot, block).account(address) ?? emptyAccount
      const isHeld = equalBytes(codeHash, emptyCodeHash) || this.#store.readCode(codeHash) !== undefined
      if (!isHeld) await this.#fetchOnce({ kind: 'code', hash: codeHash })
    }
    await Promise.all(touched.map(({ address, slots }) => read(address, slots).catch(() => undefined)))
  }

  async #code(codeHash: Hash32): Promise<Outcome> {
    const owner = this.#store.readCodeOwner(codeHash)
    if (owner === undefined) throw unavailable(`the code ${bytesToHex(codeHash)} is of no known account`)
    const head = this.#store.readHead()?.hash ?? owner.block
    const code =
      (await this.#codeOf(owner, codeHash).catch(passOver)) ??
      // Of a block that left the chain nobody may know any more; then the account at the head may still have it.
      (await this.#codeOf({ ...owner, block: head }, codeHash, true))
    if (code === undefined) throw unavailable(`no upstream has the code ${bytesToHex(codeHash)}`)
    this.#store.putCode(codeHash, code)
    return 'held'
  }

  /** Undefined where nobody has the block or, with `mayDiffer`, where the account has other code there. */
  #codeOf(
    { block, address }: CodeOwner,
    codeHash: Hash32,
    mayDiffer = false,
  ): Promise<Uint8Array | undefined> {
    const params = [bytesToHex(address), { blockHash: bytesToHex(block) }]
    return this.#proving.prove(`the code ${bytesToHex(codeHash)}`, async (attempt) => {
      const answer = await attempt.ask('eth_getCode', params)
      if (answer === null) return undefined
      const code = bytesOf(answer)
      if (equalBytes(keccak256(code), codeHash)) return code
      if (mayDiffer) return undefined
      throw new LieError(`code of ${params[0]} whose hash is not ${bytesToHex(codeHash)}`)
    })
  }

  async #rawBlock(hash: Hash32, attempt: Attempt): Promise<Block | undefined> {
    const raw = await attempt.askRaw('debug_getRawBlock', hash)
    if (raw !== undefined) return parseBlock(bytesOf(raw))
    const text = bytesToHex(hash)
    const json = await attempt.ask('eth_getBlockByHash', [text, true])
    if (json === null) return undefined
    const uncles = await Promise.all(
      uncleHashesOf(json).map((_, index) =>
        attempt.ask('eth_getUncleByBlockHashAndIndex', [text, toQuantity(index)]),
      ),
    )
    if (uncles.includes(null)) return undefined
    return parseBlock(blockRlpFromJson(json, uncles.map(headerRlpFromJson)))
  }

  async #rawReceipts(hash: Hash32, attempt: Attempt): Promise<Uint8Array | undefined> {
    const raw = await attempt.askRaw('debug_getRawReceipts', hash)
    // go-ethereum answers so of a block that it does not have, too: the JSON method tells.
    const isUnclear = Array.isArray(raw) && raw.length === 0
    if (raw !== undefined && !isUnclear) return receiptsFromRaw(raw)
    const json = await attempt.ask('eth_getBlockReceipts', [bytesToHex(hash)])
    return json === null ? undefined : receiptsFromJson(json)
  }

  async #headerAt(number: number, attempt: Attempt): Promise<CanonicalHeader | undefined> {
    const raw = await attempt.askRaw('debug_getRawHeader', number)
    if (raw !== undefined) return readCanonical(bytesOf(raw), number)
    const json = await attempt.ask('eth_getBlockByNumber', [toQuantity(number), false])
    if (json === null) return undefined
    const found = readCanonical(headerRlpFromJson(json), number)
    const { hash } = json as { readonly hash?: unknown }
    if (String(hash).toLowerCase() === bytesToHex(found.hash)) return found
    throw new LieError(`block ${number} with the hash ${bytesToHex(found.hash)}, called ${hash}`)
  }
}

/** A header that is to be canonical. Throws {@link LieError} where it has another number. */
function readCanonical(rlp: Uint8Array, number: number): CanonicalHeader {
  const header = decodeHeader(rlp)
  if (header.number !== number) throw new LieError(`block ${header.number} instead of ${number}`)
  return { number, hash: headerHash(rlp), header: rlp, totalDifficulty: undefined }
}

/** For what is asked for elsewhere next. Passes on defects. */
function passOver(error: unknown): undefined {
  if (!(error instanceof FaultError)) throw error
}

function indexIn(senders: Uint8Array, transactionHash: Hash32): number | undefined {
  for (const [index, hash] of transactionHashes(senders)) if (equalBytes(hash, transactionHash)) return index
  return undefined
}
