/**
 * go-ethereum's `flatCallTracer` (eth/tracers/native/call_flat.go): the calls of a transaction as a list, in the form
 * of Parity's `trace_` methods.
 */
import type { JsonBytes } from '../../primitives/jsonBytes.js'
import { opcodeNames } from '../opcodeNames.js'
import { type Call, CallFrames, create2, goText, isCreation, selfdestruct, staticCall } from './callFrames.js'
import type {
  FrameEnd,
  TracedFrame,
  TracedTransaction,
  TraceOutput,
  Tracer,
  TransactionPlace,
} from './tracer.js'

export interface FlatCallTracerOptions {
  /** Whether errors have Parity's texts. */
  readonly convertParityErrors: boolean
  /** Whether calls of precompiled contracts are listed. */
  readonly includePrecompiles: boolean
}

const callOpcode = 0xf1

export class FlatCallTracer implements Tracer {
  readonly opcodes = []
  readonly #options: FlatCallTracerOptions
  readonly #frames = new CallFrames()
  #transaction!: TracedTransaction
  #output!: TraceOutput

  constructor(options: FlatCallTracerOptions) {
    this.#options = options
  }

  begin(transaction: TracedTransaction, output: TraceOutput): void {
    this.#frames.begin(output)
    this.#transaction = transaction
    this.#output = output
  }

  enter(frame: TracedFrame): void {
    this.#frames.enter(frame)
  }

  exit(end: FrameEnd): void {
    this.#frames.exit(end)
  }

  end(gasUsed: bigint): void {
    const { top } = this.#frames
    top.gas = this.#transaction.gasLimit
    top.gasUsed = gasUsed
    const { json } = this.#output
    json.text('[')
    const { place, isPrecompile } = this.#transaction
    const { includePrecompiles } = this.#options
    let count = 0
    for (const each of flatCalls(top, includePrecompiles, isPrecompile)) {
      if (count++ > 0) json.text(',')
      writeFlatCall(json, each, place, () => this.#writeOutcome(each.call))
      this.#output.flush()
    }
    json.text(']')
  }

  #writeOutcome(call: Call): void {
    const { failure, kind } = call
    const { json } = this.#output
    if (failure !== undefined) {
      json.text(
        `,"error":${goText(this.#options.convertParityErrors ? parityError(failure.why) : failure.why)}`,
      )
    }
    if (kind !== selfdestruct && (failure === undefined || failure.kind === 'reverted'))
      writeResult(json, call)
  }
}

/** A call of a list. */
export interface FlatCall {
  readonly call: Call
  /** Number of its own calls, and the indices that lead to it from the outermost call. */
  readonly subtraces: number
  readonly address: readonly number[]
}

/** A call and those within it, each before its own. Calls of precompiled contracts are left out if so asked. */
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

/** Writes a call of a transaction; `writeOutcome` writes its members `error` and `result`. */
export function writeFlatCall(
  json: JsonBytes,
  { call, subtraces, address }: FlatCall,
  place: TransactionPlace | undefined,
  writeOutcome: () => void,
): void {
  writeAction(json, call)
  json.text(',"blockHash":')
  writeHash(json, place?.blockHash)
  json.text(`,"blockNumber":${place?.blockNumber ?? 0}`)
  writeOutcome()
  json.text(`,"subtraces":${subtraces},"traceAddress":[${address.join()}],"transactionHash":`)
  writeHash(json, place?.hash)
  json.text(`,"transactionPosition":${place?.index ?? 0},"type":"${flatType(call)}"}`)
}

function flatType(call: Call): string {
  return call.kind === selfdestruct ? 'suicide' : isCreation(call) ? 'create' : 'call'
}

/** Opens a call with its member `action`. */
function writeAction(json: JsonBytes, call: Call): void {
  json.text('{"action":{')
  if (call.kind === selfdestruct) writeSelfdestruct(json, call)
  else if (isCreation(call)) writeCreation(json, call)
  else writeCall(json, call)
  json.text('}')
}

function writeHash(json: JsonBytes, hash: Uint8Array | undefined): void {
  if (hash === undefined) json.text('null')
  else json.hex(hash)
}

function writeSelfdestruct(json: JsonBytes, { from, to, value }: Call): void {
  json.text('"address":')
  json.hex(from)
  json.text(',"balance":')
  json.quantity(value)
  json.text(',"refundAddress":')
  json.hex(to as Uint8Array)
}

function writeCreation(json: JsonBytes, { kind, from, gas, input, value }: Call): void {
  json.text(`"creationMethod":"${kind === create2 ? 'create2' : 'create'}","from":`)
  json.hex(from)
  json.text(',"gas":')
  json.quantity(gas)
  json.text(',"init":')
  json.hex(input)
  json.text(',"value":')
  json.quantity(value)
}

function writeCall(json: JsonBytes, { kind, from, to, gas, input, value }: Call): void {
  json.text(`"callType":"${opcodeNames[kind]?.toLowerCase()}","from":`)
  json.hex(from)
  json.text(',"gas":')
  json.quantity(gas)
  json.text(',"input":')
  json.hex(input)
  json.text(',"to":')
  json.hex(to as Uint8Array)
  json.text(',"value":')
  json.quantity(value)
}

export function writeResult(json: JsonBytes, call: Call): void {
  const { to, gasUsed, output } = call
  json.text(',"result":{')
  if (isCreation(call)) {
    if (to !== undefined) {
      json.text('"address":')
      json.hex(to)
      json.text(',')
    }
    json.text('"code":')
    json.hex(output)
    json.text(',"gasUsed":')
    json.quantity(gasUsed)
  } else {
    json.text('"gasUsed":')
    json.quantity(gasUsed)
    json.text(',"output":')
    json.hex(output)
  }
  json.text('}')
}

/** By the beginning of go-ethereum's text. */
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

/** Parity's text for one of go-ethereum's. */
export function parityError(why: string): string {
  return parityErrors.find(([start]) => why.startsWith(start))?.[1] ?? why
}
