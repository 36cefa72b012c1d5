/**
 * Fetches the data that a gateway lacks, proves it, and stores it. Owns the requests to upstreams and the checks of
 * their answers. Headers are proved by their hash, bodies and receipts by the header's roots, code by its hash. State
 * is proved by Merkle proofs under its state root. A wrong answer is a lie: its upstream is accused, and another is
 * asked.
 */
import { decodeHeader, headOf } from '../../../data/chain/header.js'
import { decodeAccount, emptyAccount } from '../../../data/state/account.js'
import { MissingNodeError } from '../../../data/state/trieNode.js'
import { provedState } from '../../../data/state/trieState.js'
import type { BlockName } from '../../../data/store/chainRows.js'
import type { CodeOwner, GatewayWriter, ProvedState } from '../../../data/store/gatewayWriter.js'
import { transactionHashes } from '../../../data/store/storedBlock.js'
import type { BlockChanges, ProvedValues } from '../../../data/store/storedValues.js'
import {
  type Address,
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  latin1Key,
  latin1KeyToBytes,
  toHash32,
  toQuantity,
} from '../../../primitives/bytes.js'
import { waitedForLater } from '../../../primitives/deferred.js'
import { FaultError } from '../../../primitives/faults.js'
import { emptyCodeHash, keccak256 } from '../../../primitives/keccak.js'
import { type Wanted, type WantingCall, wantedKey } from '../../../primitives/notStored.js'
import { accessListMethods, askAccessList, checkAccessList } from '../nodes/askedParts.js'
import { askState, type StateBlock } from '../nodes/askState.js'
import { LackError, LieError, MovedError } from '../nodes/lie.js'
import { type Asking, type Attempt, type ProveOptions, unavailable } from '../nodes/proving.js'
import { checkProof, type StateForm, walkState } from './accountProof.js'
import { BlockFetcher, type FetcherOptions, type ProvedBlock } from './blockFetcher.js'
import { contentOf } from './familyBlock.js'
import type { HotQuestion } from './hotSet.js'
import { SearchProgress } from './searchProgress.js'

/** Blocks whose changes are stored: an answer is rarely older. Those of a block of 36 million gas take about 3 MB. */
const blocksMax = 8

interface RecentBlock extends BlockName {
  readonly parentHash: Uint8Array
  readonly changes: BlockChanges
}

/** The changes of the newest blocks. They turn values proved after one of these blocks into values after the head. */
class RecentChanges {
  #blocks: RecentBlock[] = []

  add(block: RecentBlock): void {
    this.#blocks.push(block)
    if (this.#blocks.length > blocksMax) this.#blocks.shift()
  }

  /**
   * Values after `head`, from those after `block`; undefined if the changes between them are unknown. `isWhole`: absent
   * slots are zero.
   */
  bring(values: ProvedValues, block: Hash32, head: BlockName, isWhole = false): ProvedValues | undefined {
    const between = this.#between(block, head.hash)
    return between?.reduce<ProvedValues | undefined>(
      (before, { changes }) => before && after(before, changes, isWhole),
      values,
    )
  }

  /** The blocks above `block` up to `head`, oldest first. */
  #between(block: Hash32, head: Hash32): RecentBlock[] | undefined {
    const path: RecentBlock[] = []
    let hash: Uint8Array = head
    while (!equalBytes(hash, block)) {
      const next = this.#blocks.find((each) => equalBytes(each.hash, hash))
      if (next === undefined) return undefined
      path.unshift(next)
      hash = next.parentHash
    }
    return path
  }
}

function after(values: ProvedValues, changes: BlockChanges, isWhole: boolean): ProvedValues | undefined {
  const change = changes.get(latin1Key(values.address))
  if (change === undefined) return values
  const account = change.after(values.account)
  if (account === undefined) return undefined
  const before = new Map(values.slots.map(([slot, value]) => [latin1Key(slot), value]))
  for (const [name, value] of change.slots) if (isWhole || before.has(name)) before.set(name, value)
  const slots = [...before].map(([name, value]): [Uint8Array, Uint8Array] => [latin1KeyToBytes(name), value])
  return { address: values.address, account, slots }
}

/* The data that a call may read, from the call and an unproved answer to its eth_createAccessList. */

/** Maximum accounts of one guess, and slots of one account: more than most transactions touch. */
const aheadMax = 256

/** The sender of a call that names none. */
const zeroAddress = `0x${'0'.repeat(40)}`

/** Accounts and slots that a call and its eth_createAccessList answer name, and the block's `miner`, which is paid. */
function touchedBy(
  { from, to }: Readonly<Record<string, unknown>>,
  answer: unknown,
  miner: Address,
): { readonly address: Address; readonly slots: readonly Hash32[] }[] {
  const { accessList } = (answer ?? {}) as { readonly accessList?: unknown }
  const entries = Array.isArray(accessList) ? accessList.slice(0, aheadMax) : []
  const own = [from ?? zeroAddress, to, bytesToHex(miner)].map((address) => ({ address, storageKeys: [] }))
  return [...own, ...entries].flatMap((entry: { address?: unknown; storageKeys?: unknown } | null) => {
    const address = bytesOfHex(entry?.address, 20)
    const keys = Array.isArray(entry?.storageKeys) ? entry.storageKeys.slice(0, aheadMax) : []
    const slots = keys.flatMap((key) => bytesOfHex(key, 32) ?? []) as unknown as Hash32[]
    return address === undefined ? [] : [{ address: address as Address, slots }]
  })
}

/** `held`: stored. `absent`: no asked node has it. */
export type Outcome = 'stored' | 'absent'

type WantedState = Extract<Wanted, { readonly kind: 'state' }>

/** Methods that execute their first parameter. */
const executedMethods: ReadonlySet<string> = new Set([
  'eth_call',
  'eth_estimateGas',
  'eth_createAccessList',
  'eth_fillTransaction',
  'eth_sendTransaction',
])

export class ProofFetcher extends BlockFetcher {
  readonly recent = new RecentChanges()
  readonly #store: GatewayWriter
  readonly #upstreams: Asking
  /** Number of items that were fetched, proved and stored, by kind. */
  readonly kept: Partial<Record<Wanted['kind'], number>> = {}
  readonly #searches: SearchProgress
  /** Name of the data → its running fetch. */
  readonly #underWay = new Map<string, Promise<Outcome>>()

  constructor(store: GatewayWriter, upstreams: Asking, options: FetcherOptions) {
    super(upstreams, options)
    this.#store = store
    this.#upstreams = upstreams
    this.#searches = new SearchProgress((text) => options.log?.(text))
  }

  /**
   * Fetches one item; concurrent requests for the same item share the fetch. For a `call` that will be executed, the
   * accounts, slots and code that it may read are fetched together. Rejects with FaultError if no upstream gives a
   * correct answer.
   */
  async fetch(wanted: Wanted, call?: WantingCall): Promise<Outcome> {
    if (wanted.kind === 'receipts' && wanted.search !== undefined) this.#searches.note(wanted.search)
    if (wanted.kind === 'state' && call?.method === 'eth_getCode') return this.fetchWithCode(wanted)
    // The proof of another account may have had all needed nodes; then no node is asked.
    if (wanted.kind === 'state' && this.#holdWalked(wanted)) return 'stored'
    if (wanted.kind === 'state' && call !== undefined && executedMethods.has(call.method)) {
      const [outcome] = await Promise.all([this.#fetchOnce(wanted), this.#fetchAhead(wanted, call)])
      return outcome
    }
    return this.#fetchOnce(wanted)
  }

  /**
   * Fetches an account, slots of it, and its code. All are requested in one turn, so that they share a batch: the proof
   * then gives the hash of the code. Rejects as {@link fetch} does.
   */
  async fetchWithCode(wanted: WantedState): Promise<Outcome> {
    const { block, stateRoot } = wanted
    const address = wanted.address as Address
    const isKnown = this.#walk({ ...wanted, slots: [] }) !== undefined
    const asked = [bytesToHex(address), { blockHash: bytesToHex(block) }]
    const guess = isKnown ? undefined : waitedForLater(this.proving.guess('eth_getCode', asked))
    const outcome = await this.fetch(wanted)
    const { codeHash } = provedState(this.#store, stateRoot, block).account(address) ?? emptyAccount
    if (equalBytes(codeHash, emptyCodeHash) || this.#store.readCode(codeHash) !== undefined) return outcome
    const code = bytesOfHex(await guess)
    if (code === undefined || !equalBytes(keccak256(code), codeHash))
      return this.#fetchOnce({ kind: 'code', hash: codeHash })
    this.#store.putCode(codeHash, code)
    this.noteKept('code')
    return outcome
  }

  #fetchOnce(wanted: Wanted): Promise<Outcome> {
    const name = wantedKey(wanted)
    const running = this.#underWay.get(name)
    if (running !== undefined) return running
    const fetched = this.#fetch(wanted).then((outcome) => {
      if (outcome !== 'absent') this.noteKept(wanted.kind)
      return outcome
    })
    const outcome = fetched.finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, outcome)
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
        // A failure here appears again when these items are fetched themselves.
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

  /** Nonce of an account at the head, proved; undefined before there is a head. Rejects as {@link fetch} does. */
  async readNonce(address: Address): Promise<bigint | undefined> {
    const head = headOf(this.#store)
    if (head === undefined) return undefined
    const { stateRoot } = head.header
    const stored = this.#store.readStoredAccount(address)
    if (stored !== undefined) return (stored.length === 0 ? emptyAccount : decodeAccount(stored)).nonce
    await this.#fetchOnce({ kind: 'state', block: head.hash, stateRoot, address, slots: [] })
    return (provedState(this.#store, stateRoot, head.hash).account(address) ?? emptyAccount).nonce
  }

  async #block(hash: Hash32): Promise<Outcome> {
    const block = await this.readBlock(hash)
    if (block === undefined) return 'absent'
    this.keep(block)
    return 'stored'
  }

  keep(block: ProvedBlock): void {
    this.#store.putSideHeader(block.hash, block.headerRlp)
    this.#store.putContent(block.hash, contentOf(block))
  }

  async #receipts(hash: Hash32): Promise<Outcome> {
    const header = this.#store.readHeader(hash)
    if (header === undefined) return 'absent'
    const decoded = decodeHeader(header)
    const row = await this.readReceipts(hash, {
      hash,
      header: decoded,
      reported: this.#store.readReported(hash),
    })
    if (row === undefined) throw unavailable(`no upstream has the receipts of block ${decoded.number}`)
    this.#store.putReceipts(hash, row)
    return 'stored'
  }

  /** The hash in the header proves a block access list. */
  async #accessList(hash: Hash32): Promise<Outcome> {
    const header = this.#store.readHeader(hash)
    const decoded = header && decodeHeader(header)
    if (decoded?.blockAccessListHash === undefined) return 'absent'
    const what = `the access list of block ${decoded.number}`
    const read = async (attempt: Attempt) => {
      const rlp = await askAccessList(hash, attempt)
      // Without its transactions the highest index is unknown; the hash proves the list if the header is right.
      return rlp && { rlp, list: checkAccessList(rlp, decoded, Number.MAX_SAFE_INTEGER) }
    }
    const list = await this.proving.prove(what, read, { methods: accessListMethods })
    if (list === undefined) throw unavailable(`no upstream has ${what}`)
    this.#store.putBlockAccessList(hash, list.rlp)
    return 'stored'
  }

  /** Stores a header that no chain of headers links to the head. */
  async #unlinkedHeader(number: number): Promise<Outcome> {
    const found = await this.readAgreed(number)
    if (found === undefined) {
      throw unavailable(`fewer than ${this.#upstreams.quorum} upstreams agree on block ${number}`)
    }
    this.#store.putUnlinkedHeader(found)
    return 'stored'
  }

  async #location(transactionHash: Hash32): Promise<Outcome> {
    const text = bytesToHex(transactionHash)
    const found = await this.proving.prove(`transaction ${text}`, async (attempt) => {
      const answer = (await attempt.ask('eth_getTransactionByHash', [text])) as {
        readonly blockHash?: unknown
      } | null
      // For a transaction that waits for its block nothing can be proved.
      if (answer === null || answer.blockHash === null || answer.blockHash === undefined) return undefined
      const bytes = bytesOfHex(answer.blockHash, 32)
      if (bytes === undefined) throw new LackError([], `transaction ${text} without its block`)
      const blockHash = toHash32(bytes)
      const block = await this.blockFrom(blockHash, attempt)
      if (block === undefined) throw new MovedError(`transaction ${text} in a block that it does not have`)
      const index = indexIn(block.senders, transactionHash)
      if (index === undefined) {
        throw new LieError(`transaction ${text} in block ${answer.blockHash}, which does not have it`)
      }
      // The block may be on no chain, or not known here yet; another node may have a better answer.
      return (await this.#hasInChain(block)) ? { blockHash, block, index } : undefined
    })
    if (found === undefined) return 'absent'
    const { blockHash, block, index } = found
    this.keep(block)
    this.#store.putLocation(transactionHash, { blockHash, index })
    return 'stored'
  }

  /** Whether a block is part of the chain up to the head; below the stored headers a quorum decides. */
  async #hasInChain({ hash, header: { number } }: ProvedBlock): Promise<boolean> {
    if (number > (this.#store.readHead()?.number ?? 0)) return false
    if (this.#store.readCanonicalRow(number) === undefined) await this.#unlinkedHeader(number)
    return this.#store.isCanonical(number, hash)
  }

  get #form(): StateForm {
    const { reportable, proofs } = this.options.schedule.family
    return { trieForm: proofs.trieForm, isReportable: reportable.includes('state') }
  }

  /** Asks by the block's hash, even for a block that is not canonical, or above the head. */
  async #state(wanted: WantedState): Promise<Outcome> {
    if (this.options.schedule.family.parts.state === 'reported')
      throw new FaultError({ kind: 'NotProved', why: 'nothing proves the state of this chain' })
    const { block, stateRoot, slots } = wanted
    const address = wanted.address as Address
    const question = { address, slots: slots as readonly Hash32[] }
    this.#keepState(await this.prove(question, block, stateRoot), block)
    return 'stored'
  }

  /** Stores the values that the stored nodes prove; false if a node is missing. */
  #holdWalked(wanted: WantedState): boolean {
    const walked = this.#walk(wanted)
    if (walked === undefined) return false
    this.#keepState({ ...walked, nodes: [] }, wanted.block)
    return true
  }

  /** The values that the stored nodes prove; undefined if a node is missing. */
  #walk({ stateRoot, address, slots }: WantedState): ReturnType<typeof walkState> | undefined {
    const question = { stateRoot, address: address as Address, slots: slots as readonly Hash32[] }
    try {
      return walkState((hash) => this.#store.readNode(hash), question, this.#form.trieForm)
    } catch (error) {
      if (error instanceof MissingNodeError) return undefined
      throw error
    }
  }

  /** Proves an account and slots after a block. Rejects as {@link fetch} does. */
  async prove(question: HotQuestion, block: Hash32, stateRoot: Hash32): Promise<ProvedState> {
    const what = `the state of block ${bytesToHex(block)}`
    const at = { hash: block, number: () => this.#numberOf(block) }
    const proved = await this.#prove(what, question, at, stateRoot, {})
    if (proved === undefined) throw unavailable(`no upstream has ${what}`)
    return proved
  }

  /**
   * Proves the data in use after a block, which may not have arrived yet. Requests it in the same turn. Data that
   * cannot be proved is left out. Never rejects.
   */
  async readHot(
    hash: Hash32,
    block: Promise<ProvedBlock | undefined>,
    options: ProveOptions,
  ): Promise<ProvedState[]> {
    const { hot } = this.options
    const questions = hot?.questions() ?? []
    const what = `the state of block ${bytesToHex(hash)}`
    // Other callers that wait for the block get its failure.
    const stateRoot = waitedForLater(block.then((found) => found?.header.stateRoot))
    const at = { hash, number: () => block.then((found) => found?.header.number) }
    const proofs = await Promise.all(
      questions.map((question) =>
        this.#prove(what, question, at, stateRoot, options).catch((error) => passOver(error)),
      ),
    )
    const proved = proofs.filter((proof) => proof !== undefined)
    const units = proved.reduce((sum, { values }) => sum + values.slots.length + 1, 0)
    const bytes = proved.reduce((sum, { nodes }) => nodes.reduce((all, [, rlp]) => all + rlp.length, sum), 0)
    hot?.measured(units, bytes)
    return proved
  }

  #prove(
    what: string,
    { address, slots }: HotQuestion,
    block: StateBlock,
    root: Hash32 | Promise<Hash32 | undefined>,
    options: ProveOptions,
  ): Promise<ProvedState | undefined> {
    const params = [bytesToHex(address), slots.map(bytesToHex)]
    const read = (attempt: Attempt) =>
      askState('eth_getProof', params, block, attempt, async (answer) => {
        const stateRoot = await root
        return stateRoot && checkProof(answer, { stateRoot, address, slots }, this.#form)
      })
    return this.proving.prove(what, read, options)
  }

  /** Undefined if its header is not stored. */
  #numberOf(block: Hash32): number | undefined {
    const header = this.#store.readHeader(block)
    return header && decodeHeader(header).number
  }

  /** Stores values proved after a block. They are valid after the head if the changes since the block are known. */
  #keepState(state: ProvedState, block: Hash32): void {
    const head = this.#store.readHead()
    const current = head && this.recent.bring(state.values, block, head)
    const values = current ?? state.values
    this.options.hot?.note(values)
    if (this.#store.putState({ ...state, values }, block, current !== undefined)) return
    const { log = () => undefined } = this.options
    log(
      `account ${bytesToHex(values.address)} differs from its stored state; all stored state is proved again`,
    )
  }

  /**
   * Fetches the data that a call reads according to an upstream. That is a guess: missing data is fetched when the call
   * reads it, so failures are ignored here.
   */
  async #fetchAhead({ block, stateRoot }: WantedState, { params }: WantingCall): Promise<void> {
    const message = Array.isArray(params) ? params[0] : undefined
    const header = this.#store.readHeader(block)
    if (header === undefined || typeof message !== 'object' || message === null) return
    const { miner, number } = decodeHeader(header)
    // Asks by number, which every node accepts. A node with another block at this number gives a guess for that block.
    const answer = await this.proving.guess('eth_createAccessList', [message, toQuantity(number)])
    const touched = touchedBy(message as Readonly<Record<string, unknown>>, answer, miner as Address)
    const read = async (address: Address, slots: readonly Hash32[]) => {
      // If the code is missing too, it is fetched when the call reads it.
      if (this.#store.isCanonical(number, block) && this.#store.holds(address, slots, number)) return
      await this.#fetchOnce({ kind: 'state', block, stateRoot, address, slots })
      const { codeHash } = provedState(this.#store, stateRoot, block).account(address) ?? emptyAccount
      const isStored = equalBytes(codeHash, emptyCodeHash) || this.#store.readCode(codeHash) !== undefined
      if (!isStored) await this.#fetchOnce({ kind: 'code', hash: codeHash })
    }
    await Promise.all(touched.map(({ address, slots }) => read(address, slots).catch(() => undefined)))
  }

  async #code(codeHash: Hash32): Promise<Outcome> {
    const owner = this.#store.readCodeOwner(codeHash)
    if (owner === undefined) throw unavailable(`the code ${bytesToHex(codeHash)} is of no known account`)
    const head = this.#store.readHead()?.hash ?? owner.block
    const code =
      (await this.#codeOf(owner, codeHash).catch(passOver)) ??
      // If the block left the chain, possibly no node has its state; the account at the head may still have the code.
      (await this.#codeOf({ ...owner, block: head }, codeHash, true))
    if (code === undefined) throw unavailable(`no upstream has the code ${bytesToHex(codeHash)}`)
    this.#store.putCode(codeHash, code)
    return 'stored'
  }

  /** Undefined if no node has the block or, with `mayDiffer`, if the account has other code there. */
  #codeOf(
    { block, address }: CodeOwner,
    codeHash: Hash32,
    mayDiffer = false,
  ): Promise<Uint8Array | undefined> {
    const of = bytesToHex(address)
    const at = { hash: block, number: () => this.#numberOf(block) }
    const check = (answer: unknown) => {
      const code = bytesOfHex(answer)
      if (code === undefined) throw new LackError([], `code of ${of} that is not hex`)
      if (equalBytes(keccak256(code), codeHash)) return code
      if (mayDiffer) return undefined
      throw new LieError(`code of ${of} whose hash is not ${bytesToHex(codeHash)}`)
    }
    const read = (attempt: Attempt) => askState('eth_getCode', [of], at, attempt, check)
    return this.proving.prove(`the code ${bytesToHex(codeHash)}`, read)
  }
}

/** Ignores a fault, because the data is requested elsewhere next. Rethrows defects. */
function passOver(error: unknown): undefined {
  if (!(error instanceof FaultError)) throw error
}

function indexIn(senders: Uint8Array, transactionHash: Hash32): number | undefined {
  for (const [index, hash] of transactionHashes(senders)) if (equalBytes(hash, transactionHash)) return index
  return undefined
}
