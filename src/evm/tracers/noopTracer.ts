import type { TracedTransaction, TraceOutput, Tracer } from './tracer.js'

/** go-ethereum's `noopTracer`: an empty object. */
export class NoopTracer implements Tracer {
  readonly opcodes = []
  #output!: TraceOutput

  begin(_: TracedTransaction, output: TraceOutput): void {
    this.#output = output
  }

  end(): void {
    this.#output.json.text('{}')
  }
}
