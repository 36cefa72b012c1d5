/** The kernel's module: its exports and imports, and the offsets of members of its records. */
import { compile, instantiate, type WasmGlobal, type WasmMemory } from '../../../primitives/webAssembly.js'
import type { TraceImports } from './kernelTrace.js'

/** Imports of the kernel; see src/execution/kernel/host.ts. */
export interface KernelImports {
  readAccount(): number
  readSlot(): number
  readCode(): number
  readBlockHash(number: bigint): number
  runPrecompile(id: number, input: number, length: number, gas: bigint): bigint
  mayGoOn(steps: number): number
}

export interface KernelExports {
  readonly memory: WasmMemory
  readonly newestLog: WasmGlobal
  readonly stopReason: WasmGlobal
  readonly failedOpcode: WasmGlobal
  readonly failedStackWords: WasmGlobal
  readonly failedOperand: WasmGlobal
  readonly failedOperandWords: WasmGlobal
  readonly lacksCode: WasmGlobal
  readonly refusedCodeBytes: WasmGlobal<bigint>
  readonly seenAccounts: WasmGlobal
  readonly seenSlots: WasmGlobal
  readonly newestChange: WasmGlobal
  /** Only in the tracing binary; see src/execution/kernel/trace.ts. */
  readonly reportedOpcodes: WasmGlobal
  readonly reportsFrames: { value: number }
  /** Writes the {@link outcome} so far. */
  report(): void
  clear(seed: bigint): void
  setFork(fork: number, codeBytesMax: number, initcodeBytesMax: number): void
  setLookEvery(gas: bigint): void
  limitHeap(bytes: number): void
  setTransferLogs(isOn: boolean): void
  beginTransaction(ofSystem: boolean): void
  endAccounts(): void
  revertTransaction(): void
  placeInput(bytes: number): number
  placeCode(length: number): number
  placeOutput(length: number): number
  setBlobHashes(at: number, count: number): void
  accountOf(): number
  slotOf(account: number): number
  warmAccount(account: number): number
  warmSlotOf(slot: number): void
  changeBalance(account: number): void
  creditBalance(account: number): void
  debitBalance(account: number): void
  changeNonce(account: number, nonce: bigint): void
  changeCode(account: number, from: number, length: number): void
  changeSlot(slot: number): void
  wipeStorage(account: number): void
  codeBytesOf(account: number): number
  codeLengthOf(account: number): number
  runCall(sender: number, to: number, input: number, length: number, gas: bigint): void
  runCreation(sender: number, nonce: bigint, initcode: number, length: number, gas: bigint): void
  addRefund(gas: bigint): void
  takeListed(): number
  startStateGas(reservoir: bigint): void
  seeAccount(account: number): void
  recordAccesses(): void
  setAccessIndex(index: number): void
}

/** Where {@link KernelExports.report} writes what a run leaves: gas in 64 bits, everything else in 32. */
export const outcome = {
  gasLeft: 0x1740,
  reservoir: 0x1748,
  stateGas: 0x1750,
  refund: 0x1758,
  neededGas: 0x1760,
  why: 0x1768,
  returned: 0x176c,
  returnedLength: 0x1770,
  isLinear: 0x1774,
  bindsOutermost: 0x1778,
  heapBytes: 0x177c,
} as const

const members = [
  'nextSeenAccount',
  'nextSeenSlot',
  'balance',
  'codeHash',
  'nonce',
  'exists',
  'warmTx',
  'incarnation',
  'precompile',
  'nextListed',
  'account',
  'slots',
  'key',
  'value',
  'slotIncarnation',
  'nextOfAccount',
] as const
/** Offsets of members of the kernel's records, which it exports. */
export type Offsets = Readonly<Record<(typeof members)[number], number>>

export function readOffsets(exports: KernelExports): Offsets {
  const globals = exports as unknown as Readonly<Record<string, WasmGlobal>>
  return Object.fromEntries(members.map((name) => [name, globals[`${name}Offset`]?.value])) as Offsets
}

/** A new instance with its own memory; with `trace`, it calls the tracer for each step and frame. */
export function instantiateKernel(host: KernelImports, trace?: TraceImports): KernelExports {
  return instantiate<KernelExports>(trace === undefined ? plainKernel : tracingKernel, { host, trace })
}

const plainKernel = 'src/execution/kernel/kernel.wasm'
const tracingKernel = 'src/execution/kernel/tracingKernel.wasm'

/** Compiles the kernels for threads that this one starts; see {@link compile}. */
export function compileKernels(): void {
  compile(plainKernel)
  compile(tracingKernel)
}
