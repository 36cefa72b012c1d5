/**
 * Executes a block's transactions again in order, on the state after its parent, so that a tracer can follow any of
 * them. Owns the sources of header, body, senders and state. executeBlock.ts executes blocks whose outcome is not known
 * yet.
 */
import { type BlobParameters, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { decodeHeader, type Header } from '../../../data/chain/header.js'
import { requireKeptBefore } from '../../../data/chain/removedHistory.js'
import type { StateView } from '../../../data/state/stateView.js'
import type { BlockName, ChainRows } from '../../../data/store/chainRows.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import { decodeRlpList, type RlpItem, rlpList } from '../../../primitives/rlp.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import type { BlockReference } from '../messages/executionRequest.js'
import { recoverAuthorities } from '../transactions/authorizations.js'
import { readSignedTransaction, type SignedTransaction } from '../transactions/signedTransaction.js'
import { runTransaction, type TransactionOutcome } from '../transactions/transaction.js'
import { type BlockContext, BlockContexts, readRules } from './blockContext.js'
import { applyDaoFork, type Reward, rewardsOf } from './blockPayments.js'
import { BlockStates, statusOf } from './blockState.js'
import { beginBlock } from './systemCalls.js'

/** A block with everything that its transactions need. */
export interface ReplayedBlock {
  readonly hash: Uint8Array
  readonly header: Header
  readonly context: BlockContext
  readonly blobs: BlobParameters | undefined
  readonly transactions: readonly SignedTransaction[]
  /** Rewards of its miners. */
  readonly rewards: readonly Reward[]
}

/** Bytes of sender and hash of a transaction in a block's row. */
const senderBytes = 52

/** Replays blocks of one store, one after the other. */
export class BlockReplays {
  readonly schedule: ForkSchedule
  readonly contexts: BlockContexts
  readonly #states: BlockStates
  readonly #store: ChainRows

  constructor(store: ChainRows) {
    this.#store = store
    this.schedule = readRules(store).schedule
    this.contexts = new BlockContexts(store, this.schedule)
    this.#states = new BlockStates(store)
  }

  /** The state after a block. Throws NotStoredError if it is not stored. */
  stateAfter(hash: Uint8Array, { number, stateRoot }: Header): StateView {
    const block = { number, hash }
    const root = this.#store.readRootByHand?.(hash) ?? stateRoot
    return this.#states.open(statusOf(this.#store, block), block, root)
  }

  stateBefore({ header: { parentHash } }: ReplayedBlock): StateView {
    return this.stateAfter(parentHash, this.readHeader(parentHash))
  }

  /** Throws FaultError HeaderForHashNotFound. */
  readHeader(hash: Uint8Array): Header {
    const row = this.#store.readHeader(hash as Hash32)
    if (row === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    return decodeHeader(row)
  }

  /** Reads a block. Throws FaultError if the block or the state before it is not stored, and for the genesis block. */
  read(hash: Uint8Array): ReplayedBlock {
    const header = this.readHeader(hash)
    if (header.number === 0) throw messageRefused('genesis is not traceable')
    const reference: BlockReference = { number: header.number, hash, isPending: false }
    this.requireKept({ header, hash })
    const { context } = this.contexts.read(reference)
    const body = this.#store.readBody(hash as Hash32)
    if (body === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    const [transactions, uncles] = decodeRlpList(body)
    return {
      hash,
      header,
      context,
      blobs: this.schedule.blobParametersAt(context.fork),
      transactions: this.#readTransactions(hash as Hash32, itemsOf(transactions), context),
      rewards: includesFork(context.fork, 'paris') ? [] : rewardsOf(header, itemsOf(uncles), context.fork),
    }
  }

  readCode(hash: Hash32): Uint8Array | undefined {
    return this.#store.readCode(hash)
  }

  /** Throws FaultError if the state before a block was removed. */
  requireKept({ header, hash }: Pick<ReplayedBlock, 'header' | 'hash'>): void {
    requireKeptBefore(this.#store, { number: header.number, hash: hash as Hash32 })
  }

  /** The hashes of the chain that ends with `head`, by number. Throws FaultError HeaderNotFound. */
  hashesUpTo(head: BlockName): (number: number) => Hash32 {
    const store = this.#store
    /** Hashes of the blocks that are not canonical, newest first. */
    const beside: Hash32[] = []
    let { number: base, hash } = head
    for (; !store.isCanonical(base, hash); base--) {
      beside.push(hash)
      hash = this.readHeader(hash).parentHash
    }
    return (number) => {
      const found = number > base ? beside[head.number - number] : store.readCanonicalHash(number)
      if (found === undefined) throw new FaultError({ kind: 'HeaderNotFound' })
      return found
    }
  }

  #readTransactions(
    hash: Hash32,
    items: readonly RlpItem[],
    { fork, chainId }: BlockContext,
  ): SignedTransaction[] {
    const senders = this.#store.readBlock(hash)?.senders
    if (senders === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    return items.map((item, index) => {
      const at = index * senderBytes
      const sender = senders.slice(at, at + 20)
      return readSignedTransaction(item, fork, chainId, { senderOf: () => sender })
    })
  }

  /** Empties the kernel and attaches it to a state before or within a block. */
  attach(kernel: Kernel, { context }: ReplayedBlock, state: StateView, watch: JobWatch): void {
    const { fork, ancestorHash } = context
    kernel.restart(fork, { state, ancestorHash, watch }, watch.limits.memoryBytesMax)
    kernel.setBlock(context)
  }

  /**
   * Empties the kernel and runs the steps before the first transaction of a block. With `isRecorded` the kernel records
   * all later accesses and changes.
   */
  begin(kernel: Kernel, block: ReplayedBlock, watch: JobWatch, isRecorded = false): void {
    const { header, context } = block
    const { fork } = context
    this.attach(kernel, block, this.stateBefore(block), watch)
    if (isRecorded) kernel.recordAccesses()
    if (header.number === this.schedule.config.blocks.get('dao')) applyDaoFork(kernel)
    beginBlock(kernel, header, fork, this.schedule)
  }

  run(
    kernel: Kernel,
    block: ReplayedBlock,
    transaction: SignedTransaction,
    watch: JobWatch,
  ): TransactionOutcome {
    const { context, blobs } = block
    const authorizations = recoverAuthorities(transaction.authorizationList ?? [], context.chainId, watch)
    return runTransaction(kernel, context, blobs, undefined, transaction, authorizations)
  }
}

function itemsOf(item: RlpItem | undefined): readonly RlpItem[] {
  return rlpList(item as RlpItem)
}
