/** What a call comes to, as Reth's `eth_callMany` has it: `{value}`, or `{error}` for one that failed. */
import { decodeRevertReason } from '../messages/revertReason.js'
import { goText } from './callFrames.js'
import type { FrameEnd, TracedTransaction, TraceOutput, Tracer } from './tracer.js'

export class CallResult implements Tracer {
  readonly opcodes = []
  #value = new Uint8Array(0)
  #error: string | undefined
  #output!: TraceOutput

  begin(_: TracedTransaction, output: TraceOutput): void {
    this.#output = output
  }

  exit({ depth, output, failure }: FrameEnd): void {
    if (depth > 0) return
    this.#output.holding(output.length)
    this.#value = output.slice()
    const reason = failure?.kind === 'reverted' ? decodeRevertReason(output) : undefined
    this.#error = failure?.isUndone !== true ? undefined : reason ? `${failure.why}: ${reason}` : failure.why
  }

  end(): void {
    const { json } = this.#output
    if (this.#error === undefined) json.put`{"value":${this.#value}}`
    else json.put`{"error":${goText(this.#error)}}`
  }
}
