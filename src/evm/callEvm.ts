/**
 * The library's EVM as calls use it: its own instruction loop (frameLoop.ts) under a watch, and recorders that
 * instructions report to. One instance serves one run at a time. Blocks are executed by the library almost as it
 * comes (forkEngine.ts), so that each of the two checks the other.
 */
import type { Common } from '@ethereumjs/common'
import {
  EVM,
  EVMError,
  type EVMResult,
  type ExecResult,
  NobleBN254,
  type PrecompileFunc,
} from '@ethereumjs/evm'
import { Account } from '@ethereumjs/util'
import { type ForkName, includesFork } from '../chain/forks.js'
import { initcodeBytesMax } from '../chain/intrinsicGas.js'
import { bytesToBigInt, type Hash32, padLeft, toMinimalBytes } from '../primitives/bytes.js'
import { emptyState } from '../state/stateView.js'
import type { AccessRecorder } from './accessRecorder.js'
import {
  type Instructions,
  type OpcodeEntry,
  type OpcodeHandler,
  type RunState,
  runFrame,
} from './frameLoop.js'
import { type FrameEnd, GasRecorder } from './gasRecorder.js'
import { type CallFacts, depositReason, stackBounds } from './haltReasons.js'
import {
  type FrameMessage,
  type FrameResult,
  findInterpreterClass,
  type InterpreterClass,
} from './interpreterClass.js'
import type { JobWatch } from './jobWatch.js'
import { JournaledState } from './journaledState.js'
import { useMemoryGas } from './memoryGas.js'
import { modexpNumber } from './modexp.js'
import { burnt, modexp, PrecompileError } from './precompileFailures.js'
import { expectedPrecompileMs } from './precompileTimes.js'

type RunCallOptions = Parameters<EVM['runCall']>[0]

/** What one run brings along. */
export interface RunAttachments {
  readonly state: JournaledState
  readonly watch: JobWatch
  /** Records what gas the run needs. */
  readonly gas: GasRecorder | undefined
  readonly accesses: AccessRecorder | undefined
  /** Hash of an ancestor by number; undefined where there is none. */
  readonly ancestorHash: (number: number) => Hash32 | undefined
  /** Precompiled contracts by address, hex digits. */
  readonly precompiles: ReadonlyMap<string, PrecompileFunc>
}

/** Bytes of a log or of a changed slot beside its content: objects, undo steps, Map entries. Rounded up. */
const recordBytes = 300
/** Instructions that entering a frame counts for: it takes about 30 µs. */
const frameSteps = 64

const gasOpcode = 0x5a
const callOpcodes = [0xf1, 0xf2, 0xf4, 0xfa] as const
const createOpcodes = [0xf0, 0xf5] as const
const logOpcodes = [0xa0, 0xa1, 0xa2, 0xa3, 0xa4] as const
/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT: the address is the topmost operand. */
const addressOpcodes = [0x31, 0x3b, 0x3c, 0x3f, 0xff] as const

export class CallEvm extends EVM {
  /** The fork's, unchanged by overrides. */
  readonly ownPrecompiles: ReadonlyMap<string, PrecompileFunc>
  private readonly precompileNumbers = new Map<PrecompileFunc, number>()
  private readonly keeps64th: boolean
  private readonly hasSentry: boolean
  private readonly instructions: Instructions
  private attached: RunAttachments | undefined
  private facts: CallFacts | undefined

  private constructor(
    common: Common,
    readonly fork: ForkName,
    private readonly Interpreter: InterpreterClass,
  ) {
    const blockchain = {
      getBlock: async (number: number) => {
        const hash = this.attachments.ancestorHash(number) ?? new Uint8Array(32)
        return { hash: () => hash }
      },
      putBlock: async () => undefined,
      shallowCopy: () => blockchain,
    }
    super({ common, stateManager: new JournaledState(emptyState), blockchain, bn254: new NobleBN254() })
    this.ownPrecompiles = new Map(this._precompiles)
    for (const [address, run] of this._precompiles) {
      this.precompileNumbers.set(run, Number.parseInt(address, 16))
    }
    this.instructions = { table: this.opcodeTable, bounds: stackBounds(this.opcodeTable) }
    this.keeps64th = includesFork(fork, 'tangerineWhistle')
    this.hasSentry = includesFork(fork, 'istanbul')
  }

  /** About 10 ms. */
  static async create(common: Common, fork: ForkName): Promise<CallEvm> {
    const evm = new CallEvm(common, fork, await findInterpreterClass())
    evm.instrument()
    return evm
  }

  get attachments(): RunAttachments {
    if (this.attached === undefined) throw new Error('a run needs a state')
    return this.attached
  }

  get opcodeTable(): readonly OpcodeEntry[] {
    return this._opcodeMap as unknown as readonly OpcodeEntry[]
  }

  /** Of the last call or destruction of the outermost frame. */
  get callFacts(): CallFacts | undefined {
    return this.facts
  }

  createGasRecorder(): GasRecorder {
    return new GasRecorder(this.keeps64th, this.hasSentry)
  }

  /** Puts the state and recorders of the next run in place, and forgets whatever an aborted run left behind. */
  attach(attachments: RunAttachments): void {
    this.attached = attachments
    this.stateManager = attachments.state
    this._precompiles = attachments.precompiles as Map<string, PrecompileFunc>
    Object.assign(this.journal, { stateManager: attachments.state })
    this.journal.cleanJournal()
    const TransientStorage = this.transientStorage.constructor as new () => EVM['transientStorage']
    Object.assign(this, { transientStorage: new TransientStorage() })
  }

  override async runCall(options: RunCallOptions): Promise<EVMResult> {
    const { watch, gas } = this.attachments
    watch.steps -= frameSteps
    const { message } = options
    const limit = message?.gasLimit ?? options.gasLimit ?? 0n
    // The library fills in where a creation goes.
    const isCreation = (message ?? options).to === undefined
    gas?.enterFrame(limit)
    const result = await super.runCall(options)
    if (isCreation) watch.hold(result.execResult.returnValue.length)
    if (gas !== undefined) {
      const end = frameEnd(result.execResult, limit)
      const hasStipend =
        message !== undefined && !isCreation && message.value > 0n && message.delegatecall !== true
      gas.leaveFrame(
        end === 'burnt' ? limit : result.execResult.executionGasUsed,
        end,
        hasStipend ? 2_300n : 0n,
      )
    }
    return result
  }

  protected override async runPrecompile(
    run: PrecompileFunc,
    data: Uint8Array,
    gasLimit: bigint,
  ): Promise<ExecResult> {
    const { watch } = this.attachments
    const number = this.precompileNumbers.get(run) ?? 0
    watch.look()
    if (number === modexpNumber) return modexp(data, gasLimit, this.fork, watch)
    if (gasLimit < this.gasBeforeLook(number, data)) return burnt(gasLimit)
    watch.refuseLongerThan(expectedPrecompileMs(number, data, gasLimit))
    const result = await super.runPrecompile(run, data, gasLimit)
    const error: string | undefined = result.exceptionError?.error
    if (error === undefined || error === EVMError.errorMessages.OUT_OF_GAS) return result
    return { ...result, exceptionError: new PrecompileError(number, data) }
  }

  /** Gas of contracts of which the library looks at the input before it charges for it. */
  private gasBeforeLook(number: number, data: Uint8Array): bigint {
    const pairs = (itemBytes: number): bigint => BigInt(Math.floor(data.length / itemBytes))
    const { common } = this
    switch (number) {
      case 0x08:
        return common.param('bn254PairingGas') + pairs(192) * common.param('bn254PairingWordGas')
      case 0x09:
        return data.length === 213 ? bytesToBigInt(data.subarray(0, 4)) : 0n
      case 0x0f:
        return common.param('bls12381PairingBaseGas') + pairs(384) * common.param('bls12381PairingPerPairGas')
      default:
        return 0n
    }
  }

  /** As the library does it, in its own loop's place {@link runFrame}, and without copying the frame's state. */
  protected override async runInterpreter(message: unknown): Promise<ExecResult> {
    const frame = message as FrameMessage
    const { watch, state } = this.attachments
    const contract = (await state.getAccount(frame.to as never)) ?? new Account()
    const env = {
      address: frame.to,
      caller: frame.caller,
      callData: frame.data,
      callValue: frame.value,
      code: frame.code,
      isStatic: frame.isStatic,
      isCreate: frame.isCreate ?? false,
      depth: frame.depth,
      gasPrice: this._tx?.gasPrice,
      origin: this._tx?.origin,
      block: this._block,
      contract,
      codeAddress: frame.codeAddress,
      gasRefund: frame.gasRefund,
      blobVersionedHashes: frame.blobVersionedHashes ?? [],
      createdAddresses: frame.createdAddresses,
    }
    const { stateManager, blockchain, journal } = this
    const interpreter = new this.Interpreter(
      this,
      stateManager,
      blockchain,
      env,
      frame.gasLimit,
      journal,
      undefined,
    )
    const { _result: result, _runState: runState } = interpreter
    if (frame.selfdestruct !== undefined) result.selfdestruct = frame.selfdestruct
    if (frame.createdAddresses !== undefined) result.createdAddresses = frame.createdAddresses
    let exceptionError = await runFrame(interpreter, frame.code, this.instructions, this.common, watch)
    if (frame.isCreate === true && exceptionError === undefined) {
      const why = depositReason(result.returnValue ?? new Uint8Array(0), runState.gasLeft, this.fork)
      if (why !== undefined) {
        exceptionError = new EVMError(why as EVMError['error'])
        result.returnValue = new Uint8Array(0)
      }
    }
    const isRevert = exceptionError?.error === EVMError.errorMessages.REVERT
    const burns = exceptionError !== undefined && !isRevert
    const kept = exceptionError === undefined ? result : nothingKept()
    return {
      ...kept,
      runState,
      exceptionError,
      executionGasUsed: burns ? frame.gasLimit : frame.gasLimit - runState.gasLeft,
      gasRefund: runState.gasRefund,
      returnValue: result.returnValue ?? new Uint8Array(0),
    } as unknown as ExecResult
  }

  /** Lets instructions report to the watch and the recorders. */
  private instrument(): void {
    const table = this.opcodeTable
    useMemoryGas(table)
    for (const opcode of callOpcodes) {
      this.chargeCalls(opcode, (stack, passesAll) => (passesAll ? undefined : stack.peek(1)[0]))
      this.beforeGas(opcode, (state) => this.touchAddress(state, state.stack.peek(2)[1] as bigint))
      this.holdFrameDuring(opcode)
    }
    for (const opcode of createOpcodes) {
      this.chargeCalls(opcode, () => undefined)
      this.beforeGas(opcode, ({ stack }) => this.refuseInitcode(stack.peek(3)[2] as bigint))
      this.holdFrameDuring(opcode)
    }
    for (const opcode of addressOpcodes) {
      this.beforeGas(opcode, (state) => this.touchAddress(state, state.stack.peek(1)[0] as bigint))
    }
    for (const opcode of [0x54, 0x55]) {
      this.beforeGas(opcode, ({ stack, interpreter }) => {
        const slot = stack.peek(1)[0] as bigint
        this.attached?.accesses?.touchSlot(interpreter.getAddress().bytes, padLeft(toMinimalBytes(slot), 32))
      })
    }
    this.before(gasOpcode, ({ code, programCounter }) => {
      this.attached?.gas?.readGas(isOneOf(callOpcodes, code[programCounter]))
    })
    this.before(0x55, () => this.attached?.watch.hold(recordBytes))
    this.before(0x5d, () => this.attached?.watch.hold(recordBytes))
    for (const opcode of logOpcodes) {
      this.before(opcode, ({ stack }) => this.attached?.watch.hold(recordBytes + Number(stack.peek(2)[1])))
    }
    // A kilobyte hashed takes as long as 10 instructions, a kilobyte copied as long as one.
    this.before(0x20, ({ stack }) => this.takeSteps(Number(stack.peek(2)[1]) / 100))
    for (const opcode of [0x37, 0x39, 0x3e, 0x5e]) {
      this.before(opcode, ({ stack }) => this.takeSteps(Number(stack.peek(3)[2]) / 1_000))
    }
    this.instrumentSstoreGas()
  }

  private takeSteps(steps: number): void {
    if (this.attached !== undefined) this.attached.watch.steps -= Math.floor(steps)
  }

  private before(opcode: number, report: (state: RunState) => void): void {
    const entry = this.opcodeTable[opcode] as OpcodeEntry
    if (entry.opcodeInfo.code !== opcode) return
    const { opHandler } = entry
    entry.opHandler = (state, common) => {
      report(state)
      return opHandler(state, common)
    }
  }

  /** What is touched counts also where the instruction cannot be paid. */
  private touchAddress({ interpreter, memoryWordCount }: RunState, word: bigint): void {
    const isOutermost = interpreter._env.depth === 0
    const accesses = this.attached?.accesses
    if (!isOutermost && accesses === undefined) return
    const address = toAddressBytes(word)
    accesses?.touchAddress(address)
    if (isOutermost) {
      this.facts = { isCold: !this.journal.isWarmedAddress(address), memoryWords: memoryWordCount }
    }
  }

  /** EIP-3860, as go-ethereum has it: a size that is too large cannot be paid. */
  private refuseInitcode(length: bigint): void {
    if (includesFork(this.fork, 'shanghai') && length > BigInt(initcodeBytesMax)) {
      throw new EVMError(EVMError.errorMessages.OUT_OF_GAS)
    }
  }

  /** Reports before the gas of an instruction is counted, where that depends on anything. */
  private beforeGas(opcode: number, report: (state: RunState) => void): void {
    const entry = this.opcodeTable[opcode] as OpcodeEntry
    if (entry.opcodeInfo.code !== opcode || !entry.opcodeInfo.dynamicGas) return
    const { gasHandler } = entry
    entry.gasHandler = (state, gas, common) => {
      report(state)
      return gasHandler(state, gas, common)
    }
  }

  private instrumentSstoreGas(): void {
    const entry = this.opcodeTable[0x55] as OpcodeEntry
    const { gasHandler } = entry
    entry.gasHandler = (state, gas, common) => {
      this.attached?.gas?.beginSstore(state.gasLeft)
      return gasHandler(state, gas, common)
    }
  }

  /** `askedFor`: the gas that the instruction asks for, undefined for all; `passesAll`: GAS stood right before it. */
  private chargeCalls(
    opcode: number,
    askedFor: (stack: RunState['stack'], passesAll: boolean) => bigint | undefined,
  ): void {
    const entry = this.opcodeTable[opcode] as OpcodeEntry
    if (entry.opcodeInfo.code !== opcode) return
    const { gasHandler } = entry
    entry.gasHandler = async (state, gas, common) => {
      const cost = await gasHandler(state, gas, common)
      const recorder = this.attached?.gas
      if (recorder !== undefined) {
        const passesAll = state.programCounter > 0 && state.code[state.programCounter - 1] === gasOpcode
        recorder.beginCall(state.gasLeft, cost, askedFor(state.stack, passesAll))
      }
      return cost
    }
  }

  /** Counts a frame's memory while frames inside it run. */
  private holdFrameDuring(opcode: number): void {
    const entry = this.opcodeTable[opcode] as OpcodeEntry
    if (entry.opcodeInfo.code !== opcode) return
    const { opHandler } = entry
    const holding: OpcodeHandler = async (state, common) => {
      const { watch } = this.attachments
      const bytes = state.memory._store.length
      watch.hold(bytes)
      try {
        await opHandler(state, common)
      } finally {
        watch.release(bytes)
      }
    }
    entry.opHandler = holding
  }
}

/** Of a frame that failed. */
function nothingKept(): Pick<FrameResult, 'logs' | 'selfdestruct' | 'createdAddresses'> {
  return { logs: [], selfdestruct: new Map(), createdAddresses: new Set() }
}

function frameEnd({ exceptionError, executionGasUsed }: ExecResult, limit: bigint): FrameEnd {
  if (exceptionError === undefined) return 'succeeded'
  const isRevert = exceptionError.error === EVMError.errorMessages.REVERT
  return isRevert || executionGasUsed < limit ? 'reverted' : 'burnt'
}

function isOneOf(opcodes: readonly number[], opcode: number | undefined): boolean {
  return opcode !== undefined && opcodes.includes(opcode)
}

function toAddressBytes(word: bigint): Uint8Array {
  return padLeft(toMinimalBytes(BigInt.asUintN(160, word)), 20)
}
