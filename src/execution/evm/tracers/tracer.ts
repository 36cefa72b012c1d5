/**
 * The interface of tracers, which turn the events of one transaction into JSON. A tracer owns its form of the result;
 * kernelEvents.ts owns the meaning of the events, and tracing.ts the choice of transactions.
 */
import type { ForkName } from '../../../data/chain/forks.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import type { KernelFailure } from '../engine/kernelOutcome.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import type { Authorization } from '../messages/executionRequest.js'

/** An account in the current state of the traced transaction. */
export interface AccountNow {
  readonly balance: bigint
  readonly nonce: bigint
  readonly exists: boolean
  /** 32 bytes; zeros for an account that does not exist. */
  readonly codeHash: Hash32
  readonly code: Uint8Array
}

/** The current state. Read it only in the members begin, step, cost, fault, enter and end of a tracer. */
export interface StateNow {
  account(address: Uint8Array): AccountNow
  /** 32 bytes, as `key`. */
  slot(address: Uint8Array, key: Uint8Array): Uint8Array
  readonly refund: bigint
  /** Data that the last inner call returned; a view. */
  readonly returned: Uint8Array
  /** The account to which another delegates (EIP-7702). */
  delegateOf(address: Uint8Array): Uint8Array | undefined
  /** Signers of authorizations with a valid signature, for any chain. */
  signersOf(list: readonly Authorization[]): readonly Uint8Array[]
}

/** A transaction, or a message in its place, before it runs. Addresses have 20 bytes. */
export interface TracedTransaction {
  readonly fork: ForkName
  readonly sender: Uint8Array
  /** The recipient, or the contract that is created. */
  readonly target: Uint8Array
  readonly isCreation: boolean
  readonly coinbase: Uint8Array
  readonly gasLimit: bigint
  /** Wei per gas that its sender pays. */
  readonly gasPrice: bigint
  /** Number of the block in which it runs. */
  readonly blockNumber: bigint
  readonly authorizationList: readonly Authorization[]
  isPrecompile(address: Uint8Array): boolean
  /** Place of the transaction in the chain; undefined for a message. */
  readonly place: TransactionPlace | undefined
  readonly state: StateNow
}

export interface TransactionPlace {
  readonly blockHash: Uint8Array
  readonly blockNumber: number
  readonly hash: Uint8Array
  readonly index: number
}

/** A call or creation that begins, or the balance that SELFDESTRUCT sends. Its bytes are views. */
export interface TracedFrame {
  /** 0 for the transaction's own. */
  readonly depth: number
  /** The opcode. */
  readonly kind: number
  /** The caller; for DELEGATECALL the account whose code calls. */
  readonly from: Uint8Array
  readonly to: Uint8Array
  readonly value: bigint
  readonly input: Uint8Array
  readonly gas: bigint
}

export interface FrameFailure {
  readonly kind: KernelFailure
  /** go-ethereum's message. */
  readonly why: string
  /** Whether the changes of the call were undone; false for a contract without code, before Homestead. */
  readonly isUndone: boolean
}

/** The end of the innermost frame. `output` is a view; for a failed creation it is the refused code. */
export interface FrameEnd {
  readonly depth: number
  readonly gasUsed: bigint
  readonly output: Uint8Array
  readonly failure: FrameFailure | undefined
}

/** Receives JSON in parts. */
export interface TraceOutput {
  readonly json: JsonBytes
  /** Passes on the written JSON if it is long enough. Call it often, and do not use earlier JSON again. */
  flush(): void
  /** Checks the memory that a tracer keeps until its end. Throws FaultError TraceTooLarge. */
  holding(bytes: number): void
}

/** A tracer for one transaction, or for a list of them ({@link ParityTracer}). Absent members are not called. */
export interface Tracer {
  /** Opcodes whose steps the tracer receives. */
  readonly opcodes: 'all' | readonly number[]
  begin(transaction: TracedTransaction, output: TraceOutput): void
  /** Called before each instruction, even one that fails. */
  step?(step: KernelStep): void
  /** See `KernelTracer.cost`. */
  cost?(gasLeft: bigint): void
  /** See `KernelTracer.creation`. */
  creation?(address: Uint8Array): void
  /** See `KernelTracer.fault`. `refusal` is go-ethereum's message if the instruction did not begin. */
  fault?(cost: bigint, refusal: string | undefined): void
  enter?(frame: TracedFrame): void
  exit?(end: FrameEnd): void
  /** `index` counts the logs of the block that are not undone, from 0. */
  log?(log: KernelLog, index: number): void
  /** Writes the result, or the rest of it. `gasUsed` is a receipt's. */
  end(gasUsed: bigint): void
}

/** Common base of most tracers: the transaction and the output. */
export abstract class TransactionTracer implements Tracer {
  readonly opcodes: Tracer['opcodes'] = []
  protected transaction!: TracedTransaction
  protected output!: TraceOutput
  #resultBytes = 0

  begin(transaction: TracedTransaction, output: TraceOutput): void {
    this.transaction = transaction
    this.output = output
    this.#resultBytes = 0
    this.begun()
  }

  /** Called at the start of each transaction. */
  protected begun(): void {}

  abstract end(gasUsed: bigint): void

  /** Counts bytes that the tracer keeps until the end. */
  protected hold(bytes: number): void {
    this.#resultBytes += bytes
    this.output.holding(this.#resultBytes)
  }

  /** Writes items in brackets, separated by commas; flushes after each. */
  protected writeAll<T>(brackets: '[]' | '{}', all: Iterable<T>, write: (each: T) => void): void {
    const { json } = this.output
    let count = 0
    json.text(brackets.charAt(0))
    for (const each of all) {
      if (count++ > 0) json.text(',')
      write(each)
      this.output.flush()
    }
    json.text(brackets.charAt(1))
  }
}

/** Sorts by name. */
export function byName<T>(entries: Iterable<readonly [name: string, T]>): (readonly [name: string, T])[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
}
