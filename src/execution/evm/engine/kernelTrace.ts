/**
 * The tracing kernel's report of a run, by step and frame, from which traces can be built. The kernel that serves
 * requests does not contain this code. Steps and frames are views of the kernel's memory, valid only during the call.
 */

import { type KernelLog, readLog } from './kernelLogs.js'
import type { KernelMemory } from './kernelMemory.js'
import { failures, type KernelFailure } from './kernelOutcome.js'

/** Callbacks of a traced run. */
export interface KernelTracer {
  /** Called before each instruction, even one that fails. After the end of code there is a STOP. */
  step(step: KernelStep): void
  /**
   * Called once the cost of an instruction that names an account or a slot, or calls, is paid. `gasLeft` is the gas
   * after it, without state gas (EIP-8037).
   */
  cost?(gasLeft: bigint): void
  /**
   * Called when an instruction fails, before its frame ends. `cost` is the part of its gas that go-ethereum computes.
   */
  fault?(failure: KernelFailure, cost: bigint): void
  /** Called within CREATE and CREATE2, once they are paid, with the address (20 bytes) of the new contract. */
  creation?(address: Uint8Array): void
  /** Called when a call or creation begins, or SELFDESTRUCT sends its balance. */
  enter(frame: KernelFrame): void
  /** Called when the innermost of these frames ends. */
  exit(failure: KernelFailure, gasLeft: bigint, output: Uint8Array): void
  log?(log: KernelLog): void
}

export interface KernelFrame {
  /** The opcode: CALL, CREATE, …, or SELFDESTRUCT. */
  readonly kind: number
  /** 20 bytes, like `target`. */
  readonly caller: Uint8Array
  readonly target: Uint8Array
  readonly value: bigint
  readonly input: Uint8Array
  readonly gas: bigint
}

export class KernelStep {
  readonly #linear: KernelMemory
  readonly #addressAt: number
  readonly #stackAt: number
  readonly #memoryAt: number

  constructor(
    linear: KernelMemory,
    readonly depth: number,
    addressAt: number,
    readonly pc: number,
    readonly opcode: number,
    /** Gas before the cost of the instruction. */
    readonly gas: bigint,
    stackAt: number,
    readonly stackWords: number,
    memoryAt: number,
    readonly memoryBytes: number,
  ) {
    this.#linear = linear
    this.#addressAt = addressAt
    this.#stackAt = stackAt
    this.#memoryAt = memoryAt
  }

  /** The account whose storage is used, 20 bytes. */
  get address(): Uint8Array {
    return this.#linear.reversed(this.#addressAt).subarray(12)
  }

  /** A word of the stack; index 0 is the top. */
  stackWord(index: number): bigint {
    return this.#linear.wordAt(this.#stackAt + (this.stackWords - 1 - index) * 32)
  }

  /** Position of the bottom of the stack in {@link linear}: words of 32 bytes, little-endian. */
  get stackAt(): number {
    return this.#stackAt
  }

  get linear(): Uint8Array {
    return this.#linear.bytes
  }

  /** The same memory as {@link linear}, four bytes in each number. */
  get parts(): Int32Array {
    return this.#linear.parts
  }

  get memory(): Uint8Array {
    return this.#linear.bytes.subarray(this.#memoryAt, this.#memoryAt + this.memoryBytes)
  }
}

/** See src/execution/kernel/trace.ts. */
export interface TraceImports {
  step(
    depth: number,
    address: number,
    pc: number,
    opcode: number,
    gas: bigint,
    stack: number,
    stackWords: number,
    memory: number,
    memoryBytes: number,
  ): void
  enter(
    kind: number,
    caller: number,
    target: number,
    value: number,
    input: number,
    inputLength: number,
    gas: bigint,
  ): void
  exit(failure: number, gasLeft: bigint, output: number, outputLength: number): void
  cost(gasLeft: bigint): void
  creation(address: number): void
  fault(failure: number, cost: bigint): void
  log(at: number): void
}

/** `linear` returns the kernel's memory, which does not exist yet when this is called. */
export function traceImports(tracer: KernelTracer, linear: () => KernelMemory): TraceImports {
  return {
    step(depth, address, pc, opcode, gas, stack, stackWords, memory, memoryBytes) {
      tracer.step(
        new KernelStep(linear(), depth, address, pc, opcode, gas, stack, stackWords, memory, memoryBytes),
      )
    },
    enter(kind, caller, target, value, input, inputLength, gas) {
      const memory = linear()
      tracer.enter({
        kind,
        caller: memory.reversed(caller).subarray(12),
        target: memory.reversed(target).subarray(12),
        value: memory.wordAt(value),
        input: memory.bytes.subarray(input, input + inputLength),
        gas,
      })
    },
    exit: (failure, gasLeft, output, outputLength) =>
      tracer.exit(
        failures[failure] as KernelFailure,
        gasLeft,
        linear().bytes.subarray(output, output + outputLength),
      ),
    cost: (gasLeft) => tracer.cost?.(gasLeft),
    creation: (address) => tracer.creation?.(linear().reversed(address).subarray(12)),
    fault: (failure, cost) => tracer.fault?.(failures[failure] as KernelFailure, BigInt.asUintN(64, cost)),
    log: (at) => tracer.log?.(readLog(linear(), at).log),
  }
}
