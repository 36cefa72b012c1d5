/** The result of a call in the form of Reth's `eth_callMany`: `{value}`, or `{error}` for one that failed. */
import { decodeRevertReason } from '../messages/revertReason.js'
import { goText } from './callFrames.js'
import { type FrameEnd, TransactionTracer } from './tracer.js'

export class CallResult extends TransactionTracer {
  #value = new Uint8Array(0)
  #error: string | undefined

  exit({ depth, output, failure }: FrameEnd): void {
    if (depth > 0) return
    this.hold(output.length)
    this.#value = output.slice()
    const reason = failure?.kind === 'reverted' ? decodeRevertReason(output) : undefined
    this.#error = failure?.isUndone !== true ? undefined : reason ? `${failure.why}: ${reason}` : failure.why
  }

  end(): void {
    const { json } = this.output
    if (this.#error === undefined) json.put`{"value":${this.#value}}`
    else json.put`{"error":${goText(this.#error)}}`
  }
}
