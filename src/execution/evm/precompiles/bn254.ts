/** Precompiled contracts 6 to 8: sums, multiples and pairings on the curve BN254 (EIP-196, EIP-197). */
import { hexToBytes } from '../../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { flagWord, isZero, notInField, refuse } from './contractData.js'
import { fieldBytes, g1Bytes, Mcl } from './mcl.js'
import { PairingCurve } from './mclPairing.js'

const modulus = hexToBytes('0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47')
/** Number of the curve in mcl, which calls it BN_SNARK1. */
const curveNumber = 4

let known: PairingCurve | undefined
const curve = (): PairingCurve => {
  known ??= new PairingCurve(new Mcl(curveNumber, modulus))
  return known
}

/** Bytes of a coordinate in a contract's input. */
const numberBytes = 32
const pointBytes = 2 * numberBytes
const twistBytes = 4 * numberBytes
export const bn254PairBytes = pointBytes + twistBytes

const offCurve = 'point is not on curve'

/** Adds two points. Here and below missing data counts as zeros, and extra data is ignored. */
export function addBn254(data: Uint8Array): Uint8Array {
  const { points, sum, add } = curve().g1
  const input = padded(data, 2 * pointBytes)
  readPoint(points, input, 0)
  readPoint(points + g1Bytes, input, pointBytes)
  add(sum, points, points + g1Bytes)
  return writePoint(sum)
}

export function multiplyBn254(data: Uint8Array): Uint8Array {
  const { mcl, g1, scalars } = curve()
  const input = padded(data, pointBytes + 32)
  readPoint(g1.points, input, 0)
  mcl.readScalar(scalars, input, pointBytes)
  mcl.lib.mclBnG1_mul(g1.sum, g1.points, scalars)
  return writePoint(g1.sum)
}

export function pairBn254(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  if (data.length % bn254PairBytes !== 0) refuse('bad elliptic curve pairing size')
  const isOne = curve().isProductOne(data.length / bn254PairBytes, watch, (index, g1, g2) => {
    readPoint(g1, data, index * bn254PairBytes)
    readTwist(g2, data, index * bn254PairBytes + pointBytes)
  })
  return flagWord(isOne)
}

/** The first `length` bytes, zeros beyond the end. */
function padded(data: Uint8Array, length: number): Uint8Array {
  if (data.length >= length) return data
  const whole = new Uint8Array(length)
  whole.set(data)
  return whole
}

/** Reads a point as x ‖ y. Every point of the curve is in the group. */
function readPoint(out: number, data: Uint8Array, at: number): void {
  const { mcl } = curve()
  if (isZero(data, at, pointBytes)) return mcl.lib.mclBnG1_clear(out)
  if (!mcl.isField(data, at) || !mcl.isField(data, at + numberBytes)) refuse(notInField)
  mcl.readField(out, data, at)
  mcl.readField(out + fieldBytes, data, at + numberBytes)
  mcl.completeG1(out)
  if (mcl.lib.mclBnG1_isValid(out) === 0) refuse(offCurve)
}

/** x ‖ y; in each coordinate the imaginary part comes first. */
function readTwist(out: number, data: Uint8Array, at: number): void {
  const { mcl } = curve()
  if (isZero(data, at, twistBytes)) return mcl.lib.mclBnG2_clear(out)
  for (let part = 0; part < 4; part++) if (!mcl.isField(data, at + part * numberBytes)) refuse(notInField)
  for (let part = 0; part < 4; part++) {
    mcl.readField(out + (part ^ 1) * fieldBytes, data, at + part * numberBytes)
  }
  mcl.completeG2(out)
  if (mcl.lib.mclBnG2_isValid(out) === 0) refuse(offCurve)
  if (mcl.lib.mclBnG2_isValidOrder(out) === 0) refuse('point is not in correct subgroup')
}

function writePoint(point: number): Uint8Array {
  const { mcl } = curve()
  const bytes = new Uint8Array(pointBytes)
  if (mcl.lib.mclBnG1_isZero(point) === 1) return bytes
  mcl.lib.mclBnG1_normalize(point, point)
  mcl.writeField(point, bytes, 0)
  mcl.writeField(point + fieldBytes, bytes, numberBytes)
  return bytes
}
