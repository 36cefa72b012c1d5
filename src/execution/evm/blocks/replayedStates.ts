/**
 * States within blocks of which several transactions are traced, one by one. A block that is requested again is executed
 * once as a whole, and its access list is cached (EIP-7928, of any block). The state before each transaction follows from
 * the list, without an execution of the earlier ones. Owns which lists are cached.
 */
import { LRUCache } from 'lru-cache'
import { anyBlock, decodeBlockAccessList } from '../../../data/chain/blockAccessList.js'
import { includesFork } from '../../../data/chain/forks.js'
import type { StateView } from '../../../data/state/stateView.js'
import { latin1Key } from '../../../primitives/bytes.js'
import { SeenOnceFilter } from '../../../primitives/seenOnceFilter.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import { buildBlockAccessList } from './blockAccesses.js'
import type { BlockReplays, ReplayedBlock } from './blockReplay.js'
import { ListedBlock } from './listedState.js'

/** Memory for kept blocks, a few of 36 million gas: an indexer requests the transactions of one after the other. */
const keptBytesMax = 16 * 2 ** 20
/** Bytes of an entry of a list with its rows, and of a transaction, as V8 counts them. */
const entryBytes = 400
const transactionBytes = 1_500
/** Limit of remembered blocks that were requested once. */
const askedBlocks = 256
/**
 * Gas up to which a block is executed as a whole for one of its transactions. At 10 million gas a second, the least that
 * benchmarks allow, it takes six seconds of the thirty that a trace has.
 */
const gasMax = 60_000_000

interface KnownBlock {
  readonly block: ReplayedBlock
  readonly listed: ListedBlock
  /** Number of the block's logs before each transaction. */
  readonly logsBefore: readonly number[]
  readonly bytesCached: number
}

/** The start of a transaction. */
interface TransactionStart {
  readonly state: StateView
  readonly logsBefore: number
}

export class ReplayedStates {
  readonly #replays: BlockReplays
  readonly #kept = new LRUCache<string, KnownBlock>({
    maxSize: keptBytesMax,
    sizeCalculation: ({ bytesCached }) => bytesCached,
  })
  readonly #asked = new SeenOnceFilter(askedBlocks)

  constructor(replays: BlockReplays) {
    this.#replays = replays
  }

  /** A kept block; undefined for any other. Throws FaultError if the state before it was removed meanwhile. */
  find(hash: Uint8Array): ReplayedBlock | undefined {
    const block = this.#kept.get(latin1Key(hash))?.block
    if (block !== undefined) this.#replays.requireKept(block)
    return block
  }

  /**
   * The state before a transaction of a block, for execution alone. Undefined if the earlier transactions have to run:
   * in a block that is requested for the first time, or is not cached. `kernel` returns a kernel for that run, which is
   * empty afterwards.
   */
  before(
    block: ReplayedBlock,
    index: number,
    kernel: () => Kernel,
    watch: JobWatch,
  ): TransactionStart | undefined {
    const key = latin1Key(block.hash)
    let known = this.#kept.get(key)
    if (known === undefined) {
      if (!isListable(block) || !this.#asked.admitsHash(block.hash, 0)) return undefined
      known = this.#execute(block, kernel(), watch)
      this.#kept.set(key, known)
    }
    const { listed, logsBefore } = known
    const state = listed.before(index + 1, this.#lateState(block))
    return { state, logsBefore: logsBefore[index] ?? 0 }
  }

  /** The state before a block, which a list needs for code alone; opened at the first read. */
  #lateState(block: ReplayedBlock): Pick<StateView, 'account' | 'slot' | 'code'> {
    let state: StateView | undefined
    const opened = () => {
      state ??= this.#replays.stateBefore(block)
      return state
    }
    return {
      account: (address) => opened().account(address),
      slot: (address, slot) => opened().slot(address, slot),
      code: (hash) => this.#replays.readCode(hash),
    }
  }

  #execute(block: ReplayedBlock, kernel: Kernel, watch: JobWatch): KnownBlock {
    const logsBefore: number[] = []
    let logs = 0
    this.#replays.begin(kernel, block, watch, true)
    for (const [index, transaction] of block.transactions.entries()) {
      logsBefore.push(logs)
      kernel.setAccessIndex(index + 1)
      this.#replays.run(kernel, block, transaction, watch)
      logs += kernel.logs.length
    }
    const list = buildBlockAccessList(kernel)
    kernel.clear()
    const listed = new ListedBlock(decodeBlockAccessList(list, anyBlock), this.#replays.stateBefore(block))
    const bodyBytes = block.transactions.reduce((sum, { data }) => sum + transactionBytes + data.length, 0)
    const bytesCached = list.length + (listed.entries + 1) * entryBytes + bodyBytes
    return { block, listed, logsBefore, bytesCached }
  }
}

/**
 * Before Cancun, a list does not show that a contract lost its slots (EIP-6780). A block with at most one transaction
 * needs no list, because no other transaction runs before.
 */
function isListable({ header, transactions, context }: ReplayedBlock): boolean {
  return transactions.length > 1 && header.gasUsed <= gasMax && includesFork(context.fork, 'cancun')
}
