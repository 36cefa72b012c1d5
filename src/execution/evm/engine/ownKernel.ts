import { Kernel } from './kernel.js'

/** The kernel of one user, created at first use: a new one takes 15 to 40 ms. */
export class OwnKernel {
  #kernel: Kernel | undefined
  readonly #make: () => Kernel

  /** `grownBytesMax`: memory above which it is replaced, because WebAssembly never frees any. */
  constructor(
    readonly grownBytesMax: number,
    make = () => new Kernel(),
  ) {
    this.#make = make
  }

  get kernel(): Kernel {
    this.#kernel ??= this.#make()
    return this.#kernel
  }

  /** Call it between runs: drops a kernel above the limit. */
  trim(): void {
    if (this.#kernel !== undefined && this.#kernel.grownBytes > this.grownBytesMax) this.#kernel = undefined
  }

  clear(): void {
    this.#kernel?.clear()
  }
}
