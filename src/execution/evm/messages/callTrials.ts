/**
 * Short calls and estimates at the head, executed on the calling thread. Passing a call to the pool takes longer than
 * most calls run. Through the pool a token transfer takes the server four times the CPU (scenarios `call-balance`,
 * `estimate-token`). The length of a call is not known in advance, so each call is *tried*. It runs until its budget is
 * used up, and then starts again on the pool. All runs of an estimate share one budget. Owns the budget; rules, prices
 * and faults are those of {@link Execution}, by the same functions.
 */

import type { ForkSchedule } from '../../../data/chain/forks.js'
import { pendingState } from '../../../data/state/stateReader.js'
import { headState, type StateView } from '../../../data/state/stateView.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import { equalBytes, zeroAddress } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { NotStoredError } from '../../../primitives/notStored.js'
import { type BlockContext, BlockContexts } from '../blocks/blockContext.js'
import { statusOf } from '../blocks/blockState.js'
import { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import type { PrecompileRuns } from '../engine/kernelHost.js'
import { StateKernels } from '../engine/stateKernels.js'
import { precompileRuns } from '../precompiles/precompiles.js'
import { runEstimate } from './estimateGas.js'
import type {
  BlockReference,
  CallMessage,
  CallOutcome,
  ExecutionRequest,
  FillRequest,
} from './executionRequest.js'
import { draftJson, filledMessage } from './fillTransaction.js'
import { type CallPlace, isPlainTransfer, runCall } from './messageCall.js'
import { TrialRecord } from './trialRecord.js'

/** Steps of a trial, of about 0.1 µs each: 200,000 gas of cheap instructions, or 60 row reads. */
const trialStepsMax = 2_000
/**
 * A function that took more steps twice at a head goes to the pool next time, which costs the edge a quarter of this.
 */
const shortStepsMax = 1_000
const stepsPerMs = 10_000
/** Gas between two checks of the budget: a twentieth of it, for the slowest instructions a fifth. */
const trialLookGas = 10_000
/** Memory of a trial: its blocks are 64 KiB. */
const trialBytesMax = 2 ** 20
/** Longest data of a tried call, which has to be read and priced. */
const dataBytesMax = 4_096

/** Steps of the precompiled contracts that a trial may run, and bytes of their input in a step. Others end it. */
const precompileSteps: ReadonlyMap<number, readonly [once: number, bytesPerStep: number]> = new Map([
  [0x01, [800, 128]],
  [0x02, [20, 64]],
  [0x03, [50, 4]],
])

/** Thrown if the budget is used up. */
const tooLong = new Error('a trial is over')
/** Thrown if a row is missing in memory and the store no longer has the state in its latest tables. */
const notHead = new Error('a trial is of a block that is no longer the head')

/** The client of a call, which pays for trials that fail. */
interface TrialOwner {
  readonly keyId: string
  ran(cpuMs: number): void
}

export class CallTrials {
  readonly #store: ChainRows
  readonly #chainId: bigint
  readonly #contexts: BlockContexts
  readonly #kernels = new StateKernels(1)
  readonly #record = new TrialRecord()
  readonly #watch = new TrialWatch()
  /** The rows of the head's state, for the kernel. */
  #rows: StateView | undefined
  /** The block of the current trial, and whether it was found to be the head. */
  #block: BlockReference | undefined
  #isHead = false

  constructor(store: ChainRows, schedule: ForkSchedule) {
    this.#store = store
    this.#chainId = schedule.config.chainId
    this.#contexts = new BlockContexts(store, schedule)
  }

  /** The outcome, or the fault, of {@link Execution.call}; undefined if it has to run on the pool. */
  call(request: ExecutionRequest, owner: TrialOwner): CallOutcome | undefined {
    if (!isOrdinary(request) || !this.#record.admit(owner.keyId, request.message)) return undefined
    return this.#try(request, owner, (place) => {
      const outcome = runCall(request, place)
      if (this.#watch.stepsTaken > shortStepsMax) this.#record.tookLong(request.message, request.block.number)
      return outcome
    })
  }

  /** The gas, or the fault, of {@link Execution.estimate}; undefined if it has to run on the pool. */
  estimate(request: ExecutionRequest, owner: TrialOwner): bigint | undefined {
    const { message } = request
    if (!isOrdinary(request)) return undefined
    return this.#try(request, owner, (place) => {
      if (!isPlainTransfer(place, message) && !this.#record.admit(owner.keyId, message)) return undefined
      const { gas } = runEstimate(request, place)
      if (this.#watch.stepsTaken > shortStepsMax) this.#record.tookLong(message, request.block.number)
      return gas
    })
  }

  /** The draft, or the fault, of {@link Execution.fill}; undefined if it has to run on the pool. */
  fill(request: FillRequest, owner: TrialOwner): Uint8Array | undefined {
    // With its gas given, nothing is executed.
    const mayRun =
      request.message.gas === undefined
        ? isOrdinary(request) && this.#record.admit(owner.keyId, request.message)
        : isBrief(request.message)
    if (!mayRun) return undefined
    return this.#try(request, owner, (place) => {
      const message = filledMessage(request, place.context)
      const gasLimit = message.gas ?? runEstimate({ ...request, message }, place).gas
      return Buffer.from(draftJson(message, { chainId: this.#chainId, gasLimit, nonce: request.nonce }))
    })
  }

  /** The result of `work` at the head; undefined for another block, or if the budget was used up. */
  #try<T>(
    { block, message }: ExecutionRequest,
    owner: TrialOwner,
    work: (place: CallPlace) => T | undefined,
  ): T | undefined {
    const { context, stateRoot } = this.#contexts.read(block)
    this.#block = block
    this.#isHead = false
    const isCached = this.#kernels.has(stateRoot, context.fork)
    if (!isCached && !this.#isAtHead()) return undefined
    const kernel = this.#kernelFor(context, stateRoot)
    this.#watch.begin()
    try {
      const sender = kernel.account(message.from ?? zeroAddress)
      const balance = kernel.balanceOf(sender)
      return work({ context, kernel, balance, watch: this.#watch, authorities: noAuthorities })
    } catch (error) {
      if (error === notHead) return undefined
      // A run that ends within a read leaves no rows in memory.
      if (error instanceof NotStoredError) this.#record.forgetLong()
      if (error !== tooLong && !isOutOfMemory(error)) throw error
      this.#record.fail(owner.keyId, message)
      owner.ran(trialStepsMax / stepsPerMs)
      return undefined
    } finally {
      this.#kernels.trim()
    }
  }

  #kernelFor({ fork, ancestorHash }: BlockContext, stateRoot: StateView['stateRoot']): Kernel {
    const kernel = this.#kernels.over(fork, {
      state: this.#rowsOf(stateRoot),
      // For non-canonical blocks, an ancestor is found by a walk.
      ancestorHash: (number) => this.#readAtHead(() => ancestorHash(number)),
      precompiles: { runs: this.#tried(precompileRuns(fork, this.#watch)) },
      watch: this.#watch,
    })
    kernel.setLookEvery(trialLookGas)
    kernel.limitMemory(trialBytesMax)
    return kernel
  }

  #rowsOf(stateRoot: StateView['stateRoot']): StateView {
    if (this.#rows?.stateRoot === stateRoot) return this.#rows
    const pending = pendingState(this.#store)
    const isPending = pending !== undefined && equalBytes(pending.stateRoot, stateRoot)
    const state = isPending ? pending : headState(this.#store, stateRoot)
    this.#rows = {
      stateRoot,
      tries: state.tries,
      hasRows: state.hasRows,
      code: (hash) => state.code(hash),
      slotsOf: (address) => state.slotsOf(address),
      account: (address) => this.#readAtHead(() => state.account(address)),
      slot: (address, slot) => this.#readAtHead(() => state.slot(address, slot)),
    }
    return this.#rows
  }

  /** Rows of another head must not be mixed in. Within a turn of the event loop the store reads one snapshot. */
  #readAtHead<T>(read: () => T): T {
    if (!this.#isAtHead()) throw notHead
    return read()
  }

  #isAtHead(): boolean {
    this.#isHead ||= this.#block !== undefined && statusOf(this.#store, this.#block) === 'head'
    return this.#isHead
  }

  #tried(runs: PrecompileRuns): PrecompileRuns {
    return {
      get: (number) => {
        const run = runs.get(number)
        const [once, bytesPerStep] = precompileSteps.get(number) ?? [trialStepsMax + 1, 1]
        return (
          run &&
          ((data, gas) => {
            this.#watch.take(once + data.length / bytesPerStep)
            return run(data, gas)
          })
        )
      },
    }
  }
}

const noAuthorities = () => []

/** Whether a message may be short and needs only rows of the head. */
function isOrdinary({ message, stateOverrides, blockOverrides }: ExecutionRequest): boolean {
  if (stateOverrides !== undefined || blockOverrides !== undefined) return false
  return message.to !== undefined && isBrief(message)
}

/** Whether a message is read and priced quickly. */
function isBrief({ data, accessList, authorizationList, blobVersionedHashes }: CallMessage): boolean {
  if (data.length > dataBytesMax) return false
  return accessList === undefined && authorizationList === undefined && blobVersionedHashes === undefined
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof FaultError && error.fault.kind === 'ExecutionOutOfMemory'
}

/** Ends a trial whose budget is used up. */
class TrialWatch extends JobWatch {
  #stepsLeft = 0

  constructor() {
    super(() => false, { timeMsMax: Number.POSITIVE_INFINITY, memoryBytesMax: trialBytesMax })
  }

  begin(): void {
    this.#stepsLeft = trialStepsMax
  }

  get stepsTaken(): number {
    return trialStepsMax - this.#stepsLeft
  }

  override take(steps: number): void {
    this.#stepsLeft -= steps
    if (this.#stepsLeft < 0) throw tooLong
  }

  override look(): void {}
}
