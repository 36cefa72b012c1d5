/** Messages traced at any fork, by all tracers: each fork has a chain of its genesis alone. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { type ForkName, includesFork } from '../../../../src/data/chain/forks.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import type { AccountOverride, CallMessage } from '../../../../src/execution/evm/messages/executionRequest.js'
import { loadJavaScript } from '../../../../src/execution/evm/tracers/javascriptEngine.js'
import type { TracerOptions } from '../../../../src/execution/evm/tracers/tracerOptions.js'
import { Tracing } from '../../../../src/execution/evm/tracers/tracing.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { testGenesis } from '../../../ingest/chainMaker.js'

/** Forks that changed the effect of code, with the members of `config` that they add. */
const forkMembers = {
  chainstart: { ethash: {} },
  homestead: { homesteadBlock: 0 },
  tangerineWhistle: { eip150Block: 0 },
  spuriousDragon: { eip155Block: 0, eip158Block: 0 },
  byzantium: { byzantiumBlock: 0 },
  constantinople: { constantinopleBlock: 0, petersburgBlock: 1_000 },
  petersburg: { petersburgBlock: 0 },
  istanbul: { istanbulBlock: 0 },
  berlin: { berlinBlock: 0 },
  london: { londonBlock: 0 },
  paris: { mergeNetsplitBlock: 0, terminalTotalDifficulty: 0 },
  shanghai: { shanghaiTime: 0 },
  cancun: { cancunTime: 0 },
  prague: { pragueTime: 0 },
  osaka: { osakaTime: 0 },
  amsterdam: { amsterdamTime: 0 },
} satisfies Partial<Record<ForkName, object>>

export const tracedForks = Object.keys(forkMembers) as (keyof typeof forkMembers)[]
const blobs = { target: 3, max: 6, baseFeeUpdateFraction: 3338477 }

function genesisOf(fork: ForkName): string {
  const members = tracedForks.filter((name) => includesFork(fork, name)).map((name) => forkMembers[name])
  const config = Object.assign({}, ...members, { blobSchedule: { cancun: blobs, prague: blobs } })
  const difficulty = includesFork(fork, 'paris') ? '0x0' : '0x20000'
  return JSON.stringify(testGenesis(config, { difficulty, gasLimit: '0x1c9c380' }))
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of a trace, in which tests look for anything.
export type Json = any

/** An instruction as the opcode logger and the tracer in JavaScript report it. */
export interface ReportedStep {
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
  readonly refund?: number
  readonly error?: string
  readonly stack: readonly string[]
  readonly memory?: readonly string[]
}

export interface ReportedFault {
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
  readonly refund: number
  readonly error: string
}

/** A call as tracers in JavaScript get it. */
export interface ReportedCall {
  readonly type: string
  readonly from: string
  readonly to: string
  readonly value: string | undefined
  readonly gas: number
  readonly input: string
  gasUsed: number
  output: string
  error: string | undefined
  readonly calls: ReportedCall[]
}

/** Each instruction, in the form of the opcode logger. */
const stepTracer = `{
  list: [],
  hex: function (word) { return '0x' + word.toString(16) },
  step: function (log, db) {
    var stack = [], memory = []
    for (var at = log.stack.length() - 1; at >= 0; at--) stack.push(this.hex(log.stack.peek(at)))
    for (var from = 0; from < log.memory.length(); from += 32) memory.push(toHex(log.memory.slice(from, from + 32)))
    var told = { pc: log.getPC(), op: log.op.toString(), gas: log.getGas(), gasCost: log.getCost(), depth: log.getDepth() }
    if (log.getError() !== undefined) told.error = log.getError()
    told.stack = stack
    if (memory.length > 0) told.memory = memory
    if (log.getRefund() !== 0) told.refund = log.getRefund()
    this.list.push(told)
  },
  fault: function () {},
  result: function (ctx) { return { list: this.list, output: toHex(ctx.output), error: ctx.error, gasUsed: ctx.gasUsed } },
}`

const faultTracer = `{
  list: [],
  step: function () {},
  fault: function (log, db) {
    this.list.push({
      pc: log.getPC(), op: log.op.toString(), gas: log.getGas(), gasCost: log.getCost(), depth: log.getDepth(),
      refund: log.getRefund(), error: log.getError(),
    })
  },
  result: function () { return this.list },
}`

const frameTracer = `{
  open: [{ calls: [] }],
  enter: function (frame) {
    var value = frame.getValue()
    var call = {
      type: frame.getType(), from: toHex(frame.getFrom()), to: toHex(frame.getTo()), gas: frame.getGas(),
      value: value === undefined ? undefined : '0x' + value.toString(16), input: toHex(frame.getInput()), calls: [],
    }
    this.open[this.open.length - 1].calls.push(call)
    this.open.push(call)
  },
  exit: function (result) {
    var call = this.open.pop()
    call.gasUsed = result.getGasUsed()
    call.output = toHex(result.getOutput())
    call.error = result.getError()
  },
  fault: function () {},
  result: function () { return this.open[0].calls },
}`

const javascript = (code: string) => ({ tracer: 'javascript', code, config: '{}' }) as const
const opcodes = {
  tracer: 'opcodes',
  enableMemory: true,
  disableStack: false,
  disableStorage: false,
  enableReturnData: true,
  limit: 0,
} as const
const prestate = { disableCode: false, disableStorage: false } as const

/** Tracers that write their results at the end, so that they can run at once. */
const atEnd: readonly (readonly [name: string, TracerOptions])[] = [
  ['calls', { tracer: 'callTracer', onlyTopCall: false, withLog: true }],
  ['diff', { tracer: 'prestateTracer', diffMode: true, includeEmpty: false, ...prestate }],
  ['erc7562', { tracer: 'erc7562Tracer', withLog: true, ignored: [] }],
  ['faults', javascript(faultTracer)],
  ['flat', { tracer: 'flatCallTracer', convertParityErrors: false, includePrecompiles: true }],
  ['frames', javascript(frameTracer)],
  ['prestate', { tracer: 'prestateTracer', diffMode: false, includeEmpty: true, ...prestate }],
  ['steps', javascript(stepTracer)],
]

/** The reports of all tracers about one message. */
export interface Traces {
  readonly opcodes: {
    readonly structLogs: readonly ReportedStep[]
    readonly failed: boolean
    readonly gas: number
    readonly returnValue: string
  }
  readonly calls: Json
  readonly diff: Json
  readonly erc7562: Json
  readonly faults: readonly ReportedFault[]
  readonly flat: Json
  readonly frames: readonly ReportedCall[]
  readonly prestate: Json
  readonly steps: {
    readonly list: readonly ReportedStep[]
    readonly output: string
    readonly error?: string
    readonly gasUsed: number
  }
  readonly replay: Json
}

export class TracedChains {
  readonly #t: Test
  readonly #chains = new Map<ForkName, { tracing: Tracing; hash: Uint8Array }>()

  private constructor(t: Test) {
    this.#t = t
  }

  static async open(t: Test): Promise<TracedChains> {
    t.testdir()
    await loadJavaScript()
    return new TracedChains(t)
  }

  #chain(fork: ForkName) {
    const known = this.#chains.get(fork)
    if (known !== undefined) return known
    const { identity, blockDiff } = parseGenesis(genesisOf(fork))
    const store = ChainWriter.openForWriting({
      path: join(this.#t.testdirName, `${fork}.mdb`),
      mapBytes: 2 ** 26,
    })
    this.#t.teardown(() => store.close())
    store.initialize(identity, blockDiff)
    const limits = { timeMsMax: 60_000, memoryBytesMax: 2 ** 28, answerBytesMax: 2 ** 28 }
    const made = { tracing: new Tracing(store, limits), hash: store.head.hash.slice() }
    this.#chains.set(fork, made)
    return made
  }

  /** The result of one tracer. */
  trace(
    fork: ForkName,
    message: Partial<CallMessage>,
    stateOverrides: readonly AccountOverride[],
    tracer: TracerOptions,
  ): Json {
    const { tracing, hash } = this.#chain(fork)
    const block = { number: 0, hash, isPending: false }
    const call = { message: { value: 0n, data: new Uint8Array(0), ...message } }
    const bundles = [{ calls: [call] }]
    const gasMax = 10n ** 12n
    const subject = { kind: 'calls', block, stateOverrides, bundles, gasMax, form: 'one' } as const
    const parts: Uint8Array[] = []
    parts.push(
      tracing.trace(
        { subject, tracer },
        () => false,
        (part) => parts.push(part.slice()),
      ),
    )
    return JSON.parse(Buffer.concat(parts).toString())
  }

  /** The arguments of `fault` of a tracer in JavaScript. */
  traceFaults(
    fork: ForkName,
    message: Partial<CallMessage>,
    stateOverrides: readonly AccountOverride[],
  ): readonly ReportedFault[] {
    return this.trace(fork, message, stateOverrides, javascript(faultTracer))
  }

  traceAll(
    fork: ForkName,
    message: Partial<CallMessage>,
    stateOverrides: readonly AccountOverride[],
  ): Traces {
    const by = (tracer: TracerOptions) => this.trace(fork, message, stateOverrides, tracer)
    return {
      opcodes: by(opcodes),
      replay: by({ tracer: 'replay', trace: true, vmTrace: true, stateDiff: true, withHash: false }),
      ...by({ tracer: 'muxTracer', tracers: atEnd }),
    }
  }
}
