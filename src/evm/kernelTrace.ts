/**
 * What the tracing kernel reports of a run, step by step and frame by frame: the seam on which traces can be built. The
 * kernel that serves has no such code. Steps and frames are views of the kernel's memory and hold for the call only.
 */

import type { KernelMemory } from './kernelMemory.js'

/** Hears a run. */
export interface KernelTracer {
  /** Before each instruction, also before one that fails. Behind the end of code stands a STOP. */
  step(step: KernelStep): void
  /** A call or creation begins, or SELFDESTRUCT sends what there is. */
  enter(frame: KernelFrame): void
  /** What began last and has not ended yet ends; `failure` by its number in `failures` of kernelOutcome.ts. */
  exit(failure: number, gasLeft: bigint, output: Uint8Array): void
}

export interface KernelFrame {
  /** As the opcode: CALL, CREATE, …, or SELFDESTRUCT. */
  readonly kind: number
  /** 20 bytes, as `target`. */
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
    /** Before the instruction costs anything. */
    readonly gas: bigint,
    readonly refund: bigint,
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

  /** Whose storage is used, 20 bytes. */
  get address(): Uint8Array {
    return this.#linear.reversed(this.#addressAt).subarray(12)
  }

  /** 0 is the top. */
  stackWord(index: number): bigint {
    return this.#linear.wordAt(this.#stackAt + (this.stackWords - 1 - index) * 32)
  }

  get memory(): Uint8Array {
    return this.#linear.bytes.subarray(this.#memoryAt, this.#memoryAt + this.memoryBytes)
  }
}

/** See src/kernel/trace.ts. */
export interface TraceImports {
  step(
    depth: number,
    address: number,
    pc: number,
    opcode: number,
    gas: bigint,
    refund: bigint,
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
}

/** `linear`: the kernel's memory, which is not there yet while the kernel is made. */
export function traceImports(tracer: KernelTracer, linear: () => KernelMemory): TraceImports {
  return {
    step: (...step) => tracer.step(new KernelStep(linear(), ...step)),
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
      tracer.exit(failure, gasLeft, linear().bytes.subarray(output, output + outputLength)),
  }
}
