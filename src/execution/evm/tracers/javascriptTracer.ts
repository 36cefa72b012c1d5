/**
 * Tracers that callers write in JavaScript, with go-ethereum's interface (eth/tracers/js/goja.go). Owns when which of
 * their functions is called; javascriptPrelude.ts owns what they see, javascriptEngine.ts what they may use.
 */
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core'
import { hexDigits, hexToBytes } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { opcodeNames, staticCall } from '../engine/opcodeNames.js'
import { creationAddress } from '../transactions/creationAddress.js'
import { keep, openContext } from './javascriptEngine.js'
import { prelude } from './javascriptPrelude.js'
import { type FrameEnd, type TracedFrame, TransactionTracer } from './tracer.js'

export interface JavaScriptOptions {
  /** An expression whose value is the object with the functions. */
  readonly code: string
  /** JSON for its function `setup`. */
  readonly config: string
}

const reverting = 0xfd

/** An instruction that is told once its cost is known: then the state is still as before it. */
interface Pending {
  readonly told: readonly number[]
  readonly gas: bigint
  readonly stack: readonly bigint[]
  readonly memory: Uint8Array
  readonly contract: object
}

type Name = 'step' | 'fault' | 'enter' | 'exit' | 'result'

export class JavaScriptTracer extends TransactionTracer {
  override readonly opcodes = 'all'
  readonly #options: JavaScriptOptions
  readonly #watch: JobWatch
  readonly #readsStack: boolean
  readonly #readsMemory: boolean
  #context!: QuickJSContext
  #functions!: Readonly<Record<Name, QuickJSHandle>>
  #hasStep = false
  #hasFrames = false
  #pending: Pending | undefined
  /** What was told last, for a fault of it. */
  #last: Pending | undefined
  #hasFaulted = false
  readonly #frames: TracedFrame[] = []
  #outermost: TracedFrame | undefined
  #end: FrameEnd | undefined

  constructor(options: JavaScriptOptions, watch: JobWatch) {
    super()
    this.#options = options
    this.#watch = watch
    // Copied for each instruction, so only where the source may look at them.
    this.#readsStack = /stack|\[/.test(options.code)
    this.#readsMemory = /memory|\[/.test(options.code)
  }

  protected override begun(): void {
    const context = openContext(() => {
      try {
        this.#watch.look()
        return false
      } catch {
        return true
      }
    })
    this.#context = context
    const string = (text: string) => context.newString(text)
    const number = (handle: QuickJSHandle) => context.getNumber(handle)
    const host = [
      context.newFunction('peek', (at) => string((this.#last?.stack[number(at)] ?? 0n).toString(16))),
      context.newFunction('memory', (start, end) => string(this.#memoryAt(number(start), number(end)))),
      context.newFunction('ask', (kind, address, rest) =>
        string(this.#answer(context.getString(kind), context.getString(address), context.getString(rest))),
      ),
      context.newFunction('evaluate', () => context.evalCode(`(${this.#options.code}\n)`, 'tracer.js')),
      string(this.#options.config),
    ].map((handle) => keep(context, handle))
    const make = keep(context, this.#taken(context.evalCode(prelude, 'prelude.js'), undefined))
    const api = keep(context, this.#taken(context.callFunction(make, context.undefined, ...host), undefined))
    const member = (name: string) => keep(context, context.getProp(api, name))
    const names: readonly Name[] = ['step', 'fault', 'enter', 'exit', 'result']
    this.#functions = Object.fromEntries(names.map((name) => [name, member(name)])) as Record<
      Name,
      QuickJSHandle
    >
    this.#hasStep = context.dump(member('hasStep'))
    this.#hasFrames = context.dump(member('hasFrames'))
  }

  step(step: KernelStep): void {
    this.#tellStep(step.gas, undefined)
    const { opcode, pc, gas, depth, stackWords, memoryBytes } = step
    const frame = this.#frames.at(-1) as TracedFrame
    this.#pending = {
      told: [opcode, pc, Number(gas), 0, depth + 1, 0, stackWords, memoryBytes],
      gas,
      stack: this.#readsStack ? Array.from({ length: stackWords }, (_, at) => step.stackWord(at)) : [],
      memory: this.#readsMemory ? step.memory.slice() : new Uint8Array(0),
      contract: {
        caller: hexDigits(frame.from),
        address: hexDigits(step.address),
        value: frame.value.toString(16),
        input: hexDigits(frame.input),
      },
    }
  }

  cost(gasLeft: bigint): void {
    this.#tellStep(gasLeft, undefined)
  }

  /** Of an instruction that did not begin `step` is told; `fault` of one that failed while it ran, once it is known why. */
  fault(cost: bigint, refusal: string | undefined): void {
    this.#hasFaulted = refusal === undefined || this.#pending === undefined
    const gas = this.#pending?.gas ?? 0n
    this.#tellStep(gas - cost, refusal)
  }

  enter(frame: TracedFrame): void {
    const { depth, kind, from, to, value, input, gas } = frame
    const kept = { ...frame, input: input.slice() }
    this.#frames.push(kept)
    if (depth === 0) this.#outermost = kept
    if (depth === 0 || !this.#hasFrames) return
    const type = opcodeNames[kind]
    const own = { type, from: hexDigits(from), to: hexDigits(to), input: hexDigits(input), gas: Number(gas) }
    const sent = kind === staticCall ? {} : { value: value.toString(16) }
    this.#call('enter', { ...own, ...sent })
  }

  exit(end: FrameEnd): void {
    const { depth, gasUsed, output, failure } = end
    this.#tellStep(this.#pending?.gas ?? 0n, undefined)
    const last = this.#last
    const error = failure === undefined ? {} : { error: failure.why }
    const isReverted = failure?.kind === 'reverted' && last?.told[0] === reverting
    if (last !== undefined && (this.#hasFaulted || isReverted))
      this.#call('fault', { s: last.told, ...error })
    this.#hasFaulted = false
    this.#last = undefined
    this.#frames.pop()
    if (depth === 0) this.#end = { ...end, output: output.slice() }
    else if (this.#hasFrames)
      this.#call('exit', { gasUsed: Number(gasUsed), output: hexDigits(output), ...error })
  }

  end(gasUsed: bigint): void {
    const { sender, target, isCreation, gasLimit, gasPrice, blockNumber, coinbase, place } = this.transaction
    const { output, failure } = this.#end as FrameEnd
    const { input, value } = this.#outermost as TracedFrame
    const ctx = {
      type: isCreation ? 'CREATE' : 'CALL',
      from: hexDigits(sender),
      to: hexDigits(target),
      input: hexDigits(input),
      output: hexDigits(output),
      ...{ gas: Number(gasLimit), gasUsed: Number(gasUsed), block: Number(blockNumber) },
      ...{ value: value.toString(16), gasPrice: gasPrice.toString(16), coinbase: hexDigits(coinbase) },
      ...(failure === undefined ? {} : { error: failure.why }),
      ...(place && {
        blockHash: hexDigits(place.blockHash),
        txHash: hexDigits(place.hash),
        txIndex: place.index,
      }),
    }
    const json = Buffer.from(this.#call('result', ctx))
    this.hold(json.length)
    this.output.json.raw(json)
  }

  #tellStep(gasLeft: bigint, error: string | undefined): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    // With the instruction's own refund, which go-ethereum counts with the cost.
    const { refund } = this.transaction.state
    const told = pending.told.with(3, Number(pending.gas - gasLeft)).with(5, Number(refund))
    this.#last = { ...pending, told }
    if (this.#hasStep)
      this.#call('step', { s: told, contract: pending.contract, ...(error === undefined ? {} : { error }) })
  }

  #call(name: Name, argument: object): string {
    const context = this.#context
    const text = context.newString(JSON.stringify(argument))
    const result = context.callFunction(this.#functions[name], context.undefined, text)
    text.dispose()
    const value = this.#taken(result, name)
    const said = name === 'result' ? context.getString(value) : ''
    value.dispose()
    return said
  }

  /** The value of a run. Throws FaultError: MessageRefused with what the tracer threw, ExecutionTimedOut. */
  #taken(result: ReturnType<QuickJSContext['evalCode']>, name: Name | undefined): QuickJSHandle {
    if (result.error === undefined) return result.value
    this.#watch.look()
    const thrown = this.#context.dump(result.error)
    result.error.dispose()
    const isError = typeof thrown === 'object' && thrown !== null && 'message' in thrown
    const why = isError
      ? thrown.name === 'Error'
        ? thrown.message
        : `${thrown.name}: ${thrown.message}`
      : String(thrown)
    const text = why.slice(0, 1_000)
    throw messageRefused(name === undefined ? text : `${text}    in server-side tracer function '${name}'`)
  }

  /** Digits of memory, zeros beyond its end. */
  #memoryAt(start: number, end: number): string {
    const memory = this.#last?.memory ?? new Uint8Array(0)
    const held = hexDigits(memory.subarray(Math.min(start, memory.length), Math.min(end, memory.length)))
    return held.padEnd((end - start) * 2, '0')
  }

  #answer(kind: string, digits: string, rest: string): string {
    const { state, isPrecompile } = this.transaction
    const address = hexToBytes(digits)
    switch (kind) {
      case 'balance':
        return state.account(address).balance.toString(16)
      case 'nonce':
        return state.account(address).nonce.toString(16)
      case 'code':
        return hexDigits(state.account(address).code)
      case 'slot':
        return hexDigits(state.slot(address, hexToBytes(rest)))
      case 'exists':
        return state.account(address).exists ? '1' : '0'
      case 'precompile':
        return isPrecompile(address) ? '1' : '0'
      case 'contract':
        return hexDigits(creationAddress(address, BigInt(rest)))
      default: {
        const [salt, code] = [hexToBytes(rest.slice(0, 64)), hexToBytes(rest.slice(64))]
        return hexDigits(
          keccak256(Buffer.concat([Uint8Array.of(0xff), address, salt, keccak256(code)])).subarray(12),
        )
      }
    }
  }
}
