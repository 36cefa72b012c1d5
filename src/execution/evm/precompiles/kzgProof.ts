/** Precompiled contract 10: verifies that a committed polynomial has a value at a point (EIP-4844). */
import { hash } from 'node:crypto'
import { equalBytes, hexToBytes } from '../../../primitives/bytes.js'
import { bls12381, isInGroup1 } from './bls12381.js'
import { isZero, notInField, refuse, wrongLength } from './contractData.js'
import { fieldBytes, g1Bytes, g2Bytes, scalarBytes } from './mcl.js'

/** x and y of both generators; in the second group the real part of each comes first. */
const generator1Hex =
  '17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb' +
  '08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1'
const generator2Hex =
  '024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8' +
  '13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e' +
  '0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801' +
  '0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be'
/** The ceremony's secret times the generator of the second group: `g2_monomial[1]` of the trusted setup. */
const secretHex =
  '185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2' +
  '15bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72' +
  '014353bdb96b626dd7d5ee8599d1fca2131569490e28de18e82451a496a9c9794ce26d105941f383ee689bfbbb832a99' +
  '1666c54b0a32529503432fcae0181b4bef79de09fc63671fda5ed1ba9bfa07899495346f3d7ac9cd23048ef30d0a154f'

const order = hexToBytes('0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001')
/** Half of the modulus, rounded down: the largest y that is less than its negative. */
const lesserMax = hexToBytes(
  '0x0d0088f51cbff34d258dd3db21a5d66bb23ba5c279c2895fb39869507b587b120f55ffff58a9ffffdcff7fffffffd555',
)

/** Addresses of values used in each call. The lines of a fixed point of the second group never change. */
interface Setup {
  readonly four: number
  readonly generatorLines: number
  readonly secretLines: number
  /** The negative of the generator directly followed by the proof; and their multipliers. */
  readonly negative: number
  readonly proof: number
  readonly scalars: number
  readonly commitment: number
  readonly left: number
  /** An element of the third group. */
  readonly product: number
}

let known: Setup | undefined

function setup(): Setup {
  if (known !== undefined) return known
  const { mcl } = bls12381()
  const { lib } = mcl
  const readAll = (out: number, hex: string, count: number) => {
    const bytes = hexToBytes(`0x${hex}`)
    for (let index = 0; index < count; index++)
      mcl.readField(out + index * fieldBytes, bytes, index * fieldBytes)
  }
  const linesOf = (hex: string) => {
    const point = mcl.allocate(g2Bytes)
    readAll(point, hex, 4)
    mcl.completeG2(point)
    const lines = mcl.allocate(8 * lib.mclBn_getUint64NumToPrecompute())
    lib.mclBn_precomputeG2(lines, point)
    return lines
  }
  const negative = mcl.allocate(2 * g1Bytes)
  readAll(negative, generator1Hex, 2)
  mcl.completeG1(negative)
  lib.mclBnG1_neg(negative, negative)
  const four = mcl.allocate(fieldBytes)
  readAll(four, '4'.padStart(2 * fieldBytes, '0'), 1)
  known = {
    four,
    generatorLines: linesOf(generator2Hex),
    secretLines: linesOf(secretHex),
    negative,
    proof: negative + g1Bytes,
    scalars: mcl.allocate(2 * scalarBytes),
    commitment: mcl.allocate(g1Bytes),
    left: mcl.allocate(g1Bytes),
    product: mcl.allocate(12 * fieldBytes),
  }
  return known
}

const inputBytes = 192
/** Number of elements in a blob, and the order of their field. */
const output = hexToBytes(`0x${(4096).toString(16).padStart(64, '0')}${Buffer.from(order).toString('hex')}`)

/** versioned hash ‖ z ‖ y ‖ commitment ‖ proof. */
export function verifyKzgProof(data: Uint8Array): Uint8Array {
  if (data.length !== inputBytes) refuse(wrongLength)
  const versioned = hash('sha256', data.subarray(96, 144), 'buffer')
  versioned[0] = 1
  if (!equalBytes(versioned, data.subarray(0, 32))) refuse('mismatched versioned hash')
  const { commitment, proof } = setup()
  const z = 32
  const y = 64
  for (const at of [z, y]) {
    if (Buffer.compare(data.subarray(at, at + 32), order) >= 0) {
      refuseProof('scalar is not canonical when interpreted as a big integer in big-endian')
    }
  }
  readCompressed(commitment, data.subarray(96, 144))
  readCompressed(proof, data.subarray(144))
  if (!isProof(data, z, y)) refuseProof("can't verify opening proof")
  return output.slice()
}

/** Checks e(commitment − y·G1, G2) = e(proof, secret − z·G2), with z moved to the first group. */
function isProof(data: Uint8Array, z: number, y: number): boolean {
  const curve = bls12381()
  const { lib } = curve.mcl
  const { generatorLines, secretLines, negative, proof, scalars, commitment, left, product } = setup()
  curve.mcl.readScalar(scalars, data, y)
  curve.mcl.readScalar(scalars + scalarBytes, data, z)
  lib.mclBnG1_mulVec(left, negative, scalars, 2)
  lib.mclBnG1_add(left, left, commitment)
  // The pairing of infinity with any point is one; the pairing of other points never is.
  const isLeftNone = lib.mclBnG1_isZero(left) === 1
  const isProofNone = lib.mclBnG1_isZero(proof) === 1
  if (isLeftNone || isProofNone) return isLeftNone && isProofNone
  lib.mclBnG1_normalize(left, left)
  lib.mclBnG1_neg(proof, proof)
  lib.mclBn_precomputedMillerLoop2(product, left, generatorLines, proof, secretLines)
  return curve.isFinallyOne(product)
}

function refuseProof(why: string): never {
  return refuse(`error verifying kzg proof: ${why}`)
}

/** A point of the first group as 48 bytes: x, with three flags in its highest bits. */
function readCompressed(out: number, bytes: Uint8Array): void {
  const { mcl } = bls12381()
  const { lib } = mcl
  const flags = (bytes[0] as number) >> 5
  const bare = Uint8Array.from(bytes)
  bare[0] = (bytes[0] as number) & 0x1f
  // 0b000 and 0b010 announce 96 bytes, 0b110 is infinity, 0b100 and 0b101 are points with the lesser and greater y.
  if (flags === 0b000 || flags === 0b010) refuseProof('short buffer')
  if (flags === 0b110) {
    return isZero(bare) ? lib.mclBnG1_clear(out) : refuseProof('invalid infinity point encoding')
  }
  if (flags !== 0b100 && flags !== 0b101) refuseProof('invalid point encoding')
  if (!mcl.isField(bare, 0)) refuseProof(notInField)
  mcl.readField(out, bare, 0)
  const y = out + fieldBytes
  // y² = x³ + 4
  lib.mclBnFp_sqr(y, out)
  lib.mclBnFp_mul(y, y, out)
  lib.mclBnFp_add(y, y, setup().four)
  if (lib.mclBnFp_squareRoot(y, y) !== 0) {
    refuseProof("invalid compressed coordinate: square root doesn't exist")
  }
  mcl.writeField(y, bare, 0)
  const isGreater = Buffer.compare(bare, lesserMax) > 0
  if (isGreater !== (flags === 0b101)) lib.mclBnFp_neg(y, y)
  mcl.completeG1(out)
  if (!isInGroup1(out)) refuseProof('invalid point: subgroup check failed')
}
