/**
 * The interface of tracers: what one transaction does, event by event, becomes JSON. A tracer owns its form of the
 * result; kernelEvents.ts owns what the events mean, and tracing.ts which transactions are run.
 */
import type { ForkName } from '../../../data/chain/forks.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import type { KernelFailure } from '../engine/kernelOutcome.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import type { Authorization } from '../messages/executionRequest.js'

/** An account as the traced transaction finds it at the moment. */
export interface AccountNow {
  readonly balance: bigint
  readonly nonce: bigint
  readonly exists: boolean
  /** 32 bytes; zeros for an account that does not exist. */
  readonly codeHash: Hash32
  readonly code: Uint8Array
}

/** The state at the moment. Read it in no other member of a tracer than begin, step, cost, fault, enter and end. */
export interface StateNow {
  account(address: Uint8Array): AccountNow
  /** 32 bytes, as `key`. */
  slot(address: Uint8Array, key: Uint8Array): Uint8Array
  readonly refund: bigint
  /** Data that the last inner call returned; a view. */
  readonly returned: Uint8Array
  /** The account to which another delegates (EIP-7702). */
  delegateOf(address: Uint8Array): Uint8Array | undefined
  /** Signers of authorizations with a valid signature, whatever chain they are for. */
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
  /** Of the block in which it runs. */
  readonly blockNumber: bigint
  readonly authorizationList: readonly Authorization[]
  isPrecompile(address: Uint8Array): boolean
  /** Its place in the chain; undefined for a message. */
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
  /** The account that calls; for DELEGATECALL the one whose code calls. */
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
  /** Whether its changes were undone; false for a contract without code, before Homestead. */
  readonly isUndone: boolean
}

/** The end of the innermost frame. `output` is a view; of a creation that failed it is what was refused as code. */
export interface FrameEnd {
  readonly depth: number
  readonly gasUsed: bigint
  readonly output: Uint8Array
  readonly failure: FrameFailure | undefined
}

/** Where JSON goes, in parts. */
export interface TraceOutput {
  readonly json: JsonBytes
  /** Passes on what is written, if it is enough. Call it often; what was written before must not be used again. */
  flush(): void
  /** Checks the memory of what a tracer keeps until its end. Throws FaultError TraceTooLarge. */
  holding(bytes: number): void
}

/** One tracer, for one transaction; that of a list ({@link ParityTracer}) for one after the other. Absent members need no calls. */
export interface Tracer {
  /** The opcodes of whose steps it is told. */
  readonly opcodes: 'all' | readonly number[]
  begin(transaction: TracedTransaction, output: TraceOutput): void
  /** Called before each instruction, even one that fails. */
  step?(step: KernelStep): void
  /** See `KernelTracer.cost`. */
  cost?(gasLeft: bigint): void
  /** See `KernelTracer.creation`. */
  creation?(address: Uint8Array): void
  /** See `KernelTracer.fault`. `refusal` is go-ethereum's message where the instruction did not begin. */
  fault?(cost: bigint, refusal: string | undefined): void
  enter?(frame: TracedFrame): void
  exit?(end: FrameEnd): void
  /** `index` counts the logs of the block that are not undone, from 0. */
  log?(log: KernelLog, index: number): void
  /** Writes the result, or the rest of it. `gasUsed` is a receipt's. */
  end(gasUsed: bigint): void
}

/** What nearly every tracer keeps of its transaction, and how it writes. */
export abstract class TransactionTracer implements Tracer {
  readonly opcodes: Tracer['opcodes'] = []
  protected transaction!: TracedTransaction
  protected output!: TraceOutput
  #heldBytes = 0

  begin(transaction: TracedTransaction, output: TraceOutput): void {
    this.transaction = transaction
    this.output = output
    this.#heldBytes = 0
    this.begun()
  }

  /** Called at the begin of each transaction. */
  protected begun(): void {}

  abstract end(gasUsed: bigint): void

  /** Says that so many bytes more are kept until the end. */
  protected hold(bytes: number): void {
    this.#heldBytes += bytes
    this.output.holding(this.#heldBytes)
  }

  /** Writes things in brackets, with commas between them; what is written is passed on after each. */
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

/** In the order of names. */
export function byName<T>(entries: Iterable<readonly [name: string, T]>): (readonly [name: string, T])[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
}
