/** Options of the trace methods, with go-ethereum's names and defaults (eth/tracers/api.go). */
import type { AccountOverride, BlockOverrides } from '../../../execution/evm/messages/executionRequest.js'
import type { ListOptions, TracerOptions } from '../../../execution/evm/tracers/tracerOptions.js'
import { messageRefused } from '../../../primitives/faults.js'
import { excerpt, typeName } from '../../../primitives/jsonType.js'
import type { Param } from '../method.js'
import { blockOverrides, stateOverrides } from '../params/callParams.js'
import {
  invalidArgument,
  list,
  ObjectForm,
  objectOf,
  position,
  quantity,
  required,
  text,
} from '../params/params.js'
import { booleanSchema, nullable, type Schema, textSchema } from '../params/schema.js'
import { javaScriptTracers } from './javaScriptTracers.js'

export interface TraceConfig {
  readonly tracer: TracerOptions | ListOptions
  /** Time limit; if absent, the server's. */
  readonly timeMs?: number | undefined
}

interface TraceCallConfig extends TraceConfig {
  readonly stateOverrides: readonly AccountOverride[] | undefined
  readonly blockOverrides: BlockOverrides | undefined
  readonly txIndex: number | undefined
}

/** Tracers that `muxTracer` may combine. */
const combined: Readonly<Record<string, (config: Members, index: number) => TracerOptions>> = {
  callTracer: (config) => ({
    tracer: 'callTracer',
    onlyTopCall: config.flag('onlyTopCall'),
    withLog: config.flag('withLog'),
  }),
  flatCallTracer: (config) => ({
    tracer: 'flatCallTracer',
    convertParityErrors: config.flag('convertParityErrors'),
    includePrecompiles: config.flag('includePrecompiles'),
  }),
  prestateTracer: (config) => {
    const diffMode = config.flag('diffMode')
    const includeEmpty = config.flag('includeEmpty')
    if (diffMode && includeEmpty) throw messageRefused('cannot use diffMode with includeEmpty')
    return {
      tracer: 'prestateTracer',
      diffMode,
      includeEmpty,
      disableCode: config.flag('disableCode'),
      disableStorage: config.flag('disableStorage'),
    }
  },
  erc7562Tracer: (config, index) => ({
    tracer: 'erc7562Tracer',
    withLog: config.flag('withLog'),
    ignored: config.get('ignoredOpcodes', (value) => ignoredOpcodes(value, index)),
  }),
  keccak256PreimageTracer: () => ({ tracer: 'keccak256PreimageTracer' }),
  '4byteTracer': () => ({ tracer: '4byteTracer' }),
  noopTracer: () => ({ tracer: 'noopTracer' }),
}

function ignoredOpcodes(value: unknown, index: number): number[] {
  const opcodes = list('opcodes').decode(value, index)
  if (opcodes.length > 256) throw invalidArgument(index, 'want at most 256 opcodes')
  return opcodes.map((opcode) => position.decode(opcode, index))
}

/** Maximum length of a name or duration in an error message. */
const quotedMax = 40

/** An object, or an expression in parentheses, possibly after comments: Blockscout's tracer begins with one. */
const programPattern = /^(?:\s|\/\/[^\n]*\n|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*[{(]/

/** Maximum characters of a JavaScript tracer: the longest of go-ethereum's own has 10,000. */
const codeCharactersMax = 100_000

const anyText = text('a string')

/** Tracers for which a caller sends no code. */
export const tracerNames: readonly string[] = [
  ...Object.keys(combined),
  'muxTracer',
  ...Object.keys(javaScriptTracers),
]

const members: Readonly<Record<string, Schema>> = {
  tracer: { type: 'string' },
  tracerConfig: { type: 'object' },
  timeout: textSchema,
  reexec: { type: 'integer' },
  enableMemory: booleanSchema,
  disableStack: booleanSchema,
  disableStorage: booleanSchema,
  enableReturnData: booleanSchema,
  limit: { type: 'integer' },
}
const callMembers = {
  stateOverrides: stateOverrides.schema,
  blockOverrides: blockOverrides.schema,
  txIndex: textSchema,
}

function schemaOf(title: string, properties: Readonly<Record<string, Schema>>): Schema {
  const each = Object.entries(properties).map(([name, schema]) => [name, nullable(schema)])
  return { type: 'object', title, properties: Object.fromEntries(each) }
}

const optionsForm = new ObjectForm('an object for trace options', [
  ...Object.keys(members),
  ...Object.keys(callMembers),
])

/** Options of a trace. Throws FaultError InvalidArgument, and MessageRefused for an unknown tracer. */
export const traceConfig: Param<TraceConfig> = required(
  (value, index) => decodeConfig(new Members(value, index, optionsForm), index),
  schemaOf('trace options', members),
)

export const traceCallConfig: Param<TraceCallConfig> = required(
  (value, index) => {
    const config = new Members(value, index, optionsForm)
    const txIndex = config.get('txIndex', quantity({ bits: 32 }).decode)
    return {
      ...decodeConfig(config, index),
      stateOverrides: config.get('stateOverrides', stateOverrides.decode),
      blockOverrides: config.get('blockOverrides', blockOverrides.decode),
      txIndex: txIndex === undefined ? undefined : Number(txIndex),
    }
  },
  schemaOf('trace options', { ...members, ...callMembers }),
)

function decodeConfig(config: Members, index: number): TraceConfig {
  const name = config.get('tracer', anyText.decode)
  const timeout = config.get('timeout', anyText.decode)
  const tracer =
    name === undefined || name === ''
      ? opcodeLogger(config)
      : namedTracer(name, config.get('tracerConfig', (value) => value) ?? {}, index)
  return { tracer, timeMs: timeout === undefined ? undefined : parseDuration(timeout) }
}

function opcodeLogger(config: Members): TracerOptions {
  return {
    tracer: 'opcodes',
    enableMemory: config.flag('enableMemory'),
    disableStack: config.flag('disableStack'),
    disableStorage: config.flag('disableStorage'),
    enableReturnData: config.flag('enableReturnData'),
    limit: config.get('limit', decodeLimit) ?? 0,
  }
}

function namedTracer(name: string, config: unknown, index: number): TracerOptions {
  if (name === 'muxTracer') {
    const each = Object.entries(objectOf(config, index, 'an object for a tracerConfig'))
    return {
      tracer: 'muxTracer',
      tracers: each.map(([inner, own]) => [inner, innerTracer(inner, own, index)]),
    }
  }
  const code = (Object.hasOwn(javaScriptTracers, name) ? javaScriptTracers[name] : name) ?? name
  if (programPattern.test(code)) {
    if (code.length > codeCharactersMax) {
      throw invalidArgument(index, `want a tracer of at most ${codeCharactersMax} characters`)
    }
    return { tracer: 'javascript', code, config: JSON.stringify(config) }
  }
  return innerTracer(name, config, index)
}

/** The members of all built-in tracers. */
const tracerForm = new ObjectForm('an object for a tracerConfig', [
  'onlyTopCall',
  'withLog',
  'convertParityErrors',
  'includePrecompiles',
  'diffMode',
  'includeEmpty',
  'disableCode',
  'disableStorage',
  'ignoredOpcodes',
])

function innerTracer(name: string, config: unknown, index: number): TracerOptions {
  const make = Object.hasOwn(combined, name) ? combined[name] : undefined
  if (make === undefined) {
    throw messageRefused(
      `tracer ${JSON.stringify(excerpt(name, quotedMax))} is not known: write one in JavaScript, which begins with {, where the network runs such, or choose one of ${tracerNames.join(', ')}`,
    )
  }
  return make(new Members(config ?? {}, index, tracerForm), index)
}

function decodeLimit(value: unknown, index: number): number {
  if (!Number.isSafeInteger(value)) throw invalidArgument(index, 'want an integer for limit')
  return Math.max(value as number, 0)
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}

/** A duration in Go's format, such as `1m30s`. */
function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g)]
  if (text === '0') return 0
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) {
    throw messageRefused(`time: invalid duration ${JSON.stringify(excerpt(text, quotedMax))}`)
  }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitMs[unit as string] as number), 0)
}

/** The members of a JSON object; null counts as absent. */
export class Members {
  readonly #members: Readonly<Record<string, unknown>>
  readonly #index: number

  constructor(value: unknown, index: number, form: ObjectForm) {
    this.#members = form.read(value, index)
    this.#index = index
  }

  get<T>(name: string, decode: (value: unknown, index: number) => T): T | undefined {
    const value = this.#members[name]
    return value === undefined || value === null ? undefined : decode(value, this.#index)
  }

  flag(name: string): boolean {
    return (
      this.get(name, (value, index) => {
        if (typeof value !== 'boolean') {
          throw invalidArgument(index, `want a boolean for ${name}, got ${typeName(value)}`)
        }
        return value
      }) ?? false
    )
  }
}

/** Without options: go-ethereum's opcode logger. */
export const plainTrace: TraceConfig = { tracer: opcodeLogger(new Members({}, 0, optionsForm)) }
export const plainTraceCall: TraceCallConfig = {
  ...plainTrace,
  stateOverrides: undefined,
  blockOverrides: undefined,
  txIndex: undefined,
}
