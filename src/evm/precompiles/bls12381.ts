/** Precompiled contracts 11 to 17: arithmetic on the curve BLS12-381 (EIP-2537). */
import { hexToBytes } from '../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { flagWord, isZero } from './fields.js'
import { fieldBytes, g1Bytes, g2Bytes, Mcl } from './mcl.js'
import { PairingCurve } from './mclPairing.js'
import { notInField, refuse, wrongLength } from './refusal.js'

const modulus = hexToBytes(
  '0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab',
)
/** Its number in mcl. */
const curveNumber = 5

let known: PairingCurve | undefined
/** Contract 10 computes on the same curve. */
export function bls12381(): PairingCurve {
  known ??= new PairingCurve(new Mcl(curveNumber, modulus))
  return known
}

/** Bytes of a coordinate as the contracts have it, of which the first ones are zero. */
const numberBytes = 64
const topBytes = numberBytes - fieldBytes
const point1Bytes = 2 * numberBytes
const point2Bytes = 4 * numberBytes

/** Bytes of an item: a point and a number, or two points. */
export const g1TermBytes = point1Bytes + 32
export const g2TermBytes = point2Bytes + 32
export const blsPairBytes = point1Bytes + point2Bytes

const offCurve = 'invalid point: not on curve'

export function addG1(data: Uint8Array): Uint8Array {
  if (data.length !== 2 * point1Bytes) refuse(wrongLength)
  const { mcl, points1, sum1 } = bls12381()
  readG1(points1, data, 0)
  readG1(points1 + g1Bytes, data, point1Bytes)
  mcl.lib.mclBnG1_add(sum1, points1, points1 + g1Bytes)
  return writeG1(sum1)
}

export function addG2(data: Uint8Array): Uint8Array {
  if (data.length !== 2 * point2Bytes) refuse(wrongLength)
  const { mcl, points2, sum2 } = bls12381()
  readG2(points2, data, 0)
  readG2(points2 + g2Bytes, data, point2Bytes)
  mcl.lib.mclBnG2_add(sum2, points2, points2 + g2Bytes)
  return writeG2(sum2)
}

export function sumG1(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const curve = bls12381()
  curve.sumG1(countItems(data, g1TermBytes), (index, point, scalar) => {
    watch?.look()
    const at = index * g1TermBytes
    readG1(point, data, at)
    inGroup1(point)
    curve.mcl.readScalar(scalar, data, at + point1Bytes)
  })
  return writeG1(curve.sum1)
}

export function sumG2(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const curve = bls12381()
  curve.sumG2(countItems(data, g2TermBytes), (index, point, scalar) => {
    watch?.look()
    const at = index * g2TermBytes
    readG2(point, data, at)
    inGroup2(point)
    curve.mcl.readScalar(scalar, data, at + point2Bytes)
  })
  return writeG2(curve.sum2)
}

export function pairBls(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const isOne = bls12381().isProductOne(countItems(data, blsPairBytes), watch, (index, g1, g2) => {
    const at = index * blsPairBytes
    // Both points are decoded before their groups are checked.
    readG1(g1, data, at)
    readG2(g2, data, at + point1Bytes)
    inGroup1(g1)
    inGroup2(g2)
  })
  return flagWord(isOne)
}

export function mapToG1(data: Uint8Array): Uint8Array {
  if (data.length !== numberBytes) refuse(wrongLength)
  const { mcl, points1, sum1 } = bls12381()
  readFields(points1, data, 0, 1)
  mcl.lib.mclBnFp_mapToG1(sum1, points1)
  return writeG1(sum1)
}

export function mapToG2(data: Uint8Array): Uint8Array {
  if (data.length !== 2 * numberBytes) refuse(wrongLength)
  const { mcl, points2, sum2 } = bls12381()
  readFields(points2, data, 0, 2)
  mcl.lib.mclBnFp2_mapToG2(sum2, points2)
  return writeG2(sum2)
}

/** At least one. */
function countItems(data: Uint8Array, itemBytes: number): number {
  if (data.length === 0 || data.length % itemBytes !== 0) refuse(wrongLength)
  return data.length / itemBytes
}

function readFields(out: number, data: Uint8Array, at: number, count: number): void {
  const { mcl } = bls12381()
  for (let index = 0; index < count; index++) {
    const from = at + index * numberBytes
    if (!isZero(data, from, topBytes)) refuse('invalid field element top bytes')
    if (!mcl.isField(data, from + topBytes)) refuse(notInField)
    mcl.readField(out + index * fieldBytes, data, from + topBytes)
  }
}

/** A point of the curve, x ‖ y, which may be outside the subgroup of prime order. */
function readG1(out: number, data: Uint8Array, at: number): void {
  const { mcl } = bls12381()
  if (isZero(data, at, point1Bytes)) return mcl.lib.mclBnG1_clear(out)
  readFields(out, data, at, 2)
  mcl.completeG1(out)
  if (mcl.lib.mclBnG1_isValid(out) === 0) refuse(offCurve)
}

/** As {@link readG1}; in each coordinate the real part comes first. */
function readG2(out: number, data: Uint8Array, at: number): void {
  const { mcl } = bls12381()
  if (isZero(data, at, point2Bytes)) return mcl.lib.mclBnG2_clear(out)
  readFields(out, data, at, 4)
  mcl.completeG2(out)
  if (mcl.lib.mclBnG2_isValid(out) === 0) refuse(offCurve)
}

function inGroup1(point: number): void {
  const { lib } = bls12381().mcl
  if (lib.mclBnG1_isZero(point) === 0 && lib.mclBnG1_isValidOrder(point) === 0) {
    refuse('g1 point is not on correct subgroup')
  }
}

function inGroup2(point: number): void {
  const { lib } = bls12381().mcl
  if (lib.mclBnG2_isZero(point) === 0 && lib.mclBnG2_isValidOrder(point) === 0) {
    refuse('g2 point is not on correct subgroup')
  }
}

function writeG1(point: number): Uint8Array {
  const { lib } = bls12381().mcl
  if (lib.mclBnG1_isZero(point) === 1) return new Uint8Array(point1Bytes)
  lib.mclBnG1_normalize(point, point)
  return writeFields(point, 2)
}

function writeG2(point: number): Uint8Array {
  const { lib } = bls12381().mcl
  if (lib.mclBnG2_isZero(point) === 1) return new Uint8Array(point2Bytes)
  lib.mclBnG2_normalize(point, point)
  return writeFields(point, 4)
}

function writeFields(element: number, count: number): Uint8Array {
  const { mcl } = bls12381()
  const bytes = new Uint8Array(count * numberBytes)
  for (let index = 0; index < count; index++) {
    mcl.writeField(element + index * fieldBytes, bytes, index * numberBytes + topBytes)
  }
  return bytes
}
