/**
 * Why precompiled contracts refuse their input, in the words of go-ethereum (core/vm/contracts.go, gnark-crypto and
 * go-eth-kzg below it). The library has fewer words and others, so an input that it refused is looked at once more,
 * in go-ethereum's order. Owns the words only: whether an input is refused is decided where the contract runs.
 */
import { EVMError, type ExecResult } from '@ethereumjs/evm'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToBigInt, equalBytes } from '../primitives/bytes.js'
import type { JobWatch } from './jobWatch.js'

/** A precompiled contract refused its input; all the gas of the call is gone. */
export class PrecompileError extends EVMError {
  constructor(
    private readonly number: number,
    private readonly data: Uint8Array,
  ) {
    super('precompile failed' as EVMError['error'])
  }

  /** Takes about as long as the contract itself for the same input: points are checked one by one, under the watch. */
  why(watch: JobWatch): string {
    return reasons.get(this.number)?.(this.data, watch) ?? 'invalid input'
  }
}

/** The result of a contract that fails and with it all its gas is gone: for want of gas where no error is given. */
export function burnt(
  gasLimit: bigint,
  exceptionError: EVMError = new EVMError(EVMError.errorMessages.OUT_OF_GAS),
): ExecResult {
  return { executionGasUsed: gasLimit, returnValue: new Uint8Array(0), exceptionError }
}

type Reason = string | undefined
type FindReason = (data: Uint8Array, watch: JobWatch) => Reason

const wrongLength = 'invalid input length'
const notInField = 'invalid fp.Element encoding'

const reasons: ReadonlyMap<number, FindReason> = new Map<number, FindReason>([
  [0x05, () => 'one or more of base/exponent/modulus length exceeded 1024 bytes'],
  [0x06, (data) => bn254PointReason(cut(data, 0, 64)) ?? bn254PointReason(cut(data, 64, 64))],
  [0x07, (data) => bn254PointReason(cut(data, 0, 64))],
  [
    0x08,
    (data, watch) =>
      data.length % 192 === 0
        ? firstReason(data, 192, bn254PairReason, watch)
        : 'bad elliptic curve pairing size',
  ],
  [0x09, (data) => (data.length === 213 ? 'invalid final flag' : wrongLength)],
  [0x0a, kzgReason],
  [0x0b, fixedLength(2, 128, (point) => g1Reason(point, false))],
  [0x0c, anyLength(160, (item) => g1Reason(item.subarray(0, 128), true))],
  [0x0d, fixedLength(2, 256, (point) => g2Reason(point, false))],
  [0x0e, anyLength(288, (item) => g2Reason(item.subarray(0, 256), true))],
  [0x0f, anyLength(384, blsPairReason)],
  [0x10, fixedLength(1, 64, fieldReason)],
  [0x11, fixedLength(2, 64, fieldReason)],
])

type ItemReason = (item: Uint8Array) => Reason

/** Of the first item that is refused. */
function firstReason(data: Uint8Array, itemBytes: number, find: ItemReason, watch?: JobWatch): Reason {
  for (let at = 0; at < data.length; at += itemBytes) {
    watch?.look()
    const reason = find(data.subarray(at, at + itemBytes))
    if (reason !== undefined) return reason
  }
  return undefined
}

function fixedLength(count: number, itemBytes: number, find: ItemReason): FindReason {
  return (data) => (data.length === count * itemBytes ? firstReason(data, itemBytes, find) : wrongLength)
}

/** One item or more. */
function anyLength(itemBytes: number, find: ItemReason): FindReason {
  return (data, watch) =>
    data.length > 0 && data.length % itemBytes === 0 ? firstReason(data, itemBytes, find, watch) : wrongLength
}

/** `length` bytes from `at`, zeros beyond the end. */
function cut(data: Uint8Array, at: number, length: number): Uint8Array {
  const part = new Uint8Array(length)
  part.set(data.subarray(at, at + length))
  return part
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

/** What the checks need of the fields of noble. */
interface Field<T> {
  sqr(value: T): T
  mul(a: T, b: T): T
  add(a: T, b: T): T
  eql(a: T, b: T): boolean
}

/** y² = x³ + b */
function isOnCurve<T>(field: Field<T>, x: T, y: T, b: T): boolean {
  return field.eql(field.sqr(y), field.add(field.mul(field.sqr(x), x), b))
}

/** 64 bytes, x ‖ y. Every point of the curve is in the group. */
function bn254PointReason(bytes: Uint8Array): Reason {
  if (isZero(bytes)) return undefined
  const [x, y] = [bytesToBigInt(bytes.subarray(0, 32)), bytesToBigInt(bytes.subarray(32))]
  const { Fp } = bn254.fields
  if (x >= Fp.ORDER || y >= Fp.ORDER) return notInField
  return isOnCurve(Fp, x, y, bn254.G1.Point.CURVE().b) ? undefined : 'point is not on curve'
}

/** 128 bytes, x ‖ y, of each the imaginary part first. */
function bn254TwistReason(bytes: Uint8Array): Reason {
  if (isZero(bytes)) return undefined
  const parts = [0, 32, 64, 96].map((at) => bytesToBigInt(bytes.subarray(at, at + 32)))
  if (parts.some((part) => part >= bn254.fields.Fp.ORDER)) return notInField
  const [x1, x0, y1, y0] = parts as [bigint, bigint, bigint, bigint]
  const [x, y] = [
    { c0: x0, c1: x1 },
    { c0: y0, c1: y1 },
  ]
  const { Point } = bn254.G2
  if (!isOnCurve(bn254.fields.Fp2, x, y, Point.CURVE().b)) return 'point is not on curve'
  return Point.fromAffine({ x, y }).isTorsionFree() ? undefined : 'point is not in correct subgroup'
}

function bn254PairReason(pair: Uint8Array): Reason {
  return bn254PointReason(pair.subarray(0, 64)) ?? bn254TwistReason(pair.subarray(64))
}

/** An element of the field of BLS12-381: 64 bytes, of which the first 16 are zeros. */
function fieldReason(bytes: Uint8Array): Reason {
  if (!isZero(bytes.subarray(0, 16))) return 'invalid field element top bytes'
  return bytesToBigInt(bytes) >= bls12_381.fields.Fp.ORDER ? notInField : undefined
}

const offCurve = 'invalid point: not on curve'

/** 128 bytes, x ‖ y. */
function g1Reason(bytes: Uint8Array, checksGroup: boolean): Reason {
  const reason = firstReason(bytes, 64, fieldReason)
  if (reason !== undefined || isZero(bytes)) return reason
  const [x, y] = [bytesToBigInt(bytes.subarray(0, 64)), bytesToBigInt(bytes.subarray(64))]
  const { Point } = bls12_381.G1
  if (!isOnCurve(bls12_381.fields.Fp, x, y, Point.CURVE().b)) return offCurve
  if (!checksGroup || Point.fromAffine({ x, y }).isTorsionFree()) return undefined
  return 'g1 point is not on correct subgroup'
}

/** 256 bytes, x ‖ y, of each the real part first. */
function g2Reason(bytes: Uint8Array, checksGroup: boolean): Reason {
  const reason = firstReason(bytes, 64, fieldReason)
  if (reason !== undefined || isZero(bytes)) return reason
  const [c0, c1, d0, d1] = [0, 64, 128, 192].map((at) => bytesToBigInt(bytes.subarray(at, at + 64))) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ]
  const [x, y] = [
    { c0, c1 },
    { c0: d0, c1: d1 },
  ]
  const { Point } = bls12_381.G2
  if (!isOnCurve(bls12_381.fields.Fp2, x, y, Point.CURVE().b)) return offCurve
  if (!checksGroup || Point.fromAffine({ x, y }).isTorsionFree()) return undefined
  return 'g2 point is not on correct subgroup'
}

/** Both points are decoded before their groups are looked at. */
function blsPairReason(pair: Uint8Array): Reason {
  const [p, q] = [pair.subarray(0, 128), pair.subarray(128)]
  return g1Reason(p, false) ?? g2Reason(q, false) ?? g1Reason(p, true) ?? g2Reason(q, true)
}

/** EIP-4844: versioned hash ‖ z ‖ y ‖ commitment ‖ proof. */
function kzgReason(data: Uint8Array): Reason {
  if (data.length !== 192) return wrongLength
  const commitment = data.subarray(96, 144)
  const versioned = sha256(commitment)
  versioned[0] = 1
  if (!equalBytes(versioned, data.subarray(0, 32))) return 'mismatched versioned hash'
  const isScalar = (at: number) => bytesToBigInt(data.subarray(at, at + 32)) < bls12_381.fields.Fr.ORDER
  const reason =
    isScalar(32) && isScalar(64)
      ? (compressedReason(commitment) ?? compressedReason(data.subarray(144)) ?? "can't verify opening proof")
      : 'scalar is not canonical when interpreted as a big integer in big-endian'
  return `error verifying kzg proof: ${reason}`
}

/** A point of the first group as 48 bytes: x, with three flags in its highest bits. */
function compressedReason(bytes: Uint8Array): Reason {
  const flags = (bytes[0] as number) >> 5
  const bare = Uint8Array.from(bytes)
  bare[0] = (bytes[0] as number) & 0x1f
  // 0b000 and 0b010 announce 96 bytes, 0b110 is infinity, 0b100 and 0b101 are points.
  if (flags === 0b000 || flags === 0b010) return 'short buffer'
  if (flags === 0b110) return isZero(bare) ? undefined : 'invalid infinity point encoding'
  if (flags !== 0b100 && flags !== 0b101) return 'invalid point encoding'
  const x = bytesToBigInt(bare)
  const { Fp } = bls12_381.fields
  if (x >= Fp.ORDER) return notInField
  const { Point } = bls12_381.G1
  const square = Fp.add(Fp.mul(Fp.sqr(x), x), Point.CURVE().b)
  if (!Fp.eql(Fp.pow(square, (Fp.ORDER - 1n) / 2n), Fp.ONE)) {
    return "invalid compressed coordinate: square root doesn't exist"
  }
  const isInGroup = Point.fromAffine({ x, y: Fp.sqrt(square) }).isTorsionFree()
  return isInGroup ? undefined : 'invalid point: subgroup check failed'
}
