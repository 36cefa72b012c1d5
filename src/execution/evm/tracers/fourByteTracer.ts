/** go-ethereum's `4byteTracer` (eth/tracers/native/4byte.go): counts calls by `selector-bytes of arguments`. */
import { bytesToHex } from '../../../primitives/bytes.js'
import { isCreation, selfdestruct } from '../engine/opcodeNames.js'
import { byName, type TracedFrame, TransactionTracer } from './tracer.js'

/** Memory of a counter. */
const counterBytes = 100

export class FourByteTracer extends TransactionTracer {
  readonly #counts = new Map<string, number>()

  enter(frame: TracedFrame): void {
    const { kind, to, input } = frame
    if (input.length < 4 || isCreation(frame) || kind === selfdestruct) return
    if (this.transaction.isPrecompile(to)) return
    const key = `${bytesToHex(input.subarray(0, 4))}-${input.length - 4}`
    const count = this.#counts.get(key) ?? 0
    this.#counts.set(key, count + 1)
    if (count === 0) this.hold(counterBytes)
  }

  end(): void {
    const counts = byName(this.#counts).map(([key, count]) => `"${key}":${count}`)
    this.output.json.text(`{${counts.join()}}`)
  }
}
