/**
 * An instance of the EVM in WebAssembly (src/execution/kernel): its memory, and how values are passed. Owns no rules of
 * transactions.
 */

import { randomBytes } from 'node:crypto'
import { type ForkName, forkNumber } from '../../../data/chain/forks.js'
import { codeBytesMax, initcodeBytesMax } from '../../../data/chain/intrinsicGas.js'
import { type Hash32, toHash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { emptyCodeHash } from '../../../primitives/keccak.js'
import { isTrap } from '../../../primitives/webAssembly.js'
import { forkPrecompiles } from '../precompiles/precompileMoves.js'
import { type Accesses, type Change, readAccesses, readChanges } from './kernelAccesses.js'
import { exchange, KernelAnswers, type KernelHost, type PrecompileSet } from './kernelHost.js'
import { type KernelLog, type NumberedLog, readAddress, readLogs } from './kernelLogs.js'
import { KernelMemory } from './kernelMemory.js'
import { instantiateKernel, type KernelExports, type Offsets, outcome, readOffsets } from './kernelModule.js'
import {
  describeFailed,
  type FailedInstruction,
  failures,
  type GasNeed,
  type KernelFailure,
  type KernelRun,
} from './kernelOutcome.js'
import { type KernelTracer, traceImports } from './kernelTrace.js'

/** Address as in src/execution/kernel/layout.ts. */
const contextWords = 0x1b00

/** Block values that instructions read; see src/execution/kernel/context.ts. */
export interface BlockWords {
  readonly coinbase: Uint8Array
  readonly timestamp: bigint
  readonly number: bigint
  /** Difficulty, or since the Merge the randomness (PREVRANDAO). */
  readonly random: bigint
  readonly gasLimit: bigint
  readonly chainId: bigint
  readonly baseFee: bigint
  readonly blobBaseFee: bigint
  /** EIP-7843; 0 before Amsterdam. */
  readonly slotNumber: bigint
}

/** Writes the words behind those of the transaction. */
function writeBlockWords(memory: KernelMemory, words: BlockWords): void {
  const { coinbase, timestamp, number, random, gasLimit, chainId, baseFee, blobBaseFee, slotNumber } = words
  memory.putReversed(contextWords + 64, coinbase, 20)
  const rest = [timestamp, number, random, gasLimit, chainId, baseFee, blobBaseFee, slotNumber]
  for (const [index, value] of rest.entries()) memory.putWord(contextWords + 96 + index * 32, value)
}

// Address as in src/execution/kernel/layout.ts.
const heapStart = 0x80000 + 1_025 * 1_024 * 32
/** Most bytes of the heap: free blocks of other sizes may double its share of WebAssembly's 4 GB. */
const heapBytesMax = 3 * 2 ** 29
/** StopReason.Memory of src/execution/kernel/host.ts. */
const outOfMemory = 1

/** The state and block on which a kernel runs. */
export interface KernelPlace extends Omit<KernelHost, 'precompiles'> {
  /** Precompiled contracts that differ from the fork's. */
  readonly precompiles?: Partial<PrecompileSet>
}

export class Kernel {
  readonly #exports: KernelExports
  readonly #at: Offsets
  readonly #memory: KernelMemory
  readonly answers = new KernelAnswers()
  /** Calls of {@link #enter} that have not returned. */
  #depth = 0
  #memoryBytesMax = 2 ** 28
  #block: BlockWords | undefined
  /** The fork that {@link attach} set. */
  fork: ForkName = 'chainstart'
  /** Seed of the hash tables, so that nobody can choose keys that collide. */
  readonly #seed = randomBytes(8).readBigUInt64LE()

  /** With a `tracer`, which is called for each step and frame, a slower kernel is used. */
  constructor(readonly tracer?: KernelTracer) {
    this.#exports = instantiateKernel(this.answers, tracer && traceImports(tracer, () => this.#memory))
    this.#at = readOffsets(this.#exports)
    this.#memory = new KernelMemory(this.#exports.memory)
    this.answers.answerWith(this.#exports, this.#memory)
    this.clear()
    if (tracer !== undefined) this.reportSteps('all')
  }

  /** With a tracer: sets the opcodes whose steps and costs it receives, and whether it receives any other event. */
  reportSteps(opcodes: 'all' | readonly number[], reportsFrames = true): void {
    const at = this.#exports.reportedOpcodes.value
    this.#memory.bytes.fill(opcodes === 'all' ? 1 : 0, at, at + 256)
    if (opcodes !== 'all') for (const opcode of opcodes) this.#memory.bytes[at + opcode] = 1
    this.#exports.reportsFrames.value = reportsFrames ? 1 : 0
  }

  /** Drops all state; handles become invalid. */
  clear(): void {
    this.#exports.clear(this.#seed)
  }

  /**
   * Sets a fork's rules and precompiled contracts, and the host of reads. For another state also call {@link clear}.
   */
  attach(fork: ForkName, place: KernelPlace): void {
    this.fork = fork
    this.#exports.setFork(forkNumber(fork), codeBytesMax(fork), initcodeBytesMax(fork))
    this.answers.host = {
      ...place,
      precompiles: { ...forkPrecompiles(fork, place.watch), ...place.precompiles },
    }
  }

  /** Attaches the kernel, emptied, with a limit of memory as {@link limitMemory}. */
  restart(fork: ForkName, place: KernelPlace, memoryBytesMax: number): void {
    this.clear()
    this.limitMemory(memoryBytesMax)
    this.attach(fork, place)
  }

  /** Bytes of cached rows and code, and of the current run. */
  get cachedBytes(): number {
    this.#exports.report()
    return this.#memory.uint32(outcome.heapBytes)
  }

  /** Highest number of bytes in use so far, which WebAssembly never frees. */
  get grownBytes(): number {
    return this.#exports.memory.buffer.byteLength - heapStart
  }

  /** Limits the memory of the following runs, beyond the bytes already in use. */
  limitMemory(bytesMax: number): void {
    this.#memoryBytesMax = bytesMax
    this.#exports.limitHeap(Math.min(this.cachedBytes + bytesMax, heapBytesMax))
  }

  /** Sets the gas between two checks of the host (default 200,000): at least some hundreds of instructions. */
  setLookEvery(gas: number): void {
    this.#exports.setLookEvery(BigInt(gas))
  }

  /** Whether calls, creations and destructions that move ether are logged too; see {@link numberedLogs}. */
  set logsTransfers(isOn: boolean) {
    this.#exports.setTransferLogs(isOn)
  }

  setBlock(words: BlockWords): void {
    if (words === this.#block) return
    this.#block = words
    writeBlockWords(this.#memory, words)
  }

  /** Begins a transaction, or a call `ofSystem`, in which nothing is warm; changes of the previous one become final. */
  begin(origin: Uint8Array, gasPrice: bigint, blobHashes: readonly Uint8Array[], ofSystem = false): void {
    this.#exports.beginTransaction(ofSystem)
    this.#memory.putReversed(contextWords, origin, 20)
    this.#memory.putWord(contextWords + 32, gasPrice)
    const at =
      blobHashes.length === 0 ? 0 : this.#enter(() => this.#exports.placeInput(blobHashes.length * 32))
    for (const [index, hash] of blobHashes.entries()) this.#memory.putReversed(at + index * 32, hash, 32)
    this.#exports.setBlobHashes(at, blobHashes.length)
  }

  end(): void {
    this.#enter(() => this.#exports.endAccounts())
  }

  /** Undoes all changes of the transaction. */
  revert(): void {
    this.#exports.revertTransaction()
  }

  account(address: Uint8Array): number {
    this.#memory.put(exchange, address, 20)
    return this.#enter(() => this.#exports.accountOf())
  }

  balanceOf(account: number): bigint {
    return this.#memory.wordAt(account + this.#at.balance)
  }

  nonceOf(account: number): bigint {
    return this.#memory.view.getBigUint64(account + this.#at.nonce, true)
  }

  exists(account: number): boolean {
    return this.#memory.uint32(account + this.#at.exists) !== 0
  }

  hasCode(account: number): boolean {
    const { bytes } = this.#memory
    const at = account + this.#at.codeHash
    for (let i = 0; i < emptyCodeHash.length; i++) if (bytes[at + i] !== emptyCodeHash[i]) return true
    return false
  }

  codeHashOf(account: number): Hash32 {
    return toHash32(this.#memory.slice(account + this.#at.codeHash, 32))
  }

  codeLengthOf(account: number): number {
    this.#enter(() => this.#exports.codeBytesOf(account))
    return this.#exports.codeLengthOf(account)
  }

  codeOf(account: number): Uint8Array {
    const at = this.#enter(() => this.#exports.codeBytesOf(account))
    return this.#memory.slice(at, this.#exports.codeLengthOf(account))
  }

  precompileOf(account: number): number {
    return this.#memory.uint32(account + this.#at.precompile)
  }

  setNonce(account: number, nonce: bigint): void {
    this.#enter(() => this.#exports.changeNonce(account, nonce))
  }

  credit(account: number, wei: bigint): void {
    this.#memory.putNumber(exchange, wei)
    this.#enter(() => this.#exports.creditBalance(account))
  }

  debit(account: number, wei: bigint): void {
    this.#memory.putNumber(exchange, wei)
    this.#enter(() => this.#exports.debitBalance(account))
  }

  setCode(account: number, code: Uint8Array): void {
    this.#enter(() => {
      const at = this.#exports.placeInput(code.length)
      this.#memory.put(at, code, code.length)
      this.#exports.changeCode(account, at, code.length)
    })
  }

  setBalance(account: number, wei: bigint): void {
    this.#memory.putNumber(exchange, wei)
    this.#enter(() => this.#exports.changeBalance(account))
  }

  /** Sets a slot; key and value are 32 bytes. */
  setSlot(account: number, key: Uint8Array, value: Uint8Array): void {
    this.#enter(() => {
      this.#memory.put(exchange, key, 32)
      const slot = this.#exports.slotOf(account)
      this.#memory.put(exchange, value, 32)
      this.#exports.changeSlot(slot)
    })
  }

  /** Removes an account's storage, which the transaction cannot undo. */
  wipeStorage(account: number): void {
    this.#exports.wipeStorage(account)
  }

  /** Whether the account has no nonce, balance and code (EIP-161). */
  isEmpty(account: number): boolean {
    return this.nonceOf(account) === 0n && this.balanceOf(account) === 0n && !this.hasCode(account)
  }

  /** Whether an account had been accessed (EIP-2929); marks it as accessed. */
  warm(account: number): boolean {
    return this.#enter(() => this.#exports.warmAccount(account)) !== 0
  }

  warmSlot(account: number, key: Uint8Array): void {
    this.#memory.put(exchange, key, 32)
    this.#enter(() => this.#exports.warmSlotOf(this.#exports.slotOf(account)))
  }

  /**
   * Runs a message to the end. If `to` is undefined, it is a creation with the given nonce. `reservoir` is gas for
   * state alone (EIP-8037). Throws an error of the host, or FaultError ExecutionOutOfMemory; the kernel is empty then.
   */
  run(
    sender: number,
    to: number | undefined,
    nonce: bigint,
    value: bigint,
    data: Uint8Array,
    gas: bigint,
    reservoir = 0n,
  ): KernelRun {
    return this.#enter(() => {
      this.#exports.startStateGas(reservoir)
      const input = this.#exports.placeInput(data.length)
      this.#memory.put(input, data, data.length)
      this.#memory.putNumber(exchange, value)
      if (to === undefined) this.#exports.runCreation(sender, nonce, input, data.length, gas)
      else this.#exports.runCall(sender, to, input, data.length, gas)
      this.#exports.report()
      return {
        failure: failures[this.#memory.uint32(outcome.why)] as KernelFailure,
        gasLeft: this.#memory.int64(outcome.gasLeft),
        reservoir: this.#memory.int64(outcome.reservoir),
        stateGas: this.#memory.int64(outcome.stateGas),
      }
    })
  }

  /** Adds gas to refund at the end of the transaction; call it before {@link run}. */
  addRefund(gas: bigint): void {
    this.#exports.addRefund(gas)
  }

  get refund(): bigint {
    this.#exports.report()
    return this.#memory.int64(outcome.refund)
  }

  /** A copy of the data that the last run returned. */
  get output(): Uint8Array {
    this.#exports.report()
    return this.#memory.slice(
      this.#memory.uint32(outcome.returned),
      this.#memory.uint32(outcome.returnedLength),
    )
  }

  /** Data that the last inner call returned; valid until the kernel runs on. */
  get returned(): Uint8Array {
    this.#exports.report()
    const start = this.#memory.uint32(outcome.returned)
    return this.#memory.bytes.subarray(start, start + this.#memory.uint32(outcome.returnedLength))
  }

  /** The gas need of a successful run, plus the gas paid before it. */
  needAfter(paidBefore: bigint): GasNeed {
    this.#exports.report()
    return {
      frameGas: this.#memory.int64(outcome.neededGas) + paidBefore,
      isLinear: this.#memory.uint32(outcome.isLinear) !== 0,
      bindsOutermost: this.#memory.uint32(outcome.bindsOutermost) !== 0,
    }
  }

  /** Before Homestead: the creation succeeded, but its contract has no code because gas was missing. */
  get lacksCode(): boolean {
    return this.#exports.lacksCode.value !== 0
  }

  /** Length of the code or initcode that made a creation fail. */
  get refusedCodeBytes(): bigint {
    return this.#exports.refusedCodeBytes.value
  }

  get failedInstruction(): FailedInstruction {
    return describeFailed(this.#exports, this.#memory)
  }

  /** The logs of the transaction, without transfers. */
  get logs(): KernelLog[] {
    return this.numberedLogs.filter(({ isTransfer }) => !isTransfer).map(({ log }) => log)
  }

  /** The logs of the transaction and, with {@link logsTransfers}, the transfers among them. */
  get numberedLogs(): NumberedLog[] {
    return readLogs(this.#memory, this.#exports.newestLog.value)
  }

  /** Counts an account that the protocol accesses outside an instruction, if a block is recorded. */
  see(account: number): void {
    this.#exports.seeAccount(account)
  }

  /** Accounts and slots accessed since {@link begin}, or {@link recordAccesses}, unordered. */
  readSeen(): Accesses {
    const { seenAccounts, seenSlots } = this.#exports
    return readAccesses(this.#memory, this.#at, seenAccounts.value, seenSlots.value)
  }

  /** Begins to record the accesses and changes of a block's transactions, until the kernel is emptied. */
  recordAccesses(): void {
    this.#exports.recordAccesses()
  }

  /** Sets the block access index of the transactions that follow (EIP-7928). */
  setAccessIndex(index: number): void {
    this.#exports.setAccessIndex(index)
  }

  /** Changes of the recorded transactions, the last first. */
  readChanges(): Change[] {
    return readChanges(this.#memory, this.#at, this.#exports.newestChange.value)
  }

  /** Value of a slot, 32 bytes; without marking it as accessed. */
  slotOf(account: number, key: Uint8Array): Uint8Array {
    this.#memory.put(exchange, key, 32)
    return this.#enter(() => this.#memory.reversed(this.#exports.slotOf(account) + this.#at.value))
  }

  /** Handles of the accounts that changed since the last call. */
  *takeChanged(): Generator<number> {
    for (let at = this.#exports.takeListed(); at !== 0; at = this.#memory.uint32(at + this.#at.nextListed)) {
      yield at
    }
  }

  addressOf(account: number): Uint8Array {
    return readAddress(this.#memory, account)
  }

  /** Whether the account's slots in the underlying state are removed. */
  isWiped(account: number): boolean {
    return this.#memory.uint32(account + this.#at.incarnation) !== 0
  }

  /** Key and value of each accessed slot of the account, 32 bytes each. */
  *slotsOf(account: number): Generator<readonly [Uint8Array, Uint8Array]> {
    const memory = this.#memory
    const incarnation = memory.uint32(account + this.#at.incarnation)
    let at = memory.uint32(account + this.#at.slots)
    for (; at !== 0; at = memory.uint32(at + this.#at.nextOfAccount)) {
      const isCurrent = memory.uint32(at + this.#at.slotIncarnation) === incarnation
      const value = isCurrent ? memory.reversed(at + this.#at.value) : new Uint8Array(32)
      yield [memory.reversed(at + this.#at.key), value]
    }
  }

  /**
   * Runs `work` in the kernel. A trap leaves an invalid state, so the outermost call drops everything. Calls nest,
   * because a tracer, which the kernel calls, may call the kernel too.
   */
  #enter<T>(work: () => T): T {
    this.#depth++
    try {
      return work()
    } catch (error) {
      if (this.#depth > 1) throw error
      const isOutOfMemory = this.#exports.stopReason.value === outOfMemory
      this.clear()
      if (isOutOfMemory) {
        throw new FaultError({ kind: 'ExecutionOutOfMemory', limitBytes: this.#memoryBytesMax })
      }
      // An error from a host answer or a tracer passes through the kernel unchanged.
      if (!isTrap(error)) throw error
      throw new Error('the EVM kernel has trapped', { cause: error })
    } finally {
      this.#depth--
    }
  }
}

/** The kernel of one user, created at first use: a new one takes 15 to 40 ms. */
export class OwnKernel {
  #kernel: Kernel | undefined
  readonly #make: () => Kernel

  /** `grownBytesMax`: memory above which it is replaced, because WebAssembly never frees any. */
  constructor(
    readonly grownBytesMax: number,
    make = () => new Kernel(),
  ) {
    this.#make = make
  }

  get kernel(): Kernel {
    this.#kernel ??= this.#make()
    return this.#kernel
  }

  /** Call it between runs: drops a kernel above the limit. */
  trim(): void {
    if (this.#kernel !== undefined && this.#kernel.grownBytes > this.grownBytesMax) this.#kernel = undefined
  }

  clear(): void {
    this.#kernel?.clear()
  }
}
