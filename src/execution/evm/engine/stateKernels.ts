/**
 * Kernels kept between jobs, one per state and fork. They cache rows and code, so that later jobs on the same state
 * do not read them again. Owns the number of kernels and their memory limits.
 */
import type { UnknownFeatures } from '../../../data/chain/executionRules.js'
import type { ForkName } from '../../../data/chain/forks.js'
import { equalBytes, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { Kernel, type KernelPlace, OwnKernel } from './kernel.js'
import { giveUp } from './kernelHost.js'

/** Bytes of rows and code of one state: more than a block accesses, at 150 bytes for an account or slot. */
const cachedBytesMax = 8 * 2 ** 20
/** Memory above which an instance is replaced, because WebAssembly never frees any. */
const grownBytesMax = 16 * 2 ** 20

export class StateKernels {
  /** State and fork → its kernel, the one used last at the end. */
  readonly #kept = new Map<string, Kernel>()
  readonly #keptMax: number
  /** The state used last, which most jobs use again: computing its key takes as long as preparing the kernel. */
  #last: { readonly stateRoot: Hash32; readonly fork: ForkName; readonly kernel: Kernel } | undefined
  readonly #apart = new OwnKernel(grownBytesMax, () => this.#make())

  readonly #unknown: UnknownFeatures | undefined

  /** Keeps the kernels of `keptMax` states. Their runs end with NotProved at features listed in `unknown`. */
  constructor(keptMax: number, unknown?: UnknownFeatures) {
    this.#keptMax = keptMax
    this.#unknown = unknown
  }

  #make(): Kernel {
    const opcodes = [...(this.#unknown?.opcodes ?? [])]
    if (opcodes.length === 0) return new Kernel()
    const kernel = new Kernel({
      step: ({ opcode }) => giveUp(`the opcode 0x${opcode.toString(16)}`),
      enter: () => undefined,
      exit: () => undefined,
    })
    kernel.reportSteps(opcodes, false)
    return kernel
  }

  /** Whether the rows read from a state are still cached. */
  has(stateRoot: Hash32, fork: ForkName): boolean {
    return this.#isLast(stateRoot, fork) || this.#kept.has(latin1Key(stateRoot) + fork)
  }

  /** A kernel for a place's state, with the rows cached before. All states must be of one store. */
  over(fork: ForkName, place: KernelPlace): Kernel {
    const { stateRoot } = place.state
    if (this.#last !== undefined && this.#isLast(stateRoot, fork)) {
      this.#last.kernel.attach(fork, place)
      return this.#last.kernel
    }
    const key = latin1Key(stateRoot) + fork
    const kernel = this.#kept.get(key) ?? this.#take()
    this.#kept.delete(key)
    this.#kept.set(key, kernel)
    this.#last = { stateRoot, fork, kernel }
    kernel.attach(fork, place)
    return kernel
  }

  #isLast(stateRoot: Hash32, fork: ForkName): boolean {
    const last = this.#last
    return last !== undefined && last.fork === fork && equalBytes(last.stateRoot, stateRoot)
  }

  /** An empty kernel. At the limit it replaces the least recently used: an instance takes 40 MB of address space. */
  #take(): Kernel {
    const [oldest] = this.#kept
    if (oldest === undefined || this.#kept.size < this.#keptMax) return this.#make()
    const [key, kernel] = oldest
    this.#kept.delete(key)
    kernel.clear()
    return kernel
  }

  /** An empty kernel, for a state that only one job uses. */
  apartFor(fork: ForkName, place: KernelPlace): Kernel {
    const { kernel } = this.#apart
    kernel.clear()
    kernel.attach(fork, place)
    return kernel
  }

  /** Call it after a job: frees memory above the limits. */
  trim(): void {
    for (const [key, kernel] of this.#kept) {
      if (kernel.grownBytes > grownBytesMax) {
        this.#kept.delete(key)
        this.#last = undefined
      } else if (kernel.cachedBytes > cachedBytesMax) kernel.clear()
    }
    this.#apart.trim()
  }

  /** Drops all states, because rows may be of a branch that was abandoned during a read. */
  clear(): void {
    for (const kernel of this.#kept.values()) kernel.clear()
  }
}
