/**
 * Executes messages on the state after a block without changing it: calls, gas estimates, access lists. A narrow
 * interface: plain data in and out (numbers, bigints, bytes), faults thrown. Owns the choice of a job's state, block
 * and kernel; the run itself is messageCall.ts.
 */
import type { ForkSchedule } from '../../../data/chain/forks.js'
import type { StateView } from '../../../data/state/stateView.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import { type BlockContext, BlockContexts, readRules } from '../blocks/blockContext.js'
import { atOneStatus, BlockStates, type BlockStatus } from '../blocks/blockState.js'
import { type JobLimits, JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import { StateKernels } from '../engine/stateKernels.js'
import { movePrecompiles, ownPrecompiles } from '../precompiles/precompileMoves.js'
import { recoverAuthorities, type SignedAuthorization } from '../transactions/authorizations.js'
import { excludedAddresses, listAccesses } from './accessLists.js'
import { applyOverrides } from './applyOverrides.js'
import { transactionHash, withFees } from './callTransaction.js'
import { runEstimate } from './estimateGas.js'
import type {
  AccessListEntry,
  AccessListOutcome,
  CallOutcome,
  EstimateOutcome,
  ExecutionRequest,
  FillRequest,
} from './executionRequest.js'
import { draftJson, filledMessage } from './fillTransaction.js'
import { askedGas, type Start, startWithAskedGas } from './gasBounds.js'
import { type CallPlace, runCall, runMessage, toFault } from './messageCall.js'

interface JobRequest extends ExecutionRequest {
  /** Whether precompiled contracts stay in place, with any overrides. */
  readonly keepsPrecompiles?: boolean
}

interface Job extends CallPlace {
  readonly nonce: bigint
}

/** States cached in memory: the head's and those of a few other blocks in use. */
const keptStatesMax = 4

/** Executes messages on the states of one network's store, one job after the other. */
export class Execution {
  readonly #schedule: ForkSchedule
  readonly #contexts: BlockContexts
  readonly #kernels: StateKernels
  #lastJob: Promise<unknown> = Promise.resolve()
  readonly #states: BlockStates
  readonly #store: ChainRows
  readonly #limits: JobLimits

  /** `limits` apply to each job. */
  constructor(store: ChainRows, limits: JobLimits) {
    this.#states = new BlockStates(store)
    this.#store = store
    this.#limits = limits
    const { schedule } = readRules(store)
    this.#schedule = schedule
    this.#kernels = new StateKernels(keptStatesMax, schedule.family.calls.unknown)
    this.#contexts = new BlockContexts(store, this.#schedule)
  }

  /**
   * Executes a message. Rejects with FaultError if it cannot start (fees, funds, gas), if the block or its state is not
   * stored, or if a limit is reached. A failed execution is an outcome. `shouldStop` is called often and must be fast.
   */
  call(request: ExecutionRequest, shouldStop: () => boolean): Promise<CallOutcome> {
    return this.#withJob(request, shouldStop, (job) => runCall(request, job))
  }

  /** Least gas limit that suffices. Rejects as {@link call} does, and with the failure at the highest gas limit. */
  estimate(request: ExecutionRequest, shouldStop: () => boolean): Promise<EstimateOutcome> {
    return this.#withJob(request, shouldStop, (job) => runEstimate(request, job))
  }

  /** The draft of a transaction as JSON, see fillTransaction.ts. Rejects as {@link estimate} does. */
  fill(request: FillRequest, shouldStop: () => boolean): Promise<Uint8Array> {
    return this.#withJob(request, shouldStop, (job) => {
      const message = filledMessage(request, job.context)
      const gasLimit = message.gas ?? runEstimate({ ...request, message }, job).gas
      const facts = { chainId: this.#schedule.config.chainId, gasLimit, nonce: request.nonce }
      return Buffer.from(draftJson(message, facts))
    })
  }

  /** The access list of all accesses of a message. Rejects as {@link call} does. */
  accessList(request: ExecutionRequest, shouldStop: () => boolean): Promise<AccessListOutcome> {
    // As in go-ethereum, overrides do not change precompiled contracts here.
    return this.#withJob({ ...request, keepsPrecompiles: true }, shouldStop, (job) => {
      const { context, kernel, watch, balance, nonce } = job
      const message = withFees(request.message, context)
      const start = (accessList: readonly AccessListEntry[]): Start => {
        const listed = { ...request, message: { ...message, accessList } }
        const words = (why: string) =>
          `failed to apply transaction: ${this.#hashOf(listed, nonce)} err: ${why}`
        return startWithAskedGas(listed, context, balance, words)
      }
      const given = message.accessList ?? []
      // Signers are recovered only if the message can pay for them.
      if (message.authorizationList !== undefined) start(given)
      const authorizations = job.authorities()
      const precompiles = ownPrecompiles(context.fork)
      const excluded = excludedAddresses(message, precompiles, authorizations, message.nonce ?? nonce)
      const { accessList, outcome } = listAccesses(given, excluded, (accessList) => {
        const { priced, gasLimit } = start(accessList)
        return runMessage(kernel, priced, { gasLimit, watch, authorizations, keepsAccesses: true })
      })
      return { accessList, gasUsed: outcome.gasUsed, failure: toFault(outcome) }
    })
  }

  #hashOf(request: ExecutionRequest, nonce: bigint): string {
    const { message } = request
    return transactionHash(message, {
      chainId: this.#schedule.config.chainId,
      gasLimit: askedGas(request),
      nonce: message.nonce ?? nonce,
    })
  }

  /** Runs `work` after earlier jobs, on the fastest tables that have the block's state. */
  #withJob<T>(request: JobRequest, shouldStop: () => boolean, work: (job: Job) => T): Promise<T> {
    const turn = this.#lastJob.then(() => {
      const watch = new JobWatch(shouldStop, this.#limits)
      const run = (status: BlockStatus) => {
        try {
          return work(this.#prepare(request, watch, status))
        } finally {
          this.#kernels.trim()
        }
      }
      return atOneStatus(this.#store, request.block, run, () => this.#kernels.clear())
    })
    this.#lastJob = turn.catch(() => undefined)
    return turn
  }

  #prepare(request: JobRequest, watch: JobWatch, status: BlockStatus): Job {
    const { message, block } = request
    const { context, stateRoot } = this.#contexts.read(block, request.blockOverrides)
    const stored = this.#states.open(status, block, stateRoot)
    const kernel = this.#kernelFor(request, watch, context, stored)
    kernel.limitMemory(this.#limits.memoryBytesMax)
    const sender = kernel.account(message.from ?? new Uint8Array(20))
    let signed: readonly SignedAuthorization[] | undefined
    return {
      context,
      kernel,
      authorities: () => {
        signed ??= recoverAuthorities(message.authorizationList ?? [], this.#schedule.config.chainId, watch)
        return signed
      },
      watch,
      balance: kernel.balanceOf(sender),
      nonce: kernel.nonceOf(sender),
    }
  }

  #kernelFor(
    { stateOverrides = [], keepsPrecompiles = false }: JobRequest,
    watch: JobWatch,
    { fork, ancestorHash }: BlockContext,
    stored: StateView,
  ): Kernel {
    const { unknown } = this.#schedule.family.calls
    const place = { state: stored, ancestorHash, watch, unknown }
    if (stateOverrides.length === 0) return this.#kernels.over(fork, place)
    const own = ownPrecompiles(fork)
    const moved = movePrecompiles(keepsPrecompiles ? new Map() : own, stateOverrides)
    const numbers = keepsPrecompiles ? own : moved
    const kernel = this.#kernels.apartFor(fork, { ...place, precompiles: { numbers } })
    applyOverrides(kernel, stateOverrides)
    return kernel
  }
}
