/**
 * Tracers that callers write in JavaScript, with go-ethereum's interface (eth/tracers/js/goja.go). Owns when which of
 * their functions is called; javascriptPrelude.ts owns the objects they get, javascriptEngine.ts their limits.
 */

import { creationAddress } from '../../../primitives/addresses.js'
import { hexDigits } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { opcodeNames, staticCall } from '../engine/opcodeNames.js'
import { type Inside, type InsideArguments, Sandbox, ThrownInside } from './javascriptEngine.js'
import { prelude } from './javascriptPrelude.js'
import { type FrameEnd, type TracedFrame, TransactionTracer } from './tracer.js'

export interface JavaScriptOptions {
  /** An expression whose value is the object with the functions. */
  readonly code: string
  /** JSON for its function `setup`. */
  readonly config: string
}

const reverting = 0xfd

/** Index of the memory's length in the record of an instruction. */
const memoryBytesAt = 7
const stackWordsMax = 1_024
/** Bytes beyond the memory's end that a tracer may read; go-ethereum's limit. */
const paddingBytesMax = 2 ** 20
/** Bytes of memory per request: more, as text and as bytes, do not fit into a sandbox. */
const sliceBytesMax = 2 ** 24
/** Limit for the code and salt of a new contract: more than any fork allows. */
const creationBytesMax = 2 ** 20
/** Digits of a nonce. */
const nonceCharactersMax = 20
/** Longest name of a kind of question. */
const kindCharactersMax = 16

/** An instruction that is reported once its cost is known; the state is still the one before it. */
interface Pending {
  readonly reported: readonly number[]
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
  #sandbox!: Sandbox
  #functions!: Readonly<Record<Name, Inside>>
  #hasStep = false
  #hasFrames = false
  #pending: Pending | undefined
  /** The last reported instruction, in case it fails. */
  #last: Pending | undefined
  #hasFaulted = false
  readonly #frames: TracedFrame[] = []
  #outermost: TracedFrame | undefined
  #end: FrameEnd | undefined

  constructor(options: JavaScriptOptions, watch: JobWatch) {
    super()
    this.#options = options
    this.#watch = watch
    // Stack and memory are copied for each instruction, so only if the source may read them.
    this.#readsStack = /stack|\[/.test(options.code)
    this.#readsMemory = /memory|\[/.test(options.code)
  }

  protected override begun(): void {
    const sandbox = this.#running(undefined, () => new Sandbox(() => this.#watch.look()))
    this.#sandbox = sandbox
    const api = this.#running(undefined, () => {
      const make = sandbox.evaluate(prelude, 'prelude.js')
      const start = sandbox.call(
        make,
        sandbox.give('peek', (args) => this.#stackAt(args.whole(0, stackWordsMax))),
        sandbox.give('memory', (args) => this.#memoryAt(args)),
        sandbox.give('ask', (args) => this.#answer(args)),
      )
      const tracer = sandbox.evaluate(`(${this.#options.code}\n)`, 'tracer.js')
      return sandbox.call(start, tracer, sandbox.text(this.#options.config))
    })
    const member = (name: string) => sandbox.member(api, name)
    const names: readonly Name[] = ['step', 'fault', 'enter', 'exit', 'result']
    this.#functions = Object.fromEntries(names.map((name) => [name, member(name)])) as Record<Name, Inside>
    this.#hasStep = sandbox.isTrue(member('hasStep'))
    this.#hasFrames = sandbox.isTrue(member('hasFrames'))
  }

  step(step: KernelStep): void {
    this.#reportStep(step.gas, undefined)
    const { opcode, pc, gas, depth, stackWords, memoryBytes } = step
    const frame = this.#frames.at(-1) as TracedFrame
    this.#pending = {
      reported: [opcode, pc, Number(gas), 0, depth + 1, 0, stackWords, memoryBytes],
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
    this.#reportStep(gasLeft, undefined)
  }

  /**
   * An instruction that did not begin is reported to `step`. One that failed while running goes to `fault`, once its
   * reason is known.
   */
  fault(cost: bigint, refusal: string | undefined): void {
    this.#hasFaulted = refusal === undefined || this.#pending === undefined
    const gas = this.#pending?.gas ?? 0n
    this.#reportStep(gas - cost, refusal)
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
    this.#reportStep(this.#pending?.gas ?? 0n, undefined)
    const last = this.#last
    const error = failure === undefined ? {} : { error: failure.why }
    const isReverted = failure?.kind === 'reverted' && last?.reported[0] === reverting
    if (last !== undefined && (this.#hasFaulted || isReverted))
      this.#call('fault', { s: last.reported, ...error })
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
      gas: Number(gasLimit),
      gasUsed: Number(gasUsed),
      block: Number(blockNumber),
      value: value.toString(16),
      gasPrice: gasPrice.toString(16),
      coinbase: hexDigits(coinbase),
      ...(failure === undefined ? {} : { error: failure.why }),
      ...(place && {
        blockHash: hexDigits(place.blockHash),
        txHash: hexDigits(place.hash),
        txIndex: place.index,
      }),
    }
    const json = Buffer.from(this.#call('result', ctx, (value) => this.#sandbox.json(value)))
    this.#sandbox.close()
    this.hold(json.length)
    this.output.json.raw(json)
  }

  #reportStep(gasLeft: bigint, error: string | undefined): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    // With the instruction's own refund, which go-ethereum adds when it computes the cost.
    const { refund } = this.transaction.state
    const reported = pending.reported.with(3, Number(pending.gas - gasLeft)).with(5, Number(refund))
    this.#last = { ...pending, reported }
    if (this.#hasStep)
      this.#call('step', {
        s: reported,
        contract: pending.contract,
        ...(error === undefined ? {} : { error }),
      })
  }

  #call(name: Name, argument: object): void
  #call<T>(name: Name, argument: object, read: (result: Inside) => T): T
  #call<T>(name: Name, argument: object, read?: (result: Inside) => T): T | undefined {
    return this.#running(name, () =>
      this.#sandbox.callWithText(this.#functions[name], JSON.stringify(argument), (result) => read?.(result)),
    )
  }

  /** Throws FaultError MessageRefused with an error that the tracer threw. Errors of host functions pass unchanged. */
  #running<T>(name: Name | undefined, work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof ThrownInside)) throw error
      // The engine reports the same error for a run that the watch ended.
      this.#watch.look()
      const where = name === undefined ? '' : `    in server-side tracer function '${name}'`
      throw messageRefused(`${error.message}${where}`)
    }
  }

  #stackAt(index: number): string {
    return (this.#last?.stack[index] ?? 0n).toString(16)
  }

  /** Hex digits of memory, zeros beyond its end. */
  #memoryAt(args: InsideArguments): string {
    const memory = this.#last?.memory ?? new Uint8Array(0)
    const end = args.whole(1, (this.#last?.reported[memoryBytesAt] ?? 0) + paddingBytesMax)
    const start = args.whole(0, end)
    if (end - start > sliceBytesMax) {
      throw messageRefused(`the tracer asked for more than ${sliceBytesMax} bytes of memory at once`)
    }
    const digits = hexDigits(memory.subarray(Math.min(start, memory.length), Math.min(end, memory.length)))
    return digits.padEnd((end - start) * 2, '0')
  }

  #answer(args: InsideArguments): string {
    const { state, isPrecompile } = this.transaction
    const kind = args.text(0, kindCharactersMax)
    const address = args.bytes(1, 20)
    switch (kind) {
      case 'balance':
        return state.account(address).balance.toString(16)
      case 'nonce':
        return state.account(address).nonce.toString(16)
      case 'code':
        return hexDigits(state.account(address).code)
      case 'slot':
        return hexDigits(state.slot(address, args.bytes(2, 32)))
      case 'exists':
        return state.account(address).exists ? '1' : '0'
      case 'precompile':
        return isPrecompile(address) ? '1' : '0'
      case 'contract':
        return hexDigits(creationAddress(address, readNonce(args.text(2, nonceCharactersMax))))
      case 'contract2': {
        const given = args.bytesUpTo(2, creationBytesMax)
        const salt = given.subarray(0, 32)
        const code = given.subarray(32)
        return hexDigits(
          keccak256(Buffer.concat([Uint8Array.of(0xff), address, salt, keccak256(code)])).subarray(12),
        )
      }
      default:
        throw messageRefused('the tracer asked an unknown question')
    }
  }
}

function readNonce(text: string): bigint {
  const nonce = /^\d+$/.test(text) ? BigInt(text) : -1n
  if (nonce < 0n || nonce >= 2n ** 64n) throw messageRefused('a nonce is a whole number of 64 bits')
  return nonce
}
