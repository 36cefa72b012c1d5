/** go-ethereum's `callTracer` (eth/tracers/native/call.go): the calls of a transaction, nested. */

import { ascii } from '../../../primitives/jsonBytes.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import { opcodeNames, staticCall } from '../engine/opcodeNames.js'
import { stop } from '../transactions/transaction.js'
import { type Call, type CallLog, CallTreeTracer, goText, revertReasonOf } from './callFrames.js'
import type { FrameEnd, TracedFrame } from './tracer.js'

export interface CallTracerOptions {
  readonly onlyTopCall: boolean
  readonly withLog: boolean
}

const member = {
  from: ascii('{"from":'),
  gas: ascii(',"gas":'),
  gasUsed: ascii(',"gasUsed":'),
  to: ascii(',"to":'),
  input: ascii(',"input":'),
  output: ascii(',"output":'),
  value: ascii(',"value":'),
}

export class CallTracer extends CallTreeTracer {
  readonly #options: CallTracerOptions
  #depth = -1

  constructor(options: CallTracerOptions) {
    super(options.onlyTopCall)
    this.#options = options
  }

  override enter(frame: TracedFrame): void {
    this.#depth = frame.depth
    super.enter(frame)
  }

  override exit(end: FrameEnd): void {
    this.#depth = end.depth - 1
    super.exit(end)
  }

  log(log: KernelLog, index: number): void {
    const { withLog, onlyTopCall } = this.#options
    if (withLog && !(onlyTopCall && this.#depth > 0)) this.keepLog(log, index)
  }

  end(gasUsed: bigint): void {
    const { top } = this
    if (top.kind !== stop) top.gas = this.transaction.gasLimit
    top.gasUsed = gasUsed
    this.#write(top, false, 0)
  }

  /** `isUndone`: a call around it failed, so it has no logs. */
  #write(call: Call, isUndone: boolean, depth: number): void {
    const { json } = this.output
    const { from, gas, gasUsed, to, input, output, failure, calls, logs, value, kind } = call
    json.constant(member.from)
    json.hex(from)
    json.constant(member.gas)
    json.quantity(gas)
    json.constant(member.gasUsed)
    json.quantity(gasUsed)
    if (to !== undefined) {
      json.constant(member.to)
      json.hex(to)
    }
    json.constant(member.input)
    json.hex(input)
    if (output.length > 0) {
      json.constant(member.output)
      json.hex(output)
    }
    if (failure !== undefined) {
      json.text(`,"error":${goText(failure.why)}`)
      const reason = revertReasonOf(call)
      if (reason !== undefined && reason !== '') json.text(`,"revertReason":${goText(reason)}`)
    }
    const isGone = isUndone || failure !== undefined
    if (calls.length > 0) {
      json.text(',"calls":')
      this.writeAll('[]', calls, (inner) => this.#write(inner, isGone, depth + 1))
    }
    if (logs.length > 0 && !isGone) this.#writeLogs(logs)
    if (kind !== staticCall && kind !== stop) {
      json.constant(member.value)
      json.quantity(value)
    }
    this.writeMore(call, depth)
    json.text(`,"type":"${opcodeNames[kind]}"}`)
  }

  /** Writes additional members of a subclass; `depth` is 0 for the transaction's own call. */
  protected writeMore(_call: Call, _depth: number): void {}

  #writeLogs(logs: readonly CallLog[]): void {
    const { json } = this.output
    json.text(',"logs":')
    this.writeAll('[]', logs, ({ address, topics, data, index, position }) => {
      json.put`{"address":${address},"topics":[`
      for (const [place, topic] of topics.entries()) {
        if (place > 0) json.text(',')
        json.hex(topic)
      }
      json.put`],"data":${data},"index":${BigInt(index)},"position":${BigInt(position)}}`
    })
  }
}
