/**
 * Imports blocks: checks a block's rules, executes it, compares every root with its header, and updates the canonical
 * chain. Owns fork choice; the store owns atomicity.
 */
import type { ForkName, ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, stateRootOf } from '../../../data/chain/header.js'
import { BranchState, headState, historicalState, type StateView } from '../../../data/state/stateView.js'
import { RecentTries } from '../../../data/state/trie.js'
import type { BlockDiff } from '../../../data/store/blockDiff.js'
import { type BlockName, type Development, firstHeaderOf, type Start } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { BlockExecutor, type ExecutedBlock } from '../../../execution/evm/blocks/executeBlock.js'
import { RecoveredKeys } from '../../../execution/evm/transactions/recoveredKeys.js'
import {
  bytesToBigInt,
  bytesToHex,
  equalBytes,
  type Hash32,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { FaultError, InvalidBlockError, OperatorError } from '../../../primitives/faults.js'
import { decodeRlpList, encodeRlp, rlpLength, rlpPayloadLength } from '../../../primitives/rlp.js'
import type { Block } from './block.js'
import {
  bodyItems,
  checkAccessListLength,
  checkBlockAccessList,
  checkContent,
  checkHeader,
  checkSize,
  compareWithHeader,
} from './blockRules.js'
import { ExecutedBeside } from './executedBeside.js'
import { checkUncles } from './uncleRules.js'

/**
 * Longest branch that is executed before it replaces canonical blocks. Its block diffs wait in memory until one
 * transaction applies them; a branch of this length at 1 MB per block takes 1 GB.
 */
const branchBlocksMaxDefault = 1024

export interface ImporterOptions {
  readonly branchBlocksMax?: number
  /** Bytes of block diffs that {@link ChainImporter.importBeside} keeps; {@link besideBytesDefault} unless given. */
  readonly besideBytesMax?: number
  /** {@link BlockExecutor} unless given. */
  readonly executor?: Executor
}

export interface Executor {
  execute(...input: Parameters<BlockExecutor['execute']>): ExecutedBlock | Promise<ExecutedBlock>
  recoverSenders(...input: Parameters<BlockExecutor['recoverSenders']>): Uint8Array
}

/** Outcome of importing a block: stored before, canonical, or on another branch. */
type ImportOutcome = 'known' | 'canonical' | 'side'

/** Outcome for a block beside the canonical chain; `unexecuted`: the state of its parent is not kept. */
type BesideOutcome = 'known' | 'executed' | 'unexecuted'

export interface ImportedBlock {
  readonly outcome: ImportOutcome
  readonly number: number
  readonly hash: Hash32
  readonly gasUsed: bigint
}

/** A block breaks a rule. The message contains its number and hash. */
export class BadBlockError extends Error {
  override readonly name = 'BadBlockError'
  constructor(
    readonly number: number,
    readonly hash: string,
    readonly why: string,
  ) {
    super(`block ${number} (${hash}) is invalid: ${why}`)
  }
}

/** The branch of a block parts from the canonical chain where no state is kept, or is too long to be executed. */
class UnkeptBranchError extends InvalidBlockError {}

/** A canonical block, and the blocks from it to the end of a branch. */
interface Branch {
  readonly base: Header
  /** The diff of each block, if it is in memory; otherwise the block. */
  readonly members: readonly (BlockDiff | Candidate)[]
}

/** A block with values that follow from its parent. */
interface Candidate extends Block {
  readonly totalDifficulty: bigint
  readonly fork: ForkName
  readonly isMerged: boolean
}

export class ChainImporter {
  /** Seconds by phase: checks of headers and bodies, execution with its roots, rows in the store. */
  readonly seconds = { check: 0, execute: 0, write: 0 }
  readonly #keys = new RecoveredKeys()
  readonly #executor: Executor
  readonly #branchBlocksMax: number
  readonly #development: Development | undefined
  readonly #start: Start | undefined
  readonly #firstHeader: number
  readonly #beside: ExecutedBeside
  #last: BlockName | undefined
  readonly #store: ChainWriter
  readonly #schedule: ForkSchedule

  constructor(store: ChainWriter, schedule: ForkSchedule, options: ImporterOptions = {}) {
    this.#store = store
    this.#schedule = schedule
    const identity = store.readIdentity()
    this.#development = identity?.development
    this.#start = identity?.start
    this.#firstHeader = identity === undefined ? 0 : firstHeaderOf(identity)
    const isDevelopment = this.#development !== undefined
    const known = { recent: new RecentTries(), isDevelopment }
    this.#executor = options.executor ?? new BlockExecutor(schedule, this.#keys, known)
    this.#branchBlocksMax = options.branchBlocksMax ?? branchBlocksMaxDefault
    this.#beside = new ExecutedBeside(options.besideBytesMax)
  }

  /**
   * Imports one block. A known block is skipped, unless it was unwound and extends the head again. Throws
   * {@link BadBlockError}, and OperatorError for a block that needs too much memory; the store is then unchanged. The
   * result's gas is that of blocks executed by this call.
   */
  importBlock(block: Block): Promise<ImportedBlock> {
    return this.#take(block, () => equalBytes(block.header.parentHash, this.#store.head.hash))
  }

  /**
   * Imports one block as if a consensus client had chosen it as the new head. After the Merge, even a known block
   * becomes the head; before it, total difficulty decides. Throws as {@link importBlock} does.
   */
  importAsHead(block: Block): Promise<ImportedBlock> {
    return this.#take(block, () => true)
  }

  /**
   * Checks and executes a block on its parent, which is stored, on any branch. Stores the block; the head stays. A
   * known block is not executed again. Throws as {@link importBlock} does.
   */
  async importBeside(parsed: Block): Promise<BesideOutcome> {
    const { hash, header } = parsed
    try {
      if (this.#isKnown(parsed)) return 'known'
      this.#keys.hold(await parsed.takeKeys?.())
      const block = this.#timed('check', () => this.#checkBlock(parsed))
      const diffs = await this.#executeBranch(this.#branchOf(block))
      const executed = diffs.at(-1) as BlockDiff
      this.#beside.add(executed)
      this.#timed('write', () =>
        this.#store.writeSideBlock({ ...blockRows(block), senders: executed.senders }),
      )
      return 'executed'
    } catch (error) {
      if (error instanceof UnkeptBranchError) return 'unexecuted'
      throw asNamed(error, header.number, hash)
    }
  }

  /**
   * Makes a stored block the head: an ancestor of the head, or the end of a branch. A branch is executed unless its
   * block diffs are in memory. Throws as {@link importBlock} does, and OperatorError if the store cannot unwind that
   * far.
   */
  async makeHead({ number, hash }: BlockName): Promise<void> {
    try {
      if (!this.#store.isCanonical(number, hash)) await this.#switchTo(this.#storedBlock(hash))
      else if (number < this.#store.head.number) this.#timed('write', () => this.#store.apply(number, []))
    } catch (error) {
      if (error instanceof UnkeptBranchError)
        throw new OperatorError(
          `block ${number} (${bytesToHex(hash)}) does not become the head: ${error.message}`,
        )
      throw asNamed(error, number, hash)
    }
  }

  /** `takesAgain` decides whether a known block that is not canonical takes part in fork choice again. */
  async #take(parsed: Block, takesAgain: () => boolean): Promise<ImportedBlock> {
    const { hash } = parsed
    const { number } = parsed.header
    try {
      // A file may begin at the genesis; its later blocks lead to the store's first ones.
      if (number < this.#firstHeader) return { outcome: 'known', number, hash, gasUsed: 0n }
      const isKnown = this.#isKnown(parsed)
      if (isKnown && (this.#store.isCanonical(number, hash) || !takesAgain())) {
        this.#last = { number, hash }
        return { outcome: 'known', number, hash, gasUsed: 0n }
      }
      this.#keys.hold(await parsed.takeKeys?.())
      const block = this.#timed('check', () => (isKnown ? this.#storedBlock(hash) : this.#checkBlock(parsed)))
      this.#last = { number, hash }
      return { ...(await this.#choose(block)), number, hash }
    } catch (error) {
      throw asNamed(error, number, hash)
    }
  }

  /** Fork choice between the head and a block that is not canonical. */
  async #choose(block: Candidate): Promise<{ outcome: ImportOutcome; gasUsed: bigint }> {
    const { header } = block
    const head = this.#store.head
    if (equalBytes(header.parentHash, head.hash)) {
      const state = headState(
        this.#store,
        this.#store.readRootByHand(head.hash) ??
          stateRootOf(decodeHeader(this.#header(head.hash)), this.#development),
      )
      const blockDiff = await this.#execute(block, state, (n) => this.#store.readCanonicalHash(n))
      this.#timed('write', () => this.#store.apply(head.number, [blockDiff]))
      return { outcome: 'canonical', gasUsed: header.gasUsed }
    }
    if (!block.isMerged && block.totalDifficulty <= this.#totalDifficulty(head.hash)) {
      const senders = this.#executor.recoverSenders(block.items, block.fork)
      this.#store.writeSideBlock({ ...blockRows(block), senders })
      return { outcome: 'side', gasUsed: 0n }
    }
    return { outcome: 'canonical', gasUsed: await this.#switchTo(block) }
  }

  /**
   * Call it after the last block of a file: after the Merge, where total difficulty does not decide, the chain with
   * that block becomes canonical.
   */
  async finish(): Promise<void> {
    if (this.#last === undefined) return
    const { number, hash } = this.#last
    if (this.#store.isCanonical(number, hash)) return
    try {
      const block = this.#storedBlock(hash)
      if (block.isMerged) await this.#switchTo(block)
    } catch (error) {
      throw asNamed(error, number, hash)
    }
  }

  /** Executes the branch that ends with `block` and makes it canonical in one transaction. Returns its gas. */
  async #switchTo(block: Candidate): Promise<bigint> {
    const branch = this.#branchOf(block)
    const blockDiffs = await this.#executeBranch(branch)
    this.#timed('write', () => this.#store.apply(branch.base.number, blockDiffs))
    return branch.members.reduce((sum, member) => sum + ('items' in member ? member.header.gasUsed : 0n), 0n)
  }

  /** Throws {@link UnkeptBranchError}. */
  #branchOf(block: Candidate): Branch {
    const members: (BlockDiff | Candidate)[] = [this.#beside.find(block.hash) ?? block]
    let { parentHash } = block.header
    let number = block.header.number - 1
    while (!this.#store.isCanonical(number, parentHash)) {
      if (members.length === this.#branchBlocksMax) {
        throw new UnkeptBranchError(
          `it ends a branch of more than ${this.#branchBlocksMax} blocks, too long to replace canonical ones`,
        )
      }
      const parent = this.#beside.find(parentHash) ?? this.#storedBlock(parentHash)
      members.unshift(parent)
      parentHash = 'items' in parent ? parent.header.parentHash : parent.parentHash
      number--
    }
    const base = decodeHeader(this.#header(parentHash))
    const { state, trie } = this.#store.readOldestKept()
    const oldest = Math.max(state, trie)
    if (base.number < oldest) {
      throw new UnkeptBranchError(
        `it ends a branch from before block ${oldest}, the oldest whose state is kept`,
      )
    }
    return { base, members }
  }

  /** Block diffs of a branch, in order; only blocks without one are executed. */
  async #executeBranch({ base, members }: Branch): Promise<readonly BlockDiff[]> {
    const { head } = this.#store
    const root = stateRootOf(base, this.#development)
    const state = new BranchState(
      base.number === head.number
        ? headState(this.#store, this.#store.readRootByHand(head.hash) ?? root)
        : historicalState(this.#store, base.number, root),
    )
    const blockDiffs: BlockDiff[] = []
    const ancestorHash = (n: number) =>
      n > base.number ? blockDiffs[n - base.number - 1]?.hash : this.#store.readCanonicalHash(n)
    for (const member of members) {
      const parent = blockDiffs.at(-1)
      if (parent !== undefined) state.add(parent, decodeHeader(parent.header).stateRoot)
      try {
        blockDiffs.push('items' in member ? await this.#execute(member, state, ancestorHash) : member)
      } catch (error) {
        const number = 'items' in member ? member.header.number : member.number
        throw asNamed(error, number, member.hash)
      }
    }
    return blockDiffs
  }

  #timed<T>(phase: keyof ChainImporter['seconds'], work: () => T): T {
    const begunMs = performance.now()
    try {
      return work()
    } finally {
      this.seconds[phase] += (performance.now() - begunMs) / 1_000
    }
  }

  #checkBlock(parsed: Block): Candidate {
    const { header } = parsed
    if (header.number === 0) {
      throw new InvalidBlockError(
        `it is the genesis of another chain; this network's is ${bytesToHex(this.#genesisHash())}`,
      )
    }
    const parentRlp = this.#store.readHeader(header.parentHash)
    // Below the start the store has headers but no state.
    const lowest = (this.#start?.number ?? 0) + (parentRlp === undefined ? 1 : 0)
    if (this.#start !== undefined && header.number <= lowest) {
      const { number, hash } = this.#start
      throw new InvalidBlockError(
        `it is of a chain that parts below block ${number} (${hash}), at which this store begins`,
      )
    }
    if (parentRlp === undefined) {
      throw new InvalidBlockError(
        header.number === 1
          ? `its parent ${bytesToHex(header.parentHash)} is not this network's genesis ${bytesToHex(this.#genesisHash())}`
          : `its parent ${bytesToHex(header.parentHash)} is not known; import the blocks before it first`,
      )
    }
    const block = this.#withChain(parsed)
    this.#checkRules(block, decodeHeader(parentRlp))
    return block
  }

  #checkRules(block: Candidate, parent: Header): void {
    const { header, fork, headerRlp, bodyRlp, blockAccessList } = block
    const body = bodyItems(block.items)
    const isDevelopment = this.#development !== undefined
    checkHeader(header, parent, { schedule: this.#schedule, isDevelopment, ...block })
    if (!block.isContentChecked) checkContent(header, body, fork)
    checkSize(rlpLength(headerRlp.length + rlpPayloadLength(bodyRlp.length)), fork)
    if (blockAccessList !== undefined) {
      checkBlockAccessList(blockAccessList, header, body.transactions.length)
    }
    checkUncles(body.uncles, header, this.#store, (uncle, parent, uncleParentHash) =>
      checkHeader(uncle, parent, {
        schedule: this.#schedule,
        ...this.#rulesFor(uncle, this.#totalDifficulty(uncleParentHash)),
      }),
    )
  }

  /** Whether the store has exactly this block. Its hash only covers the header, so the body is compared too. */
  #isKnown({ hash, header, bodyRlp, items }: Block): boolean {
    if (!this.#store.hasHeader(hash)) return false
    const known = this.#store.readBody(hash)
    if (known === undefined || !equalBytes(known, bodyRlp))
      checkContent(header, bodyItems(items), this.#schedule.forkOf(header))
    return true
  }

  #withChain(parsed: Block): Candidate {
    const parentTotal = this.#totalDifficulty(parsed.header.parentHash)
    return {
      ...parsed,
      totalDifficulty: parentTotal + parsed.header.difficulty,
      ...this.#rulesFor(parsed.header, parentTotal),
    }
  }

  #rulesFor(header: Header, parentTotalDifficulty: bigint): { fork: ForkName; isMerged: boolean } {
    const isMerged = this.#schedule.isMerged(parentTotalDifficulty)
    return { fork: this.#schedule.forkAt(header.number, header.timestamp, isMerged), isMerged }
  }

  async #execute(
    block: Candidate,
    state: StateView,
    ancestorHash: (number: number) => Hash32 | undefined,
  ): Promise<BlockDiff> {
    const { header } = block
    const begunMs = performance.now()
    const executed = await this.#executor.execute(block.items, block.fork, state, ancestorHash)
    this.seconds.execute += (performance.now() - begunMs) / 1_000
    compareWithHeader(header, executed)
    const { blockAccessList } = executed
    if (blockAccessList !== undefined) checkAccessListLength(blockAccessList, header.gasLimit)
    const { accounts, slots, trie, code } = executed.changes
    return {
      ...blockRows(block),
      senders: executed.senders,
      receipts: encodeRlp(executed.receipts),
      blockAccessList,
      accounts,
      slots,
      trie,
      code,
    }
  }

  /**
   * A stored block of another branch. Its rules are checked again, because an earlier version of the program or
   * another fork schedule may have stored it. Throws {@link BadBlockError}.
   */
  #storedBlock(hash: Hash32): Candidate {
    const headerRlp = this.#header(hash)
    const bodyRlp = this.#store.readBody(hash)
    if (bodyRlp === undefined) throw new Error(`the body of ${bytesToHex(hash)} is missing`)
    const header = decodeHeader(headerRlp)
    const items = [decodeRlpList(headerRlp), ...decodeRlpList(bodyRlp)]
    const block = this.#withChain({ hash, header, headerRlp, bodyRlp, items, blockAccessList: undefined })
    try {
      this.#checkRules(block, decodeHeader(this.#header(header.parentHash)))
    } catch (error) {
      throw asNamed(error, header.number, hash)
    }
    return block
  }

  #header(hash: Hash32): Uint8Array {
    const header = this.#store.readHeader(hash)
    if (header === undefined) throw new Error(`the header of ${bytesToHex(hash)} is missing`)
    return header
  }

  #totalDifficulty(hash: Hash32): bigint {
    const total = this.#store.readTotalDifficulty(hash)
    if (total === undefined) throw new Error(`the total difficulty of ${bytesToHex(hash)} is missing`)
    return bytesToBigInt(total)
  }

  #genesisHash(): Hash32 {
    return this.#store.readCanonicalHash(0) as Hash32
  }
}

/** The rows of a block that do not depend on execution. */
function blockRows({ hash, header, headerRlp, bodyRlp, totalDifficulty }: Candidate) {
  return {
    number: header.number,
    hash,
    parentHash: header.parentHash,
    header: headerRlp,
    body: bodyRlp,
    totalDifficulty: toMinimalBytes(totalDifficulty),
  }
}

/** Names the block in an error for a broken rule or for missing memory. */
function asNamed(error: unknown, number: number, hash: Hash32): unknown {
  if (error instanceof InvalidBlockError) return new BadBlockError(number, bytesToHex(hash), error.message)
  if (error instanceof FaultError && error.fault.kind === 'ExecutionOutOfMemory') {
    return new OperatorError(
      `block ${number} (${bytesToHex(hash)}) takes more than ${error.fault.limitBytes >> 20} MiB of memory to execute, ` +
        'and no block gets more here; whether it is valid is not known',
    )
  }
  return error
}
