/** What the contracts of both pairing curves share: sums of products, and whether a product of pairings is one. */
import type { JobWatch } from '../engine/jobWatch.js'
import { g1Bytes, g2Bytes, itemsMax, type Mcl, scalarBytes } from './mcl.js'

/** Bytes of an element of the third group. */
const gtBytes = 12 * 48

/** Pairs of a product that are computed at a time. */
const pairsMax = 16

/** A curve with room for a call. */
export class PairingCurve {
  readonly #product: number
  readonly #factor: number
  readonly points1: number
  readonly points2: number
  readonly scalars: number
  readonly sum1: number
  readonly sum2: number
  readonly #part: number

  constructor(readonly mcl: Mcl) {
    this.points1 = mcl.allocate(itemsMax * g1Bytes)
    this.points2 = mcl.allocate(itemsMax * g2Bytes)
    this.scalars = mcl.allocate(itemsMax * scalarBytes)
    this.sum1 = mcl.allocate(g1Bytes)
    this.sum2 = mcl.allocate(g2Bytes)
    this.#part = mcl.allocate(g2Bytes)
    this.#product = mcl.allocate(gtBytes)
    this.#factor = mcl.allocate(gtBytes)
  }

  /** Leaves the sum of all products in `sum1`. `read` reads the term at an index to the point and the scalar there. */
  sumG1(count: number, read: (index: number, point: number, scalar: number) => void): void {
    const { lib } = this.mcl
    lib.mclBnG1_clear(this.sum1)
    for (let at = 0; at < count; at += itemsMax) {
      const items = Math.min(itemsMax, count - at)
      for (let item = 0; item < items; item++)
        read(at + item, this.points1 + item * g1Bytes, this.scalars + item * scalarBytes)
      lib.mclBnG1_mulVec(this.#part, this.points1, this.scalars, items)
      lib.mclBnG1_add(this.sum1, this.sum1, this.#part)
    }
  }

  /** The same in the second group. */
  sumG2(count: number, read: (index: number, point: number, scalar: number) => void): void {
    const { lib } = this.mcl
    lib.mclBnG2_clear(this.sum2)
    for (let at = 0; at < count; at += itemsMax) {
      const items = Math.min(itemsMax, count - at)
      for (let item = 0; item < items; item++)
        read(at + item, this.points2 + item * g2Bytes, this.scalars + item * scalarBytes)
      lib.mclBnG2_mulVec(this.#part, this.points2, this.scalars, items)
      lib.mclBnG2_add(this.sum2, this.sum2, this.#part)
    }
  }

  /** Whether the product of all pairings is one. `read` reads the pair at an index to the points there. */
  isProductOne(
    count: number,
    watch: JobWatch | undefined,
    read: (index: number, g1: number, g2: number) => void,
  ): boolean {
    const { lib } = this.mcl
    lib.mclBnGT_setInt32(this.#product, 1)
    let pairs = 0
    const multiply = () => {
      watch?.look()
      lib.mclBn_millerLoopVec(this.#factor, this.points1, this.points2, pairs)
      lib.mclBnGT_mul(this.#product, this.#product, this.#factor)
      pairs = 0
    }
    for (let index = 0; index < count; index++) {
      watch?.look()
      const [g1, g2] = [this.points1 + pairs * g1Bytes, this.points2 + pairs * g2Bytes]
      read(index, g1, g2)
      // The pairing of infinity with any point is one.
      if (lib.mclBnG1_isZero(g1) === 0 && lib.mclBnG2_isZero(g2) === 0) pairs++
      if (pairs === pairsMax) multiply()
    }
    if (pairs > 0) multiply()
    return this.isFinallyOne(this.#product)
  }

  /** Whether the final power of an element is one. */
  isFinallyOne(element: number): boolean {
    const { lib } = this.mcl
    lib.mclBn_finalExp(element, element)
    return lib.mclBnGT_isOne(element) === 1
  }
}
