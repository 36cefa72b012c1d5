/** Precompiled contracts 11 to 17: arithmetic on the curve BLS12-381 (EIP-2537). */
import { type AffinePoint, pippenger } from '@noble/curves/abstract/curve.js'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bytesToBigInt } from '../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { isProductOne, type Lines, linesOf } from './blsPairing.js'
import { flagWord, isOnCurve, isZero, itemsOf, writeNumbers } from './fields.js'
import { notInField, refuse, wrongLength } from './refusal.js'

const { Fp, Fp2, Fr } = bls12_381.fields
const G1 = bls12_381.G1.Point
const G2 = bls12_381.G2.Point
type G1Point = typeof G1.BASE
type G2Point = typeof G2.BASE

const fieldBytes = 64
const g1Bytes = 2 * fieldBytes
const g2Bytes = 4 * fieldBytes
const scalarBytes = 32

/** Bytes of an item: a point and a number. */
export const g1TermBytes = g1Bytes + scalarBytes
export const g2TermBytes = g2Bytes + scalarBytes
export const blsPairBytes = g1Bytes + g2Bytes

export function addG1(data: Uint8Array): Uint8Array {
  if (data.length !== 2 * g1Bytes) refuse(wrongLength)
  return writeG1(
    readG1(data.subarray(0, g1Bytes))
      .add(readG1(data.subarray(g1Bytes)))
      .toAffine(),
  )
}

export function addG2(data: Uint8Array): Uint8Array {
  if (data.length !== 2 * g2Bytes) refuse(wrongLength)
  return writeG2(
    readG2(data.subarray(0, g2Bytes))
      .add(readG2(data.subarray(g2Bytes)))
      .toAffine(),
  )
}

export function sumG1(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const points: G1Point[] = []
  const scalars: bigint[] = []
  for (const item of someItems(data, g1TermBytes, watch)) {
    points.push(inGroup1(readG1(item.subarray(0, g1Bytes))))
    scalars.push(bytesToBigInt(item.subarray(g1Bytes)) % Fr.ORDER)
  }
  return writeG1(pippenger(G1, points, scalars).toAffine())
}

export function sumG2(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const points: G2Point[] = []
  const scalars: bigint[] = []
  for (const item of someItems(data, g2TermBytes, watch)) {
    points.push(inGroup2(readG2(item.subarray(0, g2Bytes))))
    scalars.push(bytesToBigInt(item.subarray(g2Bytes)) % Fr.ORDER)
  }
  return writeG2(pippenger(G2, points, scalars).toAffine())
}

export function pairBls(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const pairs: [G1Point, Lines][] = []
  for (const item of someItems(data, blsPairBytes, watch)) {
    // Both points are decoded before their groups are checked.
    const [g1, g2] = [readG1(item.subarray(0, g1Bytes)), readG2(item.subarray(g1Bytes))]
    inGroup1(g1)
    inGroup2(g2)
    // The pairing of infinity with any point is one.
    if (!g1.is0() && !g2.is0()) pairs.push([g1, linesOf(g2)])
  }
  return flagWord(isProductOne(pairs))
}

export function mapToG1(data: Uint8Array): Uint8Array {
  if (data.length !== fieldBytes) refuse(wrongLength)
  return writeG1(bls12_381.G1.mapToCurve(readField(data) as never))
}

export function mapToG2(data: Uint8Array): Uint8Array {
  if (data.length !== 2 * fieldBytes) refuse(wrongLength)
  return writeG2(bls12_381.G2.mapToCurve(readFields(data)))
}

function someItems(data: Uint8Array, itemBytes: number, watch: JobWatch | undefined): Generator<Uint8Array> {
  if (data.length === 0 || data.length % itemBytes !== 0) refuse(wrongLength)
  return itemsOf(data, itemBytes, watch)
}

/** A field element: 64 bytes, of which the first 16 are zero. */
function readField(bytes: Uint8Array): bigint {
  if (!isZero(bytes.subarray(0, 16))) refuse('invalid field element top bytes')
  const element = bytesToBigInt(bytes)
  return element >= Fp.ORDER ? refuse(notInField) : element
}

function readFields(bytes: Uint8Array): bigint[] {
  return Array.from({ length: bytes.length / fieldBytes }, (_, index) =>
    readField(bytes.subarray(index * fieldBytes, (index + 1) * fieldBytes)),
  )
}

const offCurve = 'invalid point: not on curve'

/** A point of the curve, x ‖ y, which may be outside the subgroup of prime order. */
function readG1(bytes: Uint8Array): G1Point {
  const [x, y] = readFields(bytes) as [bigint, bigint]
  if (isZero(bytes)) return G1.ZERO
  if (!isOnCurve(Fp, x, y, G1.CURVE().b)) refuse(offCurve)
  return G1.fromAffine({ x, y })
}

/** As {@link readG1}; in each coordinate the real part comes first. */
function readG2(bytes: Uint8Array): G2Point {
  const [x0, x1, y0, y1] = readFields(bytes) as [bigint, bigint, bigint, bigint]
  if (isZero(bytes)) return G2.ZERO
  const [x, y] = [
    { c0: x0, c1: x1 },
    { c0: y0, c1: y1 },
  ]
  if (!isOnCurve(Fp2, x, y, G2.CURVE().b)) refuse(offCurve)
  return G2.fromAffine({ x, y })
}

function inGroup1(point: G1Point): G1Point {
  return point.is0() || point.isTorsionFree() ? point : refuse('g1 point is not on correct subgroup')
}

function inGroup2(point: G2Point): G2Point {
  return point.is0() || point.isTorsionFree() ? point : refuse('g2 point is not on correct subgroup')
}

function writeG1({ x, y }: AffinePoint<bigint>): Uint8Array {
  return writeNumbers(fieldBytes, x, y)
}

function writeG2({ x, y }: AffinePoint<typeof Fp2.ONE>): Uint8Array {
  return writeNumbers(fieldBytes, x.c0, x.c1, y.c0, y.c1)
}
