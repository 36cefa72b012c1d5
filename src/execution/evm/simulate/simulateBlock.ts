/** Executes simulated blocks one after the other, as go-ethereum does (internal/ethapi/simulate.go). */

import type { BlockItem } from '../../../data/chain/executionRules.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { encodeHeader, type Header, headerHash } from '../../../data/chain/header.js'
import type { Change } from '../../../data/state/stateView.js'
import { indexedRoot, RecentTries } from '../../../data/state/trie.js'
import { type Hash32, toAddress, toMinimalBytes, trimLeft } from '../../../primitives/bytes.js'
import { InvalidBlockError, messageRefused } from '../../../primitives/faults.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import {
  decodeRlpList,
  encodeRlp,
  encodeRlpListOfEncoded,
  type RlpItem,
  rlpLength,
} from '../../../primitives/rlp.js'
import { buildBlockAccessList } from '../blocks/blockAccesses.js'
import { type BlockContext, blockRules } from '../blocks/blockContext.js'
import { receiptsRootOf } from '../blocks/blockParts.js'
import { payRewards, payWithdrawals } from '../blocks/blockPayments.js'
import { BlockTally } from '../blocks/blockTally.js'
import { beginBlock, requestsHash, requestsOf } from '../blocks/systemCalls.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import { applyOverrides } from '../messages/applyOverrides.js'
import { movePrecompiles, ownPrecompiles } from '../precompiles/precompileMoves.js'
import { type RunCall, runSimulatedCall } from './simulatedCall.js'
import type { PlannedBlock } from './simulatedChain.js'
import { type SimulatedParent, type StartedHeader, startHeader } from './simulatedHeader.js'
import type { SimulatedState } from './simulatedState.js'

/** EIP-4844. */
const blobType = 3

export interface SimulatedBlock {
  readonly header: Header
  readonly headerRlp: Uint8Array
  readonly hash: Hash32
  /** RLP list of its transactions, which have no signatures. */
  readonly transactionsRlp: Uint8Array
  /** Undefined before Shanghai. */
  readonly withdrawals: readonly RlpItem[] | undefined
  /** RLP size of the whole block. */
  readonly size: number
  readonly calls: readonly RunCall[]
}

interface SimulationSettings {
  readonly schedule: ForkSchedule
  /** Whether the chain may lack the protocol's contracts. */
  readonly isDevelopment: boolean
  /** The state of this kernel is dropped before each block. */
  readonly kernel: Kernel
  /** The state before the first block; each block adds its changes. */
  readonly state: SimulatedState
  /** Hash by number of blocks before the executed one. */
  readonly ancestorHash: BlockContext['ancestorHash']
  readonly watch: JobWatch
  readonly validates: boolean
  readonly tracesTransfers: boolean
  /** The first transaction of the block under the simulation; undefined if it has none. */
  readonly firstTransaction: () => BlockItem | undefined
  /** Gas of all messages together. */
  readonly gasMax: bigint
}

export class BlockSimulator {
  readonly #settings: SimulationSettings
  readonly #recent = new RecentTries()
  #gasLeft: bigint

  constructor(settings: SimulationSettings) {
    this.#settings = settings
    this.#gasLeft = settings.gasMax
  }

  /**
   * Executes a block on top of the last one. `onCall` is called after each message. Throws FaultError: MessageRefused
   * for overrides that contradict each other and for a block that no chain could have, otherwise as
   * {@link runSimulatedCall}.
   */
  run(block: PlannedBlock, parent: SimulatedParent, onCall: (call: RunCall) => void): SimulatedBlock {
    const { schedule, kernel, state, validates } = this.#settings
    const started = startHeader(block, parent, schedule, validates)
    const { header, fork } = started
    const context = this.#contextOf(started, block)
    this.#prepare(block, context)
    applyOverrides(kernel, block.stateOverrides)
    const isRecorded = includesFork(fork, 'amsterdam')
    if (isRecorded) kernel.recordAccesses()
    kernel.setBlock(context)
    beginBlock(kernel, header, fork, schedule)
    const calls: RunCall[] = []
    const tally = new BlockTally(kernel, fork, state, this.#recent)
    for (const [index, call] of block.calls.entries()) {
      const bounds = { ...this.#settings, blockGas: header.gasLimit - tally.gasUsed, gasLeft: this.#gasLeft }
      kernel.setAccessIndex(index + 1)
      const run = runSimulatedCall(kernel, context, call, bounds)
      this.#gasLeft -= run.gasUsed
      const { type } = run.transaction
      // As in go-ethereum, a message with a gas price is not a blob transaction, though it pays for blobs.
      const blobs = type === blobType ? (call.message.blobVersionedHashes?.length ?? 0) : 0
      tally.add(type, blobs, run.failure === undefined, run)
      calls.push(run)
      onCall(run)
    }
    kernel.setAccessIndex(block.calls.length + 1)
    const requestsHash = includesFork(fork, 'prague') ? this.#requestsHash(tally.logs, fork) : undefined
    const withdrawals = includesFork(fork, 'shanghai') ? withdrawalItems(block) : undefined
    if (withdrawals !== undefined && withdrawals.length > 0) payWithdrawals(kernel, withdrawals)
    if (header.difficulty !== 0n) payRewards(kernel, header, [], fork)
    this.#settle(tally)
    const transactions = calls.map(({ transaction }) => transaction)
    const account = forkRules(fork).execution.withdrawalsAccount?.(fork)
    const storageRoot = account && (state.account(toAddress(account))?.storageRoot ?? emptyTrieRoot)
    return assemble(
      {
        ...header,
        gasUsed: tally.gasUsed,
        stateRoot: state.stateRoot,
        transactionsRoot: indexedRoot(transactions.map(({ bytes }) => bytes)),
        receiptsRoot: receiptsRootOf(tally.receipts, fork),
        logsBloom: tally.logsBloom,
        ...(started.blobs && { blobGasUsed: this.#blobGas(calls, fork) ?? tally.blobGas }),
        ...(withdrawals && {
          withdrawalsRoot: storageRoot ?? indexedRoot(withdrawals.map((item) => encodeRlp(item))),
        }),
        ...(requestsHash === undefined ? {} : { requestsHash }),
        ...(isRecorded ? { blockAccessListHash: keccak256(buildBlockAccessList(kernel)) } : {}),
      },
      transactions.map(({ type, bytes }) => (type === 0 ? bytes : encodeRlp(bytes))),
      withdrawals,
      calls,
    )
  }

  #contextOf({ header, fork, blobs }: StartedHeader, { blockOverrides }: PlannedBlock): BlockContext {
    const rules = blockRules(header, fork, this.#settings.schedule.config.chainId, blobs)
    return {
      ...rules,
      hasBaseFee: header.baseFeePerGas !== undefined,
      blobBaseFee: (blobs && blockOverrides.blobBaseFee) ?? rules.blobBaseFee,
      ancestorHash: (number) => (number < header.number ? this.#settings.ancestorHash(number) : undefined),
    }
  }

  /** Empties the kernel for the block. The precompiled contracts are those of its fork, moved by its overrides. */
  #prepare({ stateOverrides }: PlannedBlock, { fork, ancestorHash }: BlockContext): void {
    const { kernel, state, watch, tracesTransfers } = this.#settings
    const numbers = movePrecompiles(ownPrecompiles(fork), stateOverrides)
    const place = { state, ancestorHash, precompiles: { numbers }, watch }
    kernel.restart(fork, place, watch.limits.memoryBytesMax)
    // From Amsterdam on, transfers have logs of their own (EIP-7708).
    kernel.logsTransfers = tracesTransfers && !includesFork(fork, 'amsterdam')
  }

  /**
   * Blob gas by the rule of the fork, from the first transaction of the block below. Throws FaultError
   * MessageRefused.
   */
  #blobGas(calls: readonly RunCall[], fork: ForkName): bigint | undefined {
    const blobGas = forkRules(fork).execution.blobGas
    if (blobGas === undefined) return undefined
    const first = this.#settings.firstTransaction()
    const items = calls.map(({ transaction: { type, bytes } }) => {
      return { type, item: type === 0 ? decodeRlpList(bytes) : bytes }
    })
    try {
      return blobGas(first === undefined ? items : [first, ...items], fork)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw messageRefused(`error calculating DA footprint: ${error.message}`)
    }
  }

  #requestsHash(logs: readonly KernelLog[], fork: ForkName): Hash32 {
    const { kernel, schedule, isDevelopment } = this.#settings
    try {
      return requestsHash(requestsOf(kernel, logs, schedule, fork, isDevelopment))
    } catch (error) {
      if (!(error instanceof InvalidBlockError)) throw error
      throw messageRefused(error.message)
    }
  }

  /** Adds the kernel's changes to the state. */
  #settle(tally: BlockTally): void {
    const { kernel, state } = this.#settings
    const wiped = [...tally.takeChanged()].filter((account) => kernel.isWiped(account))
    state.add(
      tally.changes(),
      wiped.map((account) => [kernel.addressOf(account), slotsStored(kernel, account)] as const),
    )
  }
}

/** Slots of an account whose storage was removed in this block. */
function* slotsStored(kernel: Kernel, account: number): Generator<Change> {
  if (!kernel.exists(account)) return
  for (const [key, word] of kernel.slotsOf(account)) {
    const value = trimLeft(word)
    if (value.length > 0) yield [key, value]
  }
}

/** Withdrawals in the form of a block's body. */
function withdrawalItems({ blockOverrides }: PlannedBlock): readonly RlpItem[] {
  return (blockOverrides.withdrawals ?? []).map(({ index, validatorIndex, address, amount }) => [
    toMinimalBytes(index),
    toMinimalBytes(validatorIndex),
    address,
    toMinimalBytes(amount),
  ])
}

function assemble(
  header: Header,
  transactions: readonly Uint8Array[],
  withdrawals: readonly RlpItem[] | undefined,
  calls: readonly RunCall[],
): SimulatedBlock {
  const headerRlp = encodeHeader(header)
  const transactionsRlp = encodeRlpListOfEncoded(transactions)
  const withdrawalBytes = withdrawals === undefined ? 0 : encodeRlp(withdrawals).length
  // The empty list of uncles takes one byte.
  const size = rlpLength(headerRlp.length + transactionsRlp.length + 1 + withdrawalBytes)
  return { header, headerRlp, hash: headerHash(headerRlp), transactionsRlp, withdrawals, size, calls }
}
