/**
 * Kernels between jobs: rows and code that jobs have read stay in them, a kernel for each state and fork, so that the
 * next job on that state asks the store for nothing it has had before. Owns how many there are and what they may hold.
 */
import { LRUCache } from 'lru-cache'
import type { ForkName } from '../chain/forks.js'
import { mapKey } from '../primitives/bytes.js'
import { Kernel } from './kernel.js'
import type { KernelHost } from './kernelHost.js'

/** The head and a few blocks that somebody works on. */
const keptMax = 4
/** Rows and code of one state: more than a block touches. An account is 160 bytes and a slot 128, with places 10 more. */
const heldBytesMax = 8 * 2 ** 20
/** Memory that an instance has taken from the system, which it never gives back; one beyond it is given up. */
const grownBytesMax = 16 * 2 ** 20

export class StateKernels {
  readonly #kept = new LRUCache<string, Kernel>({ max: keptMax })
  #apart: Kernel | undefined

  /** A kernel that answers for `host`'s state with what was read of it before. Views of a root are of one store. */
  over(host: KernelHost, fork: ForkName): Kernel {
    const key = mapKey(host.state.stateRoot) + fork
    const kernel = this.#kept.get(key) ?? new Kernel()
    this.#kept.set(key, kernel)
    return prepared(kernel, host, fork)
  }

  /** A kernel that knows nothing yet, for a state that only one job has. */
  apartFor(host: KernelHost, fork: ForkName): Kernel {
    this.#apart ??= new Kernel()
    this.#apart.clear()
    return prepared(this.#apart, host, fork)
  }

  /** After a job: gives back what it left beyond the bounds. */
  trim(): void {
    for (const [key, kernel] of [...this.#kept]) {
      if (kernel.grownBytes > grownBytesMax) this.#kept.delete(key)
      else if (kernel.heldBytes > heldBytesMax) kernel.clear()
    }
    if (this.#apart !== undefined && this.#apart.grownBytes > grownBytesMax) this.#apart = undefined
  }

  /** Forgets all states: rows may be of a branch that was left while they were read. */
  clear(): void {
    for (const kernel of this.#kept.values()) kernel.clear()
  }
}

function prepared(kernel: Kernel, host: KernelHost, fork: ForkName): Kernel {
  kernel.attach(host)
  kernel.setFork(fork)
  return kernel
}
