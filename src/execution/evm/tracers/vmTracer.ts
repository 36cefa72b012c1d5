/**
 * Parity's `vmTrace`: every instruction with the words it pushed, its write to memory, and the gas left; `sub` is the
 * called code. Follows OpenEthereum (executive_tracer.rs, rpc/src/v1/types/trace.rs) as Erigon and Reth read it, with
 * the name of the instruction as `op`. The members of an instruction are in the order in which they become known.
 */
import { bytesToHex, toQuantity } from '../../../primitives/bytes.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { create, isCreation, opcodeNames, selfdestruct, sstore } from '../engine/opcodeNames.js'
import { type FrameEnd, type TracedFrame, TransactionTracer } from './tracer.js'

/** Memory that an instruction writes: stack positions of its offset and its size, or the size itself. */
interface Written {
  readonly offset: number
  readonly size: { readonly at: number } | number
}

const word = { offset: 0, size: 32 }
const copied = { offset: 0, size: { at: 2 } }
/** MLOAD counts too, as in OpenEthereum. */
const memoryWriters: Readonly<Record<number, Written>> = {
  81: word,
  82: word,
  83: { offset: 0, size: 1 },
  55: copied,
  57: copied,
  62: copied,
  94: copied,
  60: { offset: 1, size: { at: 3 } },
  241: { offset: 5, size: { at: 6 } },
  242: { offset: 5, size: { at: 6 } },
  244: { offset: 4, size: { at: 5 } },
  250: { offset: 4, size: { at: 5 } },
}

/**
 * Instructions that push nothing: STOP, the copies, POP, the stores, jumps, logs, and instructions that end a frame.
 */
const pushingNothing: ReadonlySet<number> = new Set([
  ...[0x00, 0x37, 0x39, 0x3c, 0x3e, 0x50, 0x52, 0x53, sstore, 0x56, 0x57, 0x5b, 0x5d, 0x5e],
  ...[0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xf3, 0xfd, 0xfe, selfdestruct],
])

/** Words from the top of the stack that count as pushed: DUP and SWAP show all words that they touch. */
function pushedBy(opcode: number): number {
  if (opcode >= 0x80 && opcode < 0x90) return opcode - 0x7e
  if (opcode >= 0x90 && opcode < 0xa0) return opcode - 0x8e
  return pushingNothing.has(opcode) ? 0 : 1
}

interface OpenCode {
  /** Whether the instructions of the call are listed: not for precompiled contracts and accounts without code. */
  readonly isListed: boolean
  readonly gas: bigint
  readonly isCreation: boolean
  count: number
  pending: Pending | undefined
}

/** An instruction that has not finished. */
interface Pending {
  readonly opcode: number
  readonly gas: bigint
  cost: bigint | undefined
  readonly memory: { readonly offset: number; readonly size: number } | undefined
  readonly store: string
  hasSub: boolean
  hasFailed: boolean
}

export class VmTracer extends TransactionTracer {
  override readonly opcodes = 'all'
  readonly #open: OpenCode[] = []
  #isEmpty = true

  enter(frame: TracedFrame): void {
    const { depth, kind, to, input, gas } = frame
    const creates = isCreation(frame)
    const code = creates ? input : kind === selfdestruct ? new Uint8Array(0) : this.#codeOf(to)
    const isListed = depth === 0 || (code.length > 0 && !this.transaction.isPrecompile(to))
    const caller = this.#open.at(-1)?.pending
    this.#open.push({ isListed, gas, isCreation: creates, count: 0, pending: undefined })
    if (!isListed) return
    if (caller !== undefined) {
      caller.hasSub = true
      this.output.json.text(',"sub":')
    }
    this.#isEmpty = false
    this.output.json.put`{"code":${code},"ops":[`
  }

  step(step: KernelStep): void {
    const open = this.#open.at(-1) as OpenCode
    this.#finish(open, step.gas, step)
    const { opcode, pc, gas, stackWords } = step
    const { json } = this.output
    json.text(`${open.count++ > 0 ? ',' : ''}{"pc":${pc},"op":"${opcodeNames[opcode]}"`)
    const store =
      opcode === sstore && stackWords >= 2
        ? `{"key":"${toQuantity(step.stackWord(0))}","val":"${toQuantity(step.stackWord(1))}"}`
        : 'null'
    open.pending = {
      opcode,
      gas,
      cost: undefined,
      memory: writtenBy(step),
      store,
      hasSub: false,
      hasFailed: false,
    }
  }

  cost(gasLeft: bigint): void {
    const { pending } = this.#open.at(-1) as OpenCode
    if (pending !== undefined) pending.cost = pending.gas - gasLeft
  }

  fault(cost: bigint): void {
    const { pending } = this.#open.at(-1) as OpenCode
    if (pending === undefined) return
    pending.cost ??= cost
    pending.hasFailed = true
  }

  exit({ gasUsed, failure }: FrameEnd): void {
    const open = this.#open.pop() as OpenCode
    if (!open.isListed) return
    const { pending } = open
    // The gas that a creation pays for its code does not count for its last instruction; after SELFDESTRUCT there is no
    // code.
    const paysForCode = open.isCreation && pending?.opcode !== selfdestruct
    const left = paysForCode && pending?.cost !== undefined ? pending.gas - pending.cost : open.gas - gasUsed
    if (pending !== undefined && failure?.isUndone === true && failure.kind !== 'reverted') {
      pending.hasFailed ||= !open.isCreation
    }
    this.#finish(open, left, undefined)
    this.output.json.text(']}')
  }

  end(): void {
    if (this.#isEmpty) this.output.json.text('{"code":"0x","ops":[]}')
  }

  /** Writes the rest of the instruction before `next`; `gasLeft` is the gas after it. */
  #finish(open: OpenCode, gasLeft: bigint, next: KernelStep | undefined): void {
    const { pending } = open
    if (pending === undefined) return
    open.pending = undefined
    const { opcode, gas, memory, store, hasSub, hasFailed } = pending
    const { json } = this.output
    if (!hasSub) json.text(',"sub":null')
    const isCall = opcode >= create && opcode !== 0xf3
    const cost = pending.cost ?? (isCall ? 0n : gas - gasLeft)
    json.text(`,"cost":${cost},"ex":`)
    if (hasFailed) json.text('null}')
    else {
      const data = next && memory && next.memory.subarray(memory.offset, memory.offset + memory.size)
      json.text('{"mem":')
      if (data === undefined || data.length === 0) json.text('null')
      else json.text(`{"data":"${bytesToHex(data)}","off":${memory?.offset}}`)
      json.text(',"push":[')
      for (let at = (next === undefined ? 0 : pushedBy(opcode)) - 1; at >= 0; at--) {
        json.text(`"${toQuantity((next as KernelStep).stackWord(at))}"${at > 0 ? ',' : ''}`)
      }
      json.text(`],"store":${store},"used":${gasLeft}}}`)
    }
    this.output.flush()
  }

  /** The code that a call runs: the account's own, or that of its delegate (EIP-7702). */
  #codeOf(address: Uint8Array): Uint8Array {
    const { state } = this.transaction
    const delegate = state.delegateOf(address)
    return state.account(delegate ?? address).code
  }
}

/** Memory that the instruction writes; undefined for none, and for an unpayable size. */
function writtenBy(step: KernelStep): Pending['memory'] {
  const written = memoryWriters[step.opcode]
  if (written === undefined) return undefined
  const sizeAt = typeof written.size === 'number' ? 0 : written.size.at
  if (step.stackWords <= Math.max(written.offset, sizeAt)) return undefined
  const offset = Number(step.stackWord(written.offset))
  const size = typeof written.size === 'number' ? written.size : Number(step.stackWord(sizeAt))
  return size > 0 && Number.isSafeInteger(offset + size) ? { offset, size } : undefined
}
