/** Precompiled contracts 11 to 17: arithmetic on the curve BLS12-381 (EIP-2537). */
import { hexToBytes } from '../../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { flagWord, isZero, notInField, refuse, wrongLength } from './contractData.js'
import { fieldBytes, g1Bytes, Mcl, scalarBytes } from './mcl.js'
import { PairingCurve } from './mclPairing.js'

const modulus = hexToBytes(
  '0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab',
)
/** Number of the curve in mcl. */
const curveNumber = 5

let known: PairingCurve | undefined
/** Contract 10 uses the same curve. */
export function bls12381(): PairingCurve {
  known ??= new PairingCurve(new Mcl(curveNumber, modulus))
  return known
}

/** Bytes of a coordinate in a contract's input, of which the first ones are zero. */
const numberBytes = 64
const topBytes = numberBytes - fieldBytes
const point1Bytes = 2 * numberBytes
const point2Bytes = 4 * numberBytes

/** Bytes of an item: a point and a number, or two points. */
export const g1TermBytes = point1Bytes + 32
export const g2TermBytes = point2Bytes + 32
export const blsPairBytes = point1Bytes + point2Bytes

type GroupName = 'g1' | 'g2'

/** Field elements of a point's coordinates; in the second group the real part of each comes first. */
const pointFields = { g1: 2, g2: 4 } as const

export function add(name: GroupName, data: Uint8Array): Uint8Array {
  const bytes = pointFields[name] * numberBytes
  if (data.length !== 2 * bytes) refuse(wrongLength)
  const { points, pointBytes, sum, add } = bls12381()[name]
  readPoint(name, points, data, 0)
  readPoint(name, points + pointBytes, data, bytes)
  add(sum, points, points + pointBytes)
  return writePoint(name, sum)
}

export function sumOf(name: GroupName, data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const curve = bls12381()
  const group = curve[name]
  const bytes = pointFields[name] * numberBytes
  const termBytes = bytes + scalarBytes
  curve.sumIn(group, countItems(data, termBytes), (index, point, scalar) => {
    watch?.look()
    readPoint(name, point, data, index * termBytes)
    requireOrder(name, point)
    curve.mcl.readScalar(scalar, data, index * termBytes + bytes)
  })
  return writePoint(name, group.sum)
}

export function pairBls(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  const isOne = bls12381().isProductOne(countItems(data, blsPairBytes), watch, (index, g1, g2) => {
    const at = index * blsPairBytes
    // Both points are decoded before their groups are checked.
    readPoint('g1', g1, data, at)
    readPoint('g2', g2, data, at + point1Bytes)
    requireOrder('g1', g1)
    requireOrder('g2', g2)
  })
  return flagWord(isOne)
}

export function mapToG1(data: Uint8Array): Uint8Array {
  if (data.length !== numberBytes) refuse(wrongLength)
  const { mcl, g1 } = bls12381()
  readFields(g1.points, data, 0, 1)
  mcl.lib.mclBnFp_mapToG1(g1.sum, g1.points)
  return writePoint('g1', g1.sum)
}

export function mapToG2(data: Uint8Array): Uint8Array {
  if (data.length !== 2 * numberBytes) refuse(wrongLength)
  const { mcl, g2 } = bls12381()
  readFields(g2.points, data, 0, 2)
  mcl.lib.mclBnFp2_mapToG2(g2.sum, g2.points)
  return writePoint('g2', g2.sum)
}

/** Throws if there is none. */
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
function readPoint(name: GroupName, out: number, data: Uint8Array, at: number): void {
  const { mcl, [name]: group } = bls12381()
  const fields = pointFields[name]
  if (isZero(data, at, fields * numberBytes)) return group.clear(out)
  readFields(out, data, at, fields)
  if (name === 'g1') mcl.completeG1(out)
  else mcl.completeG2(out)
  if (group.isValid(out) === 0) refuse('invalid point: not on curve')
}

function requireOrder(name: GroupName, point: number): void {
  const { mcl, [name]: group } = bls12381()
  if (group.isZero(point) === 1) return
  const isInside = name === 'g1' ? isInGroup1(point) : mcl.lib.mclBnG2_isValidOrder(point) === 1
  if (!isInside) refuse(`${name} point is not on correct subgroup`)
}

/** A third root of one in the field of coordinates. */
const betaHex = '5f19672fdf76ce51ba69c6076a0f77eaddb3a93be6f89688de17d813620a00022e01fffffffefffe'
/** The bits of −X, the curve's parameter, after the first. */
const parameterBits = [...0xd201000000010000n.toString(2)].slice(1)

interface GroupCheck {
  readonly beta: number
  /** Addresses of temporary points. */
  readonly once: number
  readonly twice: number
  readonly image: number
}
let groupCheck: GroupCheck | undefined

function readGroupCheck({ mcl }: PairingCurve): GroupCheck {
  const [beta, once, twice, image] = [fieldBytes, g1Bytes, g1Bytes, g1Bytes].map((bytes) =>
    mcl.allocate(bytes),
  )
  const made = { beta, once, twice, image } as GroupCheck
  mcl.readField(made.beta, hexToBytes(`0x${betaHex.padStart(2 * fieldBytes, '0')}`), 0)
  return made
}

/**
 * Whether a point of the curve is in the first group. (x, y) ↦ (β·x, y) multiplies exactly the group's points by −X²
 * (Scott, A note on group membership tests, https://eprint.iacr.org/2021/1130). It takes 126 doublings, half the time
 * of the library's check.
 */
export function isInGroup1(point: number): boolean {
  const curve = bls12381()
  const { lib } = curve.mcl
  groupCheck ??= readGroupCheck(curve)
  const { beta, once, twice, image } = groupCheck
  const multiply = (out: number, by: number) => {
    lib.mclBnG1_dbl(out, by)
    for (const [index, bit] of parameterBits.entries()) {
      if (index > 0) lib.mclBnG1_dbl(out, out)
      if (bit === '1') lib.mclBnG1_add(out, out, by)
    }
  }
  multiply(once, point)
  multiply(twice, once)
  lib.mclBnG1_neg(image, point)
  lib.mclBnFp_mul(image, image, beta)
  return lib.mclBnG1_isEqual(twice, image) === 1
}

function writePoint(name: GroupName, point: number): Uint8Array {
  const group = bls12381()[name]
  const fields = pointFields[name]
  if (group.isZero(point) === 1) return new Uint8Array(fields * numberBytes)
  group.normalize(point, point)
  return writeFields(point, fields)
}

function writeFields(element: number, count: number): Uint8Array {
  const { mcl } = bls12381()
  const bytes = new Uint8Array(count * numberBytes)
  for (let index = 0; index < count; index++) {
    mcl.writeField(element + index * fieldBytes, bytes, index * numberBytes + topBytes)
  }
  return bytes
}
