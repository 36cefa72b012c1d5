/** Questions to the tracers, with the options that each has. */
import type { Dice } from '../library/property.js'
import type { Question } from './endpoint.js'
import { type Facts, quantity } from './facts.js'

/** Tracers by name, with the settings of each; the one without a name is the opcode logger. */
const settings: readonly object[] = [
  { tracer: 'callTracer' },
  { tracer: 'callTracer', tracerConfig: { withLog: true } },
  { tracer: 'callTracer', tracerConfig: { onlyTopCall: true, withLog: true } },
  { tracer: 'prestateTracer' },
  { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
  { tracer: 'prestateTracer', tracerConfig: { disableCode: true, disableStorage: true } },
  { tracer: 'prestateTracer', tracerConfig: { includeEmpty: true } },
  { tracer: 'flatCallTracer' },
  { tracer: 'flatCallTracer', tracerConfig: { convertParityErrors: true, includePrecompiles: true } },
  { tracer: '4byteTracer' },
  { tracer: 'noopTracer' },
  {
    tracer: 'muxTracer',
    tracerConfig: { callTracer: { withLog: true }, '4byteTracer': null, prestateTracer: {} },
  },
  {},
  { enableMemory: true, enableReturnData: true },
  { disableStack: true, disableStorage: true },
  { limit: 7 },
]

export function tracerOptions(dice: Dice): object {
  return settings[dice.throw(settings.length)] as object
}

/** Number of transactions of one block that are traced one by one. */
const tracedOfBlock = 3

/** Each block with every tracer, and some transactions with some; the state before a block is needed. */
export function traceQuestions({ withState, blocks }: Facts, dice: Dice): Question[] {
  const stored = new Set(withState.map(({ number }) => number))
  const traced = blocks.filter(({ number, transactions }) => stored.has(number) && transactions.length > 0)
  const [first] = blocks
  return [
    ...traced.flatMap(({ number, hash, transactions }) => [
      ...settings.map((options, at) =>
        at % 2 === 0
          ? { method: 'debug_traceBlockByNumber', params: [quantity(number), options] }
          : { method: 'debug_traceBlockByHash', params: [hash, options] },
      ),
      ...transactions.slice(0, tracedOfBlock).map((transaction) => ({
        method: 'debug_traceTransaction',
        params: [transaction.hash, tracerOptions(dice)],
      })),
      { method: 'debug_intermediateRoots', params: [hash] },
    ]),
    ...(first === undefined ? [] : [{ method: 'debug_traceBlockByNumber', params: ['0x0', {}] }]),
    { method: 'debug_traceTransaction', params: [`0x${'12'.repeat(32)}`, {}] },
    { method: 'debug_traceBlockByNumber', params: [quantity(2 ** 40), { tracer: 'callTracer' }] },
    { method: 'debug_traceCall', params: [{}, 'latest', { tracer: 'nothing' }] },
  ]
}
