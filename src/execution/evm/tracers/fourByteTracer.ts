/**
 * go-ethereum's `4byteTracer` (eth/tracers/native/4byte.go): how often each selector was called, by
 * `selector-bytes of arguments`.
 */
import { bytesToHex } from '../../../primitives/bytes.js'
import { create, create2, selfdestruct } from './callFrames.js'
import type { TracedFrame, TracedTransaction, TraceOutput, Tracer } from './tracer.js'

/** Memory of a counter. */
const counterBytes = 100

export class FourByteTracer implements Tracer {
  readonly opcodes = []
  readonly #counts = new Map<string, number>()
  #transaction!: TracedTransaction
  #output!: TraceOutput

  begin(transaction: TracedTransaction, output: TraceOutput): void {
    this.#counts.clear()
    this.#transaction = transaction
    this.#output = output
  }

  enter({ kind, to, input }: TracedFrame): void {
    if (input.length < 4 || kind === create || kind === create2 || kind === selfdestruct) return
    if (this.#transaction.isPrecompile(to)) return
    const key = `${bytesToHex(input.subarray(0, 4))}-${input.length - 4}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    this.#output.holding(this.#counts.size * counterBytes)
  }

  end(): void {
    const sorted = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
    this.#output.json.text(`{${sorted.map(([key, count]) => `"${key}":${count}`).join()}}`)
  }
}
