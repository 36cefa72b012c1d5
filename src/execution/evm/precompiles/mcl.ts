/**
 * Curves of the library mcl (https://github.com/herumi/mcl), compiled to WebAssembly: the binary of the package
 * mcl-wasm, which the build unpacks beside this file. Owns its instances, field elements as bytes, and points of the
 * first group. The contracts check which numbers and points they accept; tests compare them with @noble/curves.
 *
 * An instance supports one curve, so each curve has its own. All its memory is allocated at the start: no call grows
 * it.
 */
import { instantiate, newMemory } from '../../../primitives/webAssembly.js'

/** Parameters are addresses in the instance's memory; the result is the first one. Zero means success, or "no". */
interface Exports {
  __wasm_call_ctors(): void
  mclBn_init(curve: number, compiledTimeVar: number): number
  mclBn_setMapToMode(mode: number): number
  mclBn_verifyOrderG1(isOn: number): void
  mclBn_verifyOrderG2(isOn: number): void
  malloc(bytes: number): number
  mclBnFp_setLittleEndian(out: number, from: number, bytes: number): number
  mclBnFp_getLittleEndian(out: number, bytesMax: number, element: number): number
  mclBnFp_neg(out: number, element: number): void
  mclBnFp_squareRoot(out: number, element: number): number
  mclBnFp_sqr(out: number, element: number): void
  mclBnFp_mul(out: number, a: number, b: number): void
  mclBnFp_add(out: number, a: number, b: number): void
  mclBnFp_mapToG1(out: number, element: number): number
  mclBnFp2_mapToG2(out: number, element: number): number
  /** Reduced by the order of the group. */
  mclBnFr_setLittleEndianMod(out: number, from: number, bytes: number): number
  mclBnFr_isEqual(a: number, b: number): number
  mclBnFr_inv(out: number, scalar: number): void
  mclBnFr_mul(out: number, a: number, b: number): void
  mclBnG1_clear(out: number): void
  mclBnG1_isZero(point: number): number
  mclBnG1_isValid(point: number): number
  mclBnG1_isEqual(a: number, b: number): number
  mclBnG1_normalize(out: number, point: number): void
  mclBnG1_neg(out: number, point: number): void
  mclBnG1_add(out: number, a: number, b: number): void
  mclBnG1_dbl(out: number, point: number): void
  mclBnG1_mul(out: number, point: number, scalar: number): void
  mclBnG1_mulVec(out: number, points: number, scalars: number, count: number): void
  mclBnG2_clear(out: number): void
  mclBnG2_isZero(point: number): number
  mclBnG2_isValid(point: number): number
  mclBnG2_isValidOrder(point: number): number
  mclBnG2_normalize(out: number, point: number): void
  mclBnG2_add(out: number, a: number, b: number): void
  mclBnG2_mulVec(out: number, points: number, scalars: number, count: number): void
  mclBnGT_setInt32(out: number, value: number): void
  mclBnGT_isOne(element: number): number
  mclBnGT_mul(out: number, a: number, b: number): void
  mclBn_millerLoopVec(out: number, g1: number, g2: number, count: number): void
  mclBn_finalExp(out: number, element: number): void
  mclBn_getUint64NumToPrecompute(): number
  mclBn_precomputeG2(out: number, point: number): void
  mclBn_precomputedMillerLoop2(out: number, g1: number, lines: number, other: number, itsLines: number): void
}

/** Bytes of a field element, a scalar, and points: elements of 384 bits for any curve, coordinates x, y and z. */
export const fieldBytes = 48
export const scalarBytes = 32
export const g1Bytes = 3 * fieldBytes
export const g2Bytes = 6 * fieldBytes

/** Units of a scalar and a field element, with which the library checks that both sides were compiled alike. */
const compiledTimeVar = 46

/** As in hash-to-curve drafts since number 7 (RFC 9380). */
const mapToMode = 5

/** The library's initial memory (2 MiB, half of it for its own data), and space for {@link itemsMax} items. */
const memoryPages = 40

/** Items of a sum or product computed at a time: more are hardly faster, and the watch is checked after each batch. */
export const itemsMax = 128

export class Mcl {
  readonly lib: Exports
  readonly #bytes: Uint8Array
  readonly #number: number
  /** The modulus, big-endian. */
  readonly #modulus: Uint8Array

  /** `curve` is its number in mcl, `modulus` that of its coordinates. The first one in a thread takes some 20 ms. */
  constructor(curve: number, modulus: Uint8Array) {
    const memory = newMemory(memoryPages)
    this.lib = instantiate<Exports>('src/execution/evm/precompiles/mcl.wasm', { env: { memory } })
    this.lib.__wasm_call_ctors()
    if (this.lib.mclBn_init(curve, compiledTimeVar) !== 0) throw new Error(`mcl does not know curve ${curve}`)
    // Contracts that need group checks do them. A curve with one group has no mapping.
    this.lib.mclBn_verifyOrderG1(0)
    this.lib.mclBn_verifyOrderG2(0)
    this.lib.mclBn_setMapToMode(mapToMode)
    this.#bytes = new Uint8Array(memory.buffer)
    this.#number = this.allocate(fieldBytes)
    this.#modulus = modulus
  }

  /** Allocates memory that is never freed. */
  allocate(bytes: number): number {
    const at = this.lib.malloc(bytes)
    if (at === 0) throw new Error('mcl has no memory left')
    return at
  }

  /** Whether a big-endian number as long as the modulus is below it. */
  isField(data: Uint8Array, at: number): boolean {
    for (let index = 0; index < this.#modulus.length; index++) {
      const difference = (data[at + index] as number) - (this.#modulus[index] as number)
      if (difference !== 0) return difference < 0
    }
    return false
  }

  /** Reads a number that passes {@link isField}. */
  readField(out: number, data: Uint8Array, at: number): void {
    const length = this.#modulus.length
    for (let index = 0; index < length; index++) {
      this.#bytes[this.#number + index] = data[at + length - 1 - index] as number
    }
    this.lib.mclBnFp_setLittleEndian(out, this.#number, length)
  }

  /** Writes an element as a big-endian number as long as the modulus. */
  writeField(element: number, data: Uint8Array, at: number): void {
    const length = this.#modulus.length
    const written = this.lib.mclBnFp_getLittleEndian(this.#number, fieldBytes, element)
    for (let index = 0; index < length; index++) {
      data[at + index] =
        length - index <= written ? (this.#bytes[this.#number + length - 1 - index] as number) : 0
    }
  }

  /** Reads 32 bytes, big-endian, as a scalar: modulo the order of the group. */
  readScalar(out: number, data: Uint8Array, at: number): void {
    for (let index = 0; index < scalarBytes; index++) {
      this.#bytes[this.#number + index] = data[at + scalarBytes - 1 - index] as number
    }
    this.lib.mclBnFr_setLittleEndianMod(out, this.#number, scalarBytes)
  }

  /** Completes the affine point of the first group at `out`, whose x and y are set. */
  completeG1(out: number): void {
    this.#setOne(out + 2 * fieldBytes)
  }

  /** Like {@link completeG1}, but for the second group. */
  completeG2(out: number): void {
    this.#setOne(out + 4 * fieldBytes)
    this.#bytes.fill(0, out + 5 * fieldBytes, out + 6 * fieldBytes)
  }

  #setOne(out: number): void {
    this.#bytes[this.#number] = 1
    this.lib.mclBnFp_setLittleEndian(out, this.#number, 1)
  }
}
