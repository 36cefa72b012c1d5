/**
 * Passes the kernel's events to a tracer, with data of the whole run. These are the caller, the reason of a failed
 * frame, and the number of logs in the block. Owns the state as tracers read it.
 */
import { latin1Key, toHash32 } from '../../../primitives/bytes.js'
import { failureReason, isRefused } from '../engine/failureReasons.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { Kernel } from '../engine/kernel.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import type { KernelFailure } from '../engine/kernelOutcome.js'
import type { KernelFrame, KernelStep, KernelTracer } from '../engine/kernelTrace.js'
import { callCode, create, delegateCall, isCreation, selfdestruct } from '../engine/opcodeNames.js'
import { refusalReason } from '../precompiles/precompiles.js'
import { isDelegation, signersOf } from '../transactions/authorizations.js'
import type { AccountNow, FrameFailure, StateNow, Tracer } from './tracer.js'

interface OpenFrame {
  /** The account whose storage is used. */
  readonly account: Uint8Array
  readonly isCreation: boolean
  readonly gas: bigint
  /** Number and input of its precompiled contract. */
  readonly precompile: { readonly number: number; readonly input: Uint8Array } | undefined
  /** Logs of the block before it. */
  readonly logsBefore: number
}

/** Steps of {@link JobWatch.take} that an instruction counts as: some microseconds in most tracers. */
const stepsPerEvent = 32
const noCode = new Uint8Array(0)
const noHash = toHash32(new Uint8Array(32))

/** The traced kernel. Between {@link begin} and {@link end} its events go to a tracer. */
export class TracedKernel implements KernelTracer, StateNow {
  readonly kernel: Kernel
  readonly #frames: OpenFrame[] = []
  #tracer: Tracer | undefined
  #precompiles: ReadonlyMap<string, number> = new Map()
  #watch!: JobWatch
  /** Logs of the block that are not undone. */
  logs = 0

  constructor() {
    this.kernel = new Kernel(this)
    this.kernel.reportSteps([], false)
  }

  /** From now on, passes events to `tracer`, which has already begun its transaction. */
  begin(tracer: Tracer, precompiles: ReadonlyMap<string, number>, watch: JobWatch): void {
    this.#tracer = tracer
    this.#precompiles = precompiles
    this.#watch = watch
    this.#frames.length = 0
    this.kernel.reportSteps(tracer.opcodes)
  }

  end(): void {
    this.#tracer = undefined
    this.kernel.reportSteps([], false)
  }

  step(step: KernelStep): void {
    // The work of tracers takes longer than the kernel's gas-based checks account for.
    this.#watch.take(stepsPerEvent)
    this.#tracer?.step?.(step)
  }

  cost(gasLeft: bigint): void {
    this.#tracer?.cost?.(gasLeft)
  }

  creation(address: Uint8Array): void {
    this.#tracer?.creation?.(address)
  }

  fault(failure: KernelFailure, cost: bigint): void {
    const refusal = isRefused(failure) ? failureReason(failure, this.kernel, undefined).why : undefined
    this.#tracer?.fault?.(cost, refusal)
  }

  enter(frame: KernelFrame): void {
    const { kind, caller, target, value, input, gas } = frame
    const outer = this.#frames.at(-1)
    const isInherited = kind === callCode || kind === delegateCall
    const account = isInherited && outer !== undefined ? outer.account : target
    const from = kind === delegateCall && outer !== undefined ? outer.account : caller
    const number =
      kind >= create && kind !== selfdestruct ? this.#precompiles.get(latin1Key(target)) : undefined
    const creates = isCreation(frame)
    this.#frames.push({
      account,
      isCreation: creates,
      gas,
      // Copied, because the kernel's memory may move.
      precompile: number === undefined || creates ? undefined : { number, input: input.slice() },
      logsBefore: this.logs,
    })
    this.#tracer?.enter?.({ depth: this.#frames.length - 1, kind, from, to: target, value, input, gas })
  }

  exit(kind: KernelFailure, gasLeft: bigint, output: Uint8Array): void {
    const frame = this.#frames.pop() as OpenFrame
    const failure = this.#failureOf(kind, frame)
    if (failure?.isUndone === true) this.logs = frame.logsBefore
    this.#tracer?.exit?.({
      depth: this.#frames.length,
      gasUsed: frame.gas - gasLeft,
      output,
      failure,
    })
  }

  log(log: KernelLog): void {
    this.#tracer?.log?.(log, this.logs++)
  }

  #failureOf(kind: KernelFailure, { isCreation, precompile }: OpenFrame): FrameFailure | undefined {
    const lacksCode = kind === 'none' && isCreation && this.kernel.lacksCode
    if (kind === 'none' && !lacksCode) return undefined
    const failure = lacksCode ? 'codeStoreOutOfGas' : kind
    const refusal = precompile && (() => refusalReason(precompile.number, precompile.input, this.#watch))
    const { why } = failureReason(failure, this.kernel, refusal)
    return { kind: failure, why, isUndone: !lacksCode }
  }

  account(address: Uint8Array): AccountNow {
    const { kernel } = this
    const handle = kernel.account(address)
    const hasCode = kernel.hasCode(handle)
    const exists = kernel.exists(handle)
    return {
      exists,
      balance: kernel.balanceOf(handle),
      nonce: kernel.nonceOf(handle),
      codeHash: exists ? kernel.codeHashOf(handle) : noHash,
      code: hasCode ? kernel.codeOf(handle) : noCode,
    }
  }

  slot(address: Uint8Array, key: Uint8Array): Uint8Array {
    return this.kernel.slotOf(this.kernel.account(address), key)
  }

  get refund(): bigint {
    return this.kernel.refund
  }

  get returned(): Uint8Array {
    return this.kernel.returned
  }

  delegateOf(address: Uint8Array): Uint8Array | undefined {
    const handle = this.kernel.account(address)
    const code = this.kernel.hasCode(handle) ? this.kernel.codeOf(handle) : noCode
    return isDelegation(code) ? code.slice(3) : undefined
  }

  readonly signersOf = signersOf
}
