/** go-ethereum's `muxTracer` (eth/tracers/native/mux.go): several tracers in one run, their results by name. */
import type { KernelLog } from '../engine/kernelLogs.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { byName, type FrameEnd, type TracedFrame, type Tracer, TransactionTracer } from './tracer.js'

export class MuxTracer extends TransactionTracer {
  override readonly opcodes: 'all' | readonly number[]
  readonly #tracers: readonly (readonly [name: string, tracer: Tracer])[]

  constructor(tracers: readonly (readonly [name: string, tracer: Tracer])[]) {
    super()
    this.#tracers = byName(tracers)
    const wanted = tracers.map(([, { opcodes }]) => opcodes)
    this.opcodes = wanted.includes('all') ? 'all' : [...new Set(wanted.flat() as number[])]
  }

  protected override begun(): void {
    for (const [, tracer] of this.#tracers) tracer.begin(this.transaction, this.output)
  }

  step(step: KernelStep): void {
    for (const [, tracer] of this.#tracers) tracer.step?.(step)
  }

  cost(gasLeft: bigint): void {
    for (const [, tracer] of this.#tracers) tracer.cost?.(gasLeft)
  }

  fault(cost: bigint, refusal: string | undefined): void {
    for (const [, tracer] of this.#tracers) tracer.fault?.(cost, refusal)
  }

  creation(address: Uint8Array): void {
    for (const [, tracer] of this.#tracers) tracer.creation?.(address)
  }

  enter(frame: TracedFrame): void {
    for (const [, tracer] of this.#tracers) tracer.enter?.(frame)
  }

  exit(end: FrameEnd): void {
    for (const [, tracer] of this.#tracers) tracer.exit?.(end)
  }

  log(log: KernelLog, index: number): void {
    for (const [, tracer] of this.#tracers) tracer.log?.(log, index)
  }

  end(gasUsed: bigint): void {
    const { json } = this.output
    for (const [at, [name, tracer]] of this.#tracers.entries()) {
      json.text(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`)
      tracer.end(gasUsed)
    }
    json.text(this.#tracers.length === 0 ? '{}' : '}')
  }
}
