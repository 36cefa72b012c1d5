/** Precompiled contracts 6 to 8: sums, multiples and pairings on the curve BN254 (EIP-196, EIP-197). */
import { bn254 } from '@noble/curves/bn254.js'
import { bytesToBigInt } from '../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { flagWord, isOnCurve, isZero, itemsOf, readNumbers, writeNumbers } from './fields.js'
import { notInField, refuse } from './refusal.js'

const { Fp, Fp2, Fp12, Fr } = bn254.fields
const G1 = bn254.G1.Point
const G2 = bn254.G2.Point
type G1Point = typeof G1.BASE
type G2Point = typeof G2.BASE

const offCurve = 'point is not on curve'

/** Adds two points. Here and below missing data counts as zeros, and extra data is ignored. */
export function addBn254(data: Uint8Array): Uint8Array {
  return writePoint(readPoint(cut(data, 0, 64)).add(readPoint(cut(data, 64, 64))))
}

export function multiplyBn254(data: Uint8Array): Uint8Array {
  const point = readPoint(cut(data, 0, 64))
  const scalar = bytesToBigInt(cut(data, 64, 32)) % Fr.ORDER
  return writePoint(scalar === 0n ? G1.ZERO : point.multiplyUnsafe(scalar))
}

export const bn254PairBytes = 192

export function pairBn254(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  if (data.length % bn254PairBytes !== 0) refuse('bad elliptic curve pairing size')
  const pairs: { g1: G1Point; g2: G2Point }[] = []
  for (const item of itemsOf(data, bn254PairBytes, watch)) {
    const pair = { g1: readPoint(item.subarray(0, 64)), g2: readTwist(item.subarray(64)) }
    // The pairing of infinity with any point is one.
    if (!pair.g1.is0() && !pair.g2.is0()) pairs.push(pair)
  }
  return flagWord(Fp12.eql(bn254.pairingBatch(pairs, true), Fp12.ONE))
}

/** `length` bytes from `at`, zeros beyond the end. */
function cut(data: Uint8Array, at: number, length: number): Uint8Array {
  const part = new Uint8Array(length)
  part.set(data.subarray(at, at + length))
  return part
}

/** 64 bytes, x ‖ y. Every point of the curve is in the group. */
function readPoint(bytes: Uint8Array): G1Point {
  if (isZero(bytes)) return G1.ZERO
  const [x, y] = readNumbers(bytes, 32, 2) as [bigint, bigint]
  if (x >= Fp.ORDER || y >= Fp.ORDER) refuse(notInField)
  if (!isOnCurve(Fp, x, y, G1.CURVE().b)) refuse(offCurve)
  return G1.fromAffine({ x, y })
}

/** 128 bytes, x ‖ y; in each coordinate the imaginary part comes first. */
function readTwist(bytes: Uint8Array): G2Point {
  if (isZero(bytes)) return G2.ZERO
  const parts = readNumbers(bytes, 32, 4)
  if (parts.some((part) => part >= Fp.ORDER)) refuse(notInField)
  const [x1, x0, y1, y0] = parts as [bigint, bigint, bigint, bigint]
  const [x, y] = [
    { c0: x0, c1: x1 },
    { c0: y0, c1: y1 },
  ]
  if (!isOnCurve(Fp2, x, y, G2.CURVE().b)) refuse(offCurve)
  const point = G2.fromAffine({ x, y })
  if (!point.isTorsionFree()) refuse('point is not in correct subgroup')
  return point
}

function writePoint(point: G1Point): Uint8Array {
  const { x, y } = point.toAffine()
  return writeNumbers(32, x, y)
}
