/** go-ethereum's `keccak256PreimageTracer` (eth/tracers/native/keccak256_preimage.go): hashed data, by hash. */
import { bytesToHex } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { byName, TransactionTracer } from './tracer.js'

/** KECCAK256. */
export const hashing = 0x20

/** Memory of a hash, without its input. */
const itemBytes = 300

/** go-ethereum's limit for reads beyond the end of memory. */
const paddedBytesMax = 1024 * 1024

/** The input of a hashing instruction, with zeros beyond the end of memory; undefined if it is too long. */
export function hashedInput(step: KernelStep): Uint8Array | undefined {
  if (step.stackWords < 2) return undefined
  const { memory } = step
  const offset = Number(step.stackWord(0))
  const size = Number(step.stackWord(1))
  if (!Number.isSafeInteger(offset + size) || offset + size > memory.length + paddedBytesMax) return undefined
  const input = new Uint8Array(size)
  if (offset < memory.length) input.set(memory.subarray(offset, offset + size))
  return input
}

export class KeccakPreimages extends TransactionTracer {
  override readonly opcodes = [hashing]
  readonly #found = new Map<string, string>()

  step(step: KernelStep): void {
    const input = hashedInput(step)
    if (input === undefined) return
    const hash = bytesToHex(keccak256(input))
    if (this.#found.has(hash)) return
    this.hold(itemBytes + 2 * input.length)
    this.#found.set(hash, bytesToHex(input))
  }

  end(): void {
    const { json } = this.output
    this.writeAll('{}', byName(this.#found), ([hash, input]) => json.text(`"${hash}":"${input}"`))
  }
}
