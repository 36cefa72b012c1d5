/**
 * go-ethereum's opcode logger (eth/tracers/logger/logger.go), the default tracer: every instruction with the state
 * before it. The result is written while the transaction runs, so `structLogs` comes before the members that are known
 * only at the end.
 */
import { forkRules } from '../../../data/chain/forkRules.js'
import { latin1Key } from '../../../primitives/bytes.js'
import {
  ascii,
  type Constant,
  closeBrace,
  closeBracket,
  comma,
  JsonBytes,
} from '../../../primitives/jsonBytes.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { opcodeNames, sload, sstore } from '../engine/opcodeNames.js'
import { goText } from './callFrames.js'
import { StackJson } from './stackJson.js'
import { byName, type FrameEnd, type StateNow, TransactionTracer } from './tracer.js'

export interface OpcodeLoggerOptions {
  readonly enableMemory: boolean
  readonly disableStack: boolean
  readonly disableStorage: boolean
  readonly enableReturnData: boolean
  /** Bytes of JSON after which no further instruction is logged; 0: no limit. */
  readonly limit: number
}

const pcName = ascii('{"pc":')
const costName = ascii(',"gasCost":')
const depthName = ascii(',"depth":')
const returnDataName = ascii(',"returnData":')
const memoryName = ascii(',"memory":[')
const heads = opcodeNames.map((name) => ascii(`,"op":"${name}","gas":`))

/** Memory of a slot in {@link OpcodeLogger}. */
const slotBytes = 400

export class OpcodeLogger extends TransactionTracer {
  override readonly opcodes = 'all'
  readonly #options: OpcodeLoggerOptions
  readonly #stack = new StackJson()
  /** The returned data and the memory of the pending instruction. */
  readonly #tail = new JsonBytes(64)
  /** The pending instruction: its cost, which stands before its stack, is not known yet. */
  #depth = -1
  #pc = 0
  #opcode = 0
  #gas = 0n
  /** JSON of its stack; a view. */
  #stackJson: Uint8Array = new Uint8Array(0)
  /** JSON of the storage that the instruction uses; empty for none. */
  #storageJson = ''
  /** The slot used by the newest instruction, with its earlier value in the record. */
  #used:
    | { readonly slots: Map<string, string>; readonly key: string; readonly before: string | undefined }
    | undefined
  #isPending = false
  #count = 0
  #bytes = 0
  /** Used slots by account: key and value as hex digits. */
  readonly #storage = new Map<string, Map<string, string>>()
  /** Prefix of a slot's digits. */
  #hex = '0x'
  #state!: StateNow
  #end: { readonly hasFailed: boolean; readonly data: Uint8Array } | undefined

  constructor(options: OpcodeLoggerOptions) {
    super()
    this.#options = options
  }

  protected override begun(): void {
    const { state, fork } = this.transaction
    this.#state = state
    this.#hex = forkRules(fork).execution.tracesBareDigits === true ? '' : '0x'
    this.output.json.text('{"structLogs":[')
  }

  step(step: KernelStep): void {
    // Writes the previous instruction if its cost was not reported. It is in the same frame: before a call the cost is
    // reported.
    if (this.#isPending) this.#write(this.#gas - step.gas, undefined)
    const { limit } = this.#options
    if (limit !== 0 && this.#bytes > limit) return
    this.#isPending = true
    this.#depth = step.depth
    this.#pc = step.pc
    this.#opcode = step.opcode
    this.#gas = step.gas
    this.#storageJson = this.#options.disableStorage ? '' : this.#useStorage(step)
    this.#writeTail(step)
  }

  cost(gasLeft: bigint): void {
    if (this.#isPending) this.#write(this.#gas - gasLeft, undefined)
  }

  fault(cost: bigint, refusal: string | undefined): void {
    if (!this.#isPending) return
    if (refusal !== undefined) this.#dropUse()
    this.#write(cost, refusal)
  }

  exit({ depth, failure, output }: FrameEnd): void {
    // A STOP, whose cost is not reported.
    if (this.#isPending && this.#depth === depth) this.#write(0n, undefined)
    if (depth > 0) return
    const isReverted = failure?.kind === 'reverted'
    const data = failure === undefined || isReverted ? output.slice() : new Uint8Array(0)
    this.#end = { hasFailed: failure !== undefined, data }
  }

  end(gasUsed: bigint): void {
    const { json } = this.output
    json.text(`],"gas":${gasUsed},"failed":${this.#end?.hasFailed === true},"returnValue":`)
    json.hex(this.#end?.data ?? new Uint8Array(0))
    json.text('}')
  }

  #writeTail(step: KernelStep): void {
    const { disableStack, enableMemory, enableReturnData } = this.#options
    if (!disableStack) this.#stackJson = this.#stack.of(step)
    this.#tail.clear()
    if (enableReturnData) this.#writeReturned()
    if (enableMemory) this.#writeMemory(step)
  }

  #writeReturned(): void {
    const { returned } = this.#state
    if (returned.length === 0) return
    this.#tail.constant(returnDataName)
    this.#tail.hex(returned)
  }

  #writeMemory({ memory }: KernelStep): void {
    if (memory.length === 0) return
    const tail = this.#tail
    tail.constant(memoryName)
    for (let at = 0; at < memory.length; at += 32) {
      if (at > 0) tail.constant(comma)
      tail.hex(memory, at, at + 32)
    }
    tail.constant(closeBracket)
  }

  #write(cost: bigint, error: string | undefined): void {
    this.#isPending = false
    const { json } = this.output
    if (this.#count++ > 0) json.constant(comma)
    const start = json.length
    json.constant(pcName)
    json.decimal(this.#pc)
    json.constant(heads[this.#opcode] as Constant)
    json.decimal(this.#gas)
    json.constant(costName)
    json.decimal(cost)
    json.constant(depthName)
    json.decimal(this.#depth + 1)
    if (error !== undefined) json.text(`,"error":${goText(error)}`)
    json.raw(this.#stackJson)
    if (this.#tail.length > 0) json.raw(this.#tail.written)
    if (this.#storageJson !== '') json.text(this.#storageJson)
    // With the instruction's own refund, which go-ethereum adds when it computes the cost, even if it cannot be paid.
    const { refund } = this.#state
    if (refund !== 0n) json.text(`,"refund":${refund}`)
    json.constant(closeBrace)
    this.#bytes += json.length - start
    this.output.flush()
  }

  /** An instruction that could not begin has used no slot. */
  #dropUse(): void {
    if (this.#storageJson === '' || this.#used === undefined) return
    const { slots, key, before } = this.#used
    if (before === undefined) slots.delete(key)
    else slots.set(key, before)
    this.#storageJson = ''
  }

  /** Records the slot that the instruction reads or writes; returns JSON of all used slots of the account. */
  #useStorage(step: KernelStep): string {
    const { opcode, stackWords } = step
    const isLoad = opcode === sload && stackWords >= 1
    if (!isLoad && !(opcode === sstore && stackWords >= 2)) return ''
    const { address } = step
    const owner = latin1Key(address)
    let slots = this.#storage.get(owner)
    if (slots === undefined) {
      slots = new Map()
      this.#storage.set(owner, slots)
    }
    const key = digits(step.stackWord(0))
    const value = isLoad
      ? Buffer.from(this.#state.slot(address, Buffer.from(key, 'hex'))).toString('hex')
      : digits(step.stackWord(1))
    const before = slots.get(key)
    if (before === undefined) this.hold(slotBytes)
    slots.set(key, value)
    this.#used = { slots, key, before }
    const all = byName(slots).map(([slot, value]) => `"${this.#hex}${slot}":"${this.#hex}${value}"`)
    return `,"storage":{${all.join()}}`
  }
}

function digits(word: bigint): string {
  return word.toString(16).padStart(64, '0')
}
