/**
 * The calls of a transaction as a tree, for tracers that write it at the end: callTracer nested, flatCallTracer flat.
 * Owns the record of a call that both use.
 */

import { noBytes } from '../../../primitives/bytes.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import { isCreation } from '../engine/opcodeNames.js'
import { decodeRevertReason } from '../messages/revertReason.js'
import { stop } from '../transactions/transaction.js'
import { type FrameEnd, type FrameFailure, type TracedFrame, TransactionTracer } from './tracer.js'

export interface CallLog extends KernelLog {
  /** Index among the logs of the block. */
  readonly index: number
  /** Number of the call's own calls before this log. */
  readonly position: number
}

export interface Call {
  readonly kind: number
  readonly from: Uint8Array
  /** Undefined for a failed creation. */
  to: Uint8Array | undefined
  readonly value: bigint
  readonly input: Uint8Array
  gas: bigint
  gasUsed: bigint
  output: Uint8Array
  failure: FrameFailure | undefined
  /** Dropped if the call or a call around it failed. */
  logs: CallLog[]
  readonly calls: Call[]
}

/** Memory of a call or log, without its bytes. */
const itemBytes = 400

/** A tracer that writes the calls of a transaction at its end. */
export abstract class CallTreeTracer extends TransactionTracer {
  #top: Call | undefined
  readonly #open: Call[] = []
  readonly #onlyTop: boolean

  /** With `onlyTop`, calls inside the outermost one are left out. */
  constructor(onlyTop = false) {
    super()
    this.#onlyTop = onlyTop
  }

  protected override begun(): void {
    this.#top = undefined
    this.#open.length = 0
  }

  /** The outermost call, complete after the end of the transaction. */
  protected get top(): Call {
    if (this.#top === undefined) throw new Error('a transaction without a call')
    return this.#top
  }

  /** The innermost call that has not ended. */
  protected get current(): Call {
    return this.#open.at(-1) as Call
  }

  enter({ depth, kind, from, to, value, input, gas }: TracedFrame): void {
    if (this.#onlyTop && depth > 0) return
    this.hold(itemBytes + input.length)
    const call: Call = {
      kind,
      from,
      to,
      value,
      input: input.slice(),
      gas,
      gasUsed: 0n,
      output: noBytes,
      failure: undefined,
      logs: [],
      calls: [],
    }
    this.#open.at(-1)?.calls.push(call)
    this.#top ??= call
    this.#open.push(call)
  }

  exit({ depth, gasUsed, output, failure }: FrameEnd): void {
    if (this.#onlyTop && depth > 0) return
    const call = this.#open.pop() as Call
    call.gasUsed = gasUsed
    // As in go-ethereum, a contract created without code counts as a success.
    call.failure = failure?.isUndone === true ? failure : undefined
    if (call.failure === undefined || call.failure.kind === 'reverted') {
      this.hold(output.length)
      call.output = output.slice()
    }
    if (call.failure !== undefined && (isCreation(call) || call.kind === stop)) call.to = undefined
  }

  protected keepLog(log: KernelLog, index: number): void {
    // The current call has the log's depth: with `onlyTop`, callTracer drops logs of inner calls.
    const call = this.current
    this.hold(itemBytes + log.data.length)
    call.logs.push({ ...log, index, position: call.calls.length })
  }
}

/** The reason of a revert as text; undefined if there is none. */
export function revertReasonOf({ failure, output }: Call): string | undefined {
  return failure?.kind === 'reverted' ? decodeRevertReason(output) : undefined
}

/** Text as JSON, escaped as in Go, so that lengths are equal. */
export function goText(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029\u007f-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
