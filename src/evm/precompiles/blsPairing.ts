/** Products of pairings on the curve BLS12-381. Both precompiled contracts that need them check their points. */
import { bls12_381 } from '@noble/curves/bls12-381.js'

const { Fp12 } = bls12_381.fields
const { calcPairingPrecomputes } = bls12_381.utils
type G1Point = typeof bls12_381.G1.Point.BASE
type G2Point = typeof bls12_381.G2.Point.BASE

/** What a pairing needs of its point of the second group; the same for every partner. */
export type Lines = ReturnType<typeof calcPairingPrecomputes>

/** For a point of the subgroup that is not infinity. */
export function linesOf(point: G2Point): Lines {
  return calcPairingPrecomputes(point)
}

/** Whether the product of all pairings is one. Points are in their subgroup, which is not checked again. */
export function isProductOne(pairs: readonly (readonly [G1Point, Lines])[]): boolean {
  const finite = pairs.filter(([point]) => !point.is0())
  const loops = finite.map(([point, lines]): [Lines, bigint, bigint] => {
    const { x, y } = point.toAffine()
    return [lines, x, y]
  })
  return Fp12.eql(Fp12.finalExponentiate(bls12_381.millerLoopBatch(loops)), Fp12.ONE)
}
