/**
 * go-ethereum's `flatCallTracer` (eth/tracers/native/call_flat.go): the calls of a transaction as a list, in the form
 * of Parity's `trace_` methods.
 */
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import {
  call as callOpcode,
  create2,
  isCreation,
  opcodeNames,
  selfdestruct,
  staticCall,
} from '../engine/opcodeNames.js'
import { type Call, CallTreeTracer, goText } from './callFrames.js'
import type { TransactionPlace } from './tracer.js'

export interface FlatCallTracerOptions {
  /** Whether errors have Parity's texts. */
  readonly convertParityErrors: boolean
  /** Whether calls of precompiled contracts are listed. */
  readonly includePrecompiles: boolean
}

export class FlatCallTracer extends CallTreeTracer {
  readonly #options: FlatCallTracerOptions

  constructor(options: FlatCallTracerOptions) {
    super()
    this.#options = options
  }

  end(gasUsed: bigint): void {
    const { top } = this
    const { gasLimit, place, isPrecompile } = this.transaction
    top.gas = gasLimit
    top.gasUsed = gasUsed
    this.writeAll('[]', flatCalls(top, this.#options.includePrecompiles, isPrecompile), (each) =>
      writeFlatCall(this.output.json, each, place, () => this.#writeOutcome(each.call)),
    )
  }

  #writeOutcome(call: Call): void {
    const { failure, kind } = call
    const { json } = this.output
    const { convertParityErrors } = this.#options
    const why = failure && (convertParityErrors ? parityError(failure.why) : failure.why)
    if (why !== undefined) json.put`,"error":${goText(why)}`
    if (kind !== selfdestruct && (failure === undefined || failure.kind === 'reverted'))
      writeResult(json, call)
  }
}

interface FlatCall {
  readonly call: Call
  /** Number of its own calls, and the path of indices from the outermost call to it. */
  readonly subtraces: number
  readonly address: readonly number[]
}

/**
 * A call and its inner calls, in depth-first order. Without `withPrecompiles`, calls of precompiled contracts are left
 * out.
 */
export function* flatCalls(
  call: Call,
  withPrecompiles: boolean,
  isPrecompile: (address: Uint8Array) => boolean,
  address: readonly number[] = [],
): Generator<FlatCall> {
  const inner = call.calls.filter(
    ({ kind, to }) =>
      withPrecompiles ||
      (kind !== callOpcode && kind !== staticCall) ||
      to === undefined ||
      !isPrecompile(to),
  )
  yield { call, subtraces: inner.length, address }
  for (const [index, each] of inner.entries()) {
    yield* flatCalls(each, withPrecompiles, isPrecompile, [...address, index])
  }
}

/**
 * Writes a call of a transaction; `writeOutcome` writes its members `error` and `result`. `place` is undefined for a
 * message, and `none` for forms that never have one.
 */
export function writeFlatCall(
  json: JsonBytes,
  { call, subtraces, address }: FlatCall,
  place: TransactionPlace | undefined | 'none',
  writeOutcome: () => void,
): void {
  json.put`{"action":{`
  if (call.kind === selfdestruct) writeSelfdestruct(json, call)
  else if (isCreation(call)) writeCreation(json, call)
  else writeCall(json, call)
  json.text('}')
  if (place !== 'none') json.put`,"blockHash":${place?.blockHash},"blockNumber":${place?.blockNumber ?? 0}`
  writeOutcome()
  json.put`,"subtraces":${subtraces},"traceAddress":[${address.join()}]`
  if (place !== 'none') json.put`,"transactionHash":${place?.hash},"transactionPosition":${place?.index ?? 0}`
  json.put`,"type":"${flatType(call)}"}`
}

function flatType(call: Call): string {
  return call.kind === selfdestruct ? 'suicide' : isCreation(call) ? 'create' : 'call'
}

function writeSelfdestruct(json: JsonBytes, { from, to, value }: Call): void {
  json.put`"address":${from},"balance":${value},"refundAddress":${to}`
}

function writeCreation(json: JsonBytes, { kind, from, gas, input, value }: Call): void {
  const method = kind === create2 ? 'create2' : 'create'
  json.put`"creationMethod":"${method}","from":${from},"gas":${gas},"init":${input},"value":${value}`
}

function writeCall(json: JsonBytes, { kind, from, to, gas, input, value }: Call): void {
  const type = opcodeNames[kind]?.toLowerCase()
  json.put`"callType":"${type}","from":${from},"gas":${gas},"input":${input},"to":${to},"value":${value}`
}

export function writeResult(json: JsonBytes, call: Call): void {
  const { to, gasUsed, output } = call
  json.put`,"result":{`
  if (!isCreation(call)) json.put`"gasUsed":${gasUsed},"output":${output}}`
  else {
    if (to !== undefined) json.put`"address":${to},`
    json.put`"code":${output},"gasUsed":${gasUsed}}`
  }
}

/** Errors by the first characters of go-ethereum's text. */
const parityErrors: readonly (readonly [start: string, text: string])[] = [
  ['contract creation code storage out of gas', 'Out of gas'],
  ['out of gas', 'Out of gas'],
  ['gas uint64 overflow', 'Out of gas'],
  ['max code size exceeded', 'Out of gas'],
  ['invalid jump destination', 'Bad jump destination'],
  ['execution reverted', 'Reverted'],
  ['return data out of bounds', 'Out of bounds'],
  ['stack limit reached', 'Out of stack'],
  ['precompiled failed', 'Built-in failed'],
  ['invalid input length', 'Built-in failed'],
  ['invalid opcode:', 'Bad instruction'],
  ['stack underflow', 'Stack underflow'],
]

/** Parity's text for go-ethereum's. */
export function parityError(why: string): string {
  return parityErrors.find(([start]) => why.startsWith(start))?.[1] ?? why
}
