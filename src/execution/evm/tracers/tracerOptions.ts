/** Choice and options of a tracer, as plain data, and its creation. */
import type { JobWatch } from '../engine/jobWatch.js'
import { CallResult } from './callResult.js'
import { CallTracer, type CallTracerOptions } from './callTracer.js'
import { type Erc7562Options, Erc7562Tracer } from './erc7562Tracer.js'
import { FlatCallTracer, type FlatCallTracerOptions } from './flatCallTracer.js'
import { FourByteTracer } from './fourByteTracer.js'
import { type JavaScriptOptions, JavaScriptTracer } from './javascriptTracer.js'
import { KeccakPreimages } from './keccakPreimages.js'
import { MuxTracer } from './muxTracer.js'
import { OpcodeLogger, type OpcodeLoggerOptions } from './opcodeLogger.js'
import { AddressTouched, OtterscanCalls, OtterscanOperations, RevertData } from './otterscanTracers.js'
import type { ParityTracerOptions } from './parityTracer.js'
import { PrestateTracer, type PrestateTracerOptions } from './prestateTracer.js'
import { type ReplayOptions, ReplayTracer } from './replayTracer.js'
import type { Tracer } from './tracer.js'

export type TracerOptions =
  | ({ readonly tracer: 'opcodes' } & OpcodeLoggerOptions)
  | ({ readonly tracer: 'callTracer' } & CallTracerOptions)
  | ({ readonly tracer: 'flatCallTracer' } & FlatCallTracerOptions)
  | ({ readonly tracer: 'prestateTracer' } & PrestateTracerOptions)
  | ({ readonly tracer: 'erc7562Tracer' } & Erc7562Options)
  | { readonly tracer: 'keccak256PreimageTracer' }
  | ({ readonly tracer: 'javascript' } & JavaScriptOptions)
  | { readonly tracer: '4byteTracer' }
  | { readonly tracer: 'noopTracer' }
  | ({ readonly tracer: 'replay' } & ReplayOptions)
  | { readonly tracer: 'addressTouched'; readonly address: Uint8Array }
  | { readonly tracer: 'otterscanCalls' | 'otterscanOperations' | 'revertData' | 'callResult' }
  | { readonly tracer: 'muxTracer'; readonly tracers: readonly (readonly [name: string, TracerOptions])[] }

/** One list for all transactions; see parityTracer.ts. */
export type ListOptions = { readonly tracer: 'parity' } & ParityTracerOptions

export function createTracer(options: TracerOptions, watch: JobWatch): Tracer {
  switch (options.tracer) {
    case 'opcodes':
      return new OpcodeLogger(options)
    case 'callTracer':
      return new CallTracer(options)
    case 'flatCallTracer':
      return new FlatCallTracer(options)
    case 'prestateTracer':
      return new PrestateTracer(options)
    case 'erc7562Tracer':
      return new Erc7562Tracer(options)
    case 'keccak256PreimageTracer':
      return new KeccakPreimages()
    case 'javascript':
      return new JavaScriptTracer(options, watch)
    case '4byteTracer':
      return new FourByteTracer()
    case 'noopTracer':
      // go-ethereum's result is an empty object, like the result of a mux without tracers.
      return new MuxTracer([])
    case 'replay':
      return new ReplayTracer(options)
    case 'addressTouched':
      return new AddressTouched(options.address)
    case 'otterscanCalls':
      return new OtterscanCalls()
    case 'otterscanOperations':
      return new OtterscanOperations()
    case 'callResult':
      return new CallResult()
    case 'revertData':
      return new RevertData()
    case 'muxTracer':
      return new MuxTracer(options.tracers.map(([name, each]) => [name, createTracer(each, watch)]))
  }
}
