/** Precompiled contract 10: verifies that a committed polynomial has a value at a point (EIP-4844). */
import { hash } from 'node:crypto'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bytesToBigInt, equalBytes, hexToBytes } from '../../primitives/bytes.js'
import { isProductOne, type Lines, linesOf } from './blsPairing.js'
import { isZero, writeNumbers } from './fields.js'
import { notInField, refuse, wrongLength } from './refusal.js'

const { Fp, Fr } = bls12_381.fields
const G1 = bls12_381.G1.Point
const G2 = bls12_381.G2.Point
type G1Point = typeof G1.BASE

/** The ceremony's secret times the generator of the second group: `g2_monomial[1]` of the trusted setup. */
const secretHex =
  'b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72' +
  '185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2'
/** Made when first needed: for a fixed point they are always the same. */
let lines: { readonly generator: Lines; readonly secret: Lines } | undefined

const inputBytes = 192
const blobElements = 4096n

/** versioned hash ‖ z ‖ y ‖ commitment ‖ proof; returns how many elements a blob has, and the field's order. */
export function verifyKzgProof(data: Uint8Array): Uint8Array {
  if (data.length !== inputBytes) refuse(wrongLength)
  const versioned = hash('sha256', data.subarray(96, 144), 'buffer')
  versioned[0] = 1
  if (!equalBytes(versioned, data.subarray(0, 32))) refuse('mismatched versioned hash')
  const z = readScalar(data.subarray(32, 64))
  const y = readScalar(data.subarray(64, 96))
  const commitment = readCompressed(data.subarray(96, 144))
  const proof = readCompressed(data.subarray(144))
  if (!isProof(commitment, z, y, proof)) refuseProof("can't verify opening proof")
  return writeNumbers(32, blobElements, Fr.ORDER)
}

/** Checks e(commitment − y·G1, G2) = e(proof, secret − z·G2), with z moved to the first group. */
function isProof(commitment: G1Point, z: bigint, y: bigint, proof: G1Point): boolean {
  lines ??= { generator: linesOf(G2.BASE), secret: linesOf(G2.fromBytes(hexToBytes(secretHex))) }
  const left = commitment.subtract(times(G1.BASE, y)).add(times(proof, z))
  return isProductOne([
    [left, lines.generator],
    [proof.negate(), lines.secret],
  ])
}

function times(point: G1Point, scalar: bigint): G1Point {
  return scalar === 0n ? G1.ZERO : point.multiplyUnsafe(scalar)
}

function refuseProof(why: string): never {
  return refuse(`error verifying kzg proof: ${why}`)
}

function readScalar(bytes: Uint8Array): bigint {
  const scalar = bytesToBigInt(bytes)
  return scalar < Fr.ORDER
    ? scalar
    : refuseProof('scalar is not canonical when interpreted as a big integer in big-endian')
}

/** A point of the first group as 48 bytes: x, with three flags in its highest bits. */
function readCompressed(bytes: Uint8Array): G1Point {
  const flags = (bytes[0] as number) >> 5
  const bare = Uint8Array.from(bytes)
  bare[0] = (bytes[0] as number) & 0x1f
  // 0b000 and 0b010 announce 96 bytes, 0b110 is infinity, 0b100 and 0b101 are points with the lesser and greater y.
  if (flags === 0b000 || flags === 0b010) refuseProof('short buffer')
  if (flags === 0b110) return isZero(bare) ? G1.ZERO : refuseProof('invalid infinity point encoding')
  if (flags !== 0b100 && flags !== 0b101) refuseProof('invalid point encoding')
  const x = bytesToBigInt(bare)
  if (x >= Fp.ORDER) refuseProof(notInField)
  const y = rootOf(Fp.add(Fp.mul(Fp.sqr(x), x), G1.CURVE().b))
  const isGreater = 2n * y > Fp.ORDER
  const point = G1.fromAffine({ x, y: isGreater === (flags === 0b101) ? y : Fp.neg(y) })
  return point.isTorsionFree() ? point : refuseProof('invalid point: subgroup check failed')
}

function rootOf(square: bigint): bigint {
  // The order is 3 modulo 4.
  const root = Fp.pow(square, (Fp.ORDER + 1n) / 4n)
  if (!Fp.eql(Fp.sqr(root), square)) refuseProof("invalid compressed coordinate: square root doesn't exist")
  return root
}
