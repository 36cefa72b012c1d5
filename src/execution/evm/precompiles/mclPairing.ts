/**
 * Shared by the contracts of both pairing curves: sums of products, and the check that a product of pairings is one.
 */
import type { JobWatch } from '../engine/jobWatch.js'
import { g1Bytes, g2Bytes, itemsMax, type Mcl, scalarBytes } from './mcl.js'

/** Bytes of an element of the third group. */
const gtBytes = 12 * 48

/** Pairs of a product computed at a time. */
const pairsMax = 16

/** One of a curve's groups: mcl's functions for its points, and memory for the points of a call. */
function groupOf(mcl: Mcl, name: 'G1' | 'G2') {
  const { lib } = mcl
  const pointBytes = name === 'G1' ? g1Bytes : g2Bytes
  return {
    pointBytes,
    points: mcl.allocate(itemsMax * pointBytes),
    sum: mcl.allocate(pointBytes),
    part: mcl.allocate(pointBytes),
    clear: lib[`mclBn${name}_clear` as const],
    isZero: lib[`mclBn${name}_isZero` as const],
    isValid: lib[`mclBn${name}_isValid` as const],
    normalize: lib[`mclBn${name}_normalize` as const],
    add: lib[`mclBn${name}_add` as const],
    mulVec: lib[`mclBn${name}_mulVec` as const],
  }
}

type Group = ReturnType<typeof groupOf>

/** A curve with memory for one call. */
export class PairingCurve {
  readonly g1: Group
  readonly g2: Group
  readonly scalars: number
  readonly #product: number
  readonly #factor: number

  constructor(readonly mcl: Mcl) {
    this.g1 = groupOf(mcl, 'G1')
    this.g2 = groupOf(mcl, 'G2')
    this.scalars = mcl.allocate(itemsMax * scalarBytes)
    this.#product = mcl.allocate(gtBytes)
    this.#factor = mcl.allocate(gtBytes)
  }

  /**
   * Writes the sum of all products to the group's `sum`. `read` writes the term at an index to the given point and
   * scalar.
   */
  sumIn(group: Group, count: number, read: (index: number, point: number, scalar: number) => void): void {
    const { sum, part, points, pointBytes } = group
    group.clear(sum)
    for (let at = 0; at < count; at += itemsMax) {
      const items = Math.min(itemsMax, count - at)
      for (let item = 0; item < items; item++)
        read(at + item, points + item * pointBytes, this.scalars + item * scalarBytes)
      group.mulVec(part, points, this.scalars, items)
      group.add(sum, sum, part)
    }
  }

  /** Whether the product of all pairings is one. `read` writes the pair at an index to the given points. */
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
      lib.mclBn_millerLoopVec(this.#factor, this.g1.points, this.g2.points, pairs)
      lib.mclBnGT_mul(this.#product, this.#product, this.#factor)
      pairs = 0
    }
    for (let index = 0; index < count; index++) {
      watch?.look()
      const g1 = this.g1.points + pairs * g1Bytes
      const g2 = this.g2.points + pairs * g2Bytes
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
