/** go-ethereum's `callTracer` (eth/tracers/native/call.go): the calls of a transaction, nested. */
import { ascii } from '../../primitives/jsonBytes.js'
import type { KernelLog } from '../kernelLogs.js'
import { opcodeNames } from '../opcodeNames.js'
import { type Call, CallFrames, type CallLog, goText, revertReasonOf, staticCall } from './callFrames.js'
import type { FrameEnd, TracedFrame, TracedTransaction, TraceOutput, Tracer } from './tracer.js'

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

export class CallTracer implements Tracer {
  readonly opcodes = []
  readonly #options: CallTracerOptions
  readonly #frames: CallFrames
  #depth = -1
  #gasLimit = 0n
  #output!: TraceOutput

  constructor(options: CallTracerOptions) {
    this.#options = options
    this.#frames = new CallFrames(options.onlyTopCall)
  }

  begin({ gasLimit }: TracedTransaction, output: TraceOutput): void {
    this.#frames.begin(output)
    this.#gasLimit = gasLimit
    this.#output = output
    this.#depth = -1
  }

  enter(frame: TracedFrame): void {
    this.#depth = frame.depth
    this.#frames.enter(frame)
  }

  exit(end: FrameEnd): void {
    this.#depth = end.depth - 1
    this.#frames.exit(end)
  }

  log(log: KernelLog, index: number): void {
    const { withLog, onlyTopCall } = this.#options
    if (withLog && !(onlyTopCall && this.#depth > 0)) this.#frames.log(log, index)
  }

  end(gasUsed: bigint): void {
    const { top } = this.#frames
    top.gas = this.#gasLimit
    top.gasUsed = gasUsed
    this.#write(top, false)
  }

  /** `isUndone`: a call around it failed, so that it has no logs. */
  #write(call: Call, isUndone: boolean): void {
    const { json } = this.#output
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
      json.text(',"calls":[')
      for (const [index, inner] of calls.entries()) {
        if (index > 0) json.text(',')
        this.#write(inner, isGone)
        this.#output.flush()
      }
      json.text(']')
    }
    if (logs.length > 0 && !isGone) this.#writeLogs(logs)
    if (kind !== staticCall) {
      json.constant(member.value)
      json.quantity(value)
    }
    json.text(`,"type":"${opcodeNames[kind]}"}`)
  }

  #writeLogs(logs: readonly CallLog[]): void {
    const { json } = this.#output
    json.text(',"logs":[')
    for (const [at, { address, topics, data, index, position }] of logs.entries()) {
      json.text(at > 0 ? ',{"address":' : '{"address":')
      json.hex(address)
      json.text(',"topics":[')
      for (const [place, topic] of topics.entries()) {
        if (place > 0) json.text(',')
        json.hex(topic)
      }
      json.text('],"data":')
      json.hex(data)
      json.text(`,"index":"0x${index.toString(16)}","position":"0x${position.toString(16)}"}`)
      this.#output.flush()
    }
    json.text(']')
  }
}
