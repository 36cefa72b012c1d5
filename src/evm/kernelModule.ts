/** The kernel's module: what it exports and imports, and where members of its records stand. */
import { readFileSync } from 'node:fs'
import type { TraceImports } from './kernelTrace.js'

/** As much of the interface as is used here; TypeScript has it among the types of browsers alone. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

/** What the kernel asks the host; see src/kernel/host.ts. */
export interface KernelImports {
  readAccount(): number
  readSlot(): number
  readCode(): number
  readBlockHash(number: bigint): number
  runPrecompile(id: number, input: number, length: number, gas: bigint): bigint
  mayGoOn(): number
}

/** An exported global. */
interface Global<T> {
  readonly value: T
}

export interface KernelExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly why: Global<number>
  readonly gasLeft: Global<bigint>
  readonly refund: Global<bigint>
  readonly returned: Global<number>
  readonly returnedLength: Global<number>
  readonly newestLog: Global<number>
  readonly stopReason: Global<number>
  readonly failedOpcode: Global<number>
  readonly failedStackWords: Global<number>
  readonly failedGas: Global<bigint>
  readonly failedCold: Global<number>
  readonly memoryBytesBefore: Global<number>
  readonly lacksCode: Global<number>
  readonly refusedCodeBytes: Global<number>
  readonly neededGas: Global<bigint>
  readonly isLinear: Global<number>
  readonly bindsOutermost: Global<number>
  readonly heapBytes: Global<number>
  clear(seed: bigint): void
  setFork(fork: number): void
  limitHeap(bytes: number): void
  beginTransaction(): void
  endAccounts(): void
  revertTransaction(): void
  placeInput(bytes: number): number
  placeCode(length: number): number
  placeOutput(length: number): number
  setBlobHashes(at: number, count: number): void
  accountOf(): number
  slotOf(account: number): number
  warmAccount(account: number): void
  warmSlotOf(slot: number): void
  changeBalance(account: number): void
  creditBalance(account: number): void
  debitBalance(account: number): void
  changeNonce(account: number, nonce: bigint): void
  changeCode(account: number, from: number, length: number): void
  changeSlot(slot: number): void
  codeBytesOf(account: number): number
  codeLengthOf(account: number): number
  runCall(sender: number, to: number, input: number, length: number, gas: bigint): void
  runCreation(sender: number, nonce: bigint, initcode: number, length: number, gas: bigint): void
  takeListed(): number
  seen(): number
}

const members = [
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
/** Where members of the kernel's records stand, as it says itself. */
export type Offsets = Readonly<Record<(typeof members)[number], number>>

export function readOffsets(exports: KernelExports): Offsets {
  const globals = exports as unknown as Readonly<Record<string, Global<number>>>
  return Object.fromEntries(members.map((name) => [name, globals[`${name}Offset`]?.value])) as Offsets
}

const modules = new Map<string, object>()

/**
 * An instance with memory of its own, which tells `trace` of each step and frame where that is given. Compiling takes
 * some milliseconds, once for each thread and module.
 */
export function instantiateKernel(host: KernelImports, trace?: TraceImports): KernelExports {
  const file = trace === undefined ? 'kernel' : 'tracingKernel'
  let module = modules.get(file)
  if (module === undefined) {
    module = new WebAssembly.Module(readFileSync(new URL(`../kernel/${file}.wasm`, import.meta.url)))
    modules.set(file, module)
  }
  return new WebAssembly.Instance(module, { host, trace }).exports as KernelExports
}
