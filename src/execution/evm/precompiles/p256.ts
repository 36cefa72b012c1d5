/** Precompiled contract 256: signatures on the curve P-256 (EIP-7951). */
import { hexToBytes, noBytes } from '../../../primitives/bytes.js'
import { flagWord } from './contractData.js'
import { fieldBytes, g1Bytes, Mcl, scalarBytes } from './mcl.js'

const modulus = hexToBytes('0xffffffff00000001000000000000000000000000ffffffffffffffffffffffff')
const order = hexToBytes('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551')
const generator = hexToBytes(
  '0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
    '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
)
/** Number of the curve in mcl. */
const curveNumber = 107

/** hash ‖ r ‖ s ‖ x ‖ y, 32 bytes each. */
const inputBytes = 160

/** A curve with memory for one call. */
class P256 {
  readonly #mcl = new Mcl(curveNumber, modulus)
  /** The generator and the public key. */
  readonly #points = this.#mcl.allocate(2 * g1Bytes)
  /** The multiplier of each. */
  readonly #scalars = this.#mcl.allocate(2 * scalarBytes)
  readonly #sum = this.#mcl.allocate(g1Bytes)
  readonly #r = this.#mcl.allocate(scalarBytes)
  readonly #s = this.#mcl.allocate(scalarBytes)
  readonly #x = new Uint8Array(32)

  constructor() {
    this.#readPoint(this.#points, generator, 0)
  }

  /** SEC 1, section 4.1.4, for r and s between zero and the order. */
  isSigned(data: Uint8Array): boolean {
    const hash = 0
    const r = 32
    const s = 64
    const key = 96
    if (!this.#mcl.isField(data, key) || !this.#mcl.isField(data, key + 32)) return false
    const { lib } = this.#mcl
    const point = this.#points + g1Bytes
    // Zeros, the encoding of infinity, are not on the curve, so they are no key.
    this.#readPoint(point, data, key)
    if (lib.mclBnG1_isValid(point) === 0) return false
    this.#mcl.readScalar(this.#r, data, r)
    this.#mcl.readScalar(this.#s, data, s)
    lib.mclBnFr_inv(this.#s, this.#s)
    this.#mcl.readScalar(this.#scalars, data, hash)
    lib.mclBnFr_mul(this.#scalars, this.#scalars, this.#s)
    lib.mclBnFr_mul(this.#scalars + scalarBytes, this.#r, this.#s)
    lib.mclBnG1_mulVec(this.#sum, this.#points, this.#scalars, 2)
    if (lib.mclBnG1_isZero(this.#sum) === 1) return false
    lib.mclBnG1_normalize(this.#sum, this.#sum)
    this.#mcl.writeField(this.#sum, this.#x, 0)
    this.#mcl.readScalar(this.#s, this.#x, 0)
    return lib.mclBnFr_isEqual(this.#r, this.#s) === 1
  }

  #readPoint(out: number, data: Uint8Array, at: number): void {
    this.#mcl.readField(out, data, at)
    this.#mcl.readField(out + fieldBytes, data, at + 32)
    this.#mcl.completeG1(out)
  }
}

let curve: P256 | undefined

/** Whether a number of 32 bytes is neither zero nor as large as the order. */
function isScalar(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes, order) < 0 && bytes.some((byte) => byte !== 0)
}

/** Output: 1 as a word, or nothing. */
export function verifyP256(data: Uint8Array): Uint8Array {
  if (data.length !== inputBytes) return noBytes
  if (!isScalar(data.subarray(32, 64)) || !isScalar(data.subarray(64, 96))) return noBytes
  curve ??= new P256()
  return curve.isSigned(data) ? flagWord(true) : noBytes
}
