/**
 * go-ethereum's `erc7562Tracer` (eth/tracers/native/erc7562.go), for bundlers of user operations: the calls of
 * callTracer, each with its slots, instructions and contracts.
 */
import { bytesToHex } from '../../../primitives/bytes.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { calling, sload, sstore } from '../engine/opcodeNames.js'
import type { Call } from './callFrames.js'
import { CallTracer } from './callTracer.js'
import { hashedInput, hashing } from './keccakPreimages.js'
import type { FrameFailure, TracedFrame } from './tracer.js'

export interface Erc7562Options {
  readonly withLog: boolean
  /** Opcodes that are not counted; if undefined, those of {@link ignoredByDefault}. */
  readonly ignored: readonly number[] | undefined
}

const isZero = 0x15
const gas = 0x5a
const tload = 0x5c
const tstore = 0x5d
const returning = 0xf3
const reverting = 0xfd
const extCodeSize = 0x3b
/** EXTCODESIZE, EXTCODECOPY, EXTCODEHASH. */
const namingCode: readonly number[] = [extCodeSize, 0x3c, 0x3f]

/** PUSH0 to SWAP16, arithmetic, comparisons, shifts and POP. */
const ignoredByDefault: readonly number[] = [
  ...Array.from({ length: 0x40 + 1 }, (_, at) => 0x5f + at).filter((opcode) => opcode < 0xa0),
  ...[0x50, 0x01, 0x03, 0x02, 0x04, 0x14, 0x10, 0x11, 0x12, 0x13, 0x1b, 0x1c, 0x16, 0x17, 0x19, isZero],
]

/** Memory of one record. */
const itemBytes = 200

type Counts = Map<string, number>

/** Records of one call. */
interface Used {
  readonly reads: Map<string, string>
  readonly writes: Counts
  readonly transientReads: Counts
  readonly transientWrites: Counts
  readonly extCodes: string[]
  readonly opcodes: Map<number, number>
  readonly sizes: Map<string, { readonly contractSize: number; readonly opcode: number }>
}

export class Erc7562Tracer extends CallTracer {
  override readonly opcodes = 'all'
  readonly #ignored: ReadonlySet<number>
  readonly #used = new Map<Call, Used>()
  /** The previous instruction, in any call; undefined after the end of a call. */
  #last: { readonly opcode: number; readonly top: bigint } | undefined
  readonly #inputs = new Set<string>()

  constructor({ withLog, ignored = ignoredByDefault }: Erc7562Options) {
    super({ onlyTopCall: false, withLog })
    this.#ignored = new Set(ignored)
  }

  override enter(frame: TracedFrame): void {
    super.enter(frame)
    this.hold(itemBytes)
    this.#used.set(this.current, {
      reads: new Map(),
      writes: new Map(),
      transientReads: new Map(),
      transientWrites: new Map(),
      extCodes: [],
      opcodes: new Map(),
      sizes: new Map(),
    })
  }

  step(step: KernelStep): void {
    const { opcode, stackWords } = step
    const used = this.#used.get(this.current) as Used
    if (opcode === returning || opcode === reverting) this.#last = undefined
    const last = this.#last
    if (last !== undefined && namingCode.includes(last.opcode)) {
      // Checking whether there is a contract is allowed (OP-051).
      if (last.opcode !== extCodeSize || opcode !== isZero) {
        this.hold(itemBytes)
        used.extCodes.push(addressHex(last.top))
      }
    }
    const isNaming = namingCode.includes(opcode)
    if ((isNaming && stackWords > 0) || (calling.includes(opcode) && stackWords > 1)) {
      this.#noteSize(used, step.stackWord(isNaming ? 0 : 1), opcode)
    }
    // GAS counts unless a call follows (OP-012).
    if (last?.opcode === gas && !calling.includes(opcode)) count(used.opcodes, gas)
    if (opcode !== gas && !this.#ignored.has(opcode)) count(used.opcodes, opcode)
    if (stackWords > 0) this.#noteSlot(used, step)
    if (opcode === hashing) this.#noteInput(step)
    this.#last = { opcode, top: stackWords > 0 ? step.stackWord(0) : 0n }
  }

  #noteSize({ sizes }: Used, word: bigint, opcode: number): void {
    const address = addressHex(word)
    if (sizes.has(address)) return
    this.hold(itemBytes)
    const { code } = this.transaction.state.account(Buffer.from(address.slice(2), 'hex'))
    sizes.set(address, { contractSize: code.length, opcode })
  }

  #noteSlot(used: Used, step: KernelStep): void {
    const { opcode } = step
    if (opcode !== sload && opcode !== sstore && opcode !== tload && opcode !== tstore) return
    const slot = `0x${step.stackWord(0).toString(16).padStart(64, '0')}`
    if (opcode === sload) {
      if (used.reads.has(slot) || used.writes.has(slot)) return
      this.hold(2 * itemBytes)
      const key = Buffer.from(slot.slice(2), 'hex')
      used.reads.set(slot, bytesToHex(this.transaction.state.slot(step.address, key)))
      return
    }
    const { writes, transientReads, transientWrites } = used
    const counts = opcode === sstore ? writes : opcode === tload ? transientReads : transientWrites
    if (!counts.has(slot)) this.hold(itemBytes)
    count(counts, slot)
  }

  #noteInput(step: KernelStep): void {
    const input = hashedInput(step)
    if (input === undefined) return
    const text = bytesToHex(input)
    if (!this.#inputs.has(text)) this.hold(itemBytes + text.length)
    this.#inputs.add(text)
  }

  protected override writeMore(call: Call, depth: number): void {
    const { json } = this.output
    const { failure } = call
    const used = this.#used.get(call) as Used
    const { reads, writes, transientReads, transientWrites } = used
    const slots = {
      reads: Object.fromEntries([...reads].map(([slot, value]) => [slot, [value]])),
      writes: Object.fromEntries(writes),
      transientReads: Object.fromEntries(transientReads),
      transientWrites: Object.fromEntries(transientWrites),
    }
    const opcodes = [...used.opcodes].map(([opcode, times]) => [`0x${opcode.toString(16)}`, times] as const)
    const outOfGas = depth > 0 && failure !== undefined && isOutOfGas(failure)
    json.text(
      `,"accessedSlots":${JSON.stringify(slots)},"extCodeAccessInfo":${JSON.stringify(used.extCodes)}`,
    )
    json.text(`,"usedOpcodes":${JSON.stringify(Object.fromEntries(opcodes))}`)
    json.text(`,"contractSize":${JSON.stringify(Object.fromEntries(used.sizes))},"outOfGas":${outOfGas}`)
    if (depth === 0 && this.#inputs.size > 0)
      json.text(`,"keccak":${JSON.stringify([...this.#inputs].sort())}`)
  }
}

/** OP-020. As in go-ethereum, also for errors found while computing the cost: `out of gas: …`. */
function isOutOfGas({ kind, why }: FrameFailure): boolean {
  return kind === 'codeStoreOutOfGas' || /^out of gas(?::|$)/.test(why)
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function addressHex(word: bigint): string {
  return `0x${word.toString(16).padStart(64, '0').slice(24)}`
}
