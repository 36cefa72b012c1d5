/** go-ethereum's `keccak256PreimageTracer` (eth/tracers/native/keccak256_preimage.go): what was hashed, by its hash. */
import { bytesToHex } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import type { TracedTransaction, TraceOutput, Tracer } from './tracer.js'

/** KECCAK256. */
export const hashing = 0x20

/** Memory of a hash besides its input. */
const itemBytes = 300

/** go-ethereum's limit of what is read beyond the end of memory. */
const paddedBytesMax = 1024 * 1024

/** What an instruction is about to hash, zeros beyond the end of memory included; undefined where that is too much. */
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

export class KeccakPreimages implements Tracer {
  readonly opcodes = [hashing]
  readonly #found = new Map<string, string>()
  #heldBytes = 0
  #output!: TraceOutput

  begin(_: TracedTransaction, output: TraceOutput): void {
    this.#found.clear()
    this.#heldBytes = 0
    this.#output = output
  }

  step(step: KernelStep): void {
    const input = hashedInput(step)
    if (input === undefined) return
    const hash = bytesToHex(keccak256(input))
    if (this.#found.has(hash)) return
    this.#heldBytes += itemBytes + 2 * input.length
    this.#output.holding(this.#heldBytes)
    this.#found.set(hash, bytesToHex(input))
  }

  end(): void {
    const { json } = this.#output
    json.text('{')
    let count = 0
    for (const [hash, input] of [...this.#found].sort(([a], [b]) => (a < b ? -1 : 1))) {
      json.text(`${count++ > 0 ? ',' : ''}"${hash}":"${input}"`)
      this.#output.flush()
    }
    json.text('}')
  }
}
