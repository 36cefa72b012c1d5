/**
 * Calls of the host by the tracing binary; the other binary contains none of them. Addresses are in linear memory.
 */
import { Failure, Frame, Log } from './frame'
import { WORD } from './word'

/** Whether this is the tracing binary: one source is compiled to one binary per choice (build/webAssembly.mjs). */
// @ts-ignore: the compiler is given it
export const isTracing: bool = TRACING != 0

/** One byte per opcode: whether its steps are reported to the host. The host writes it. */
export const reportedOpcodes: usize = memory.data(256)

/** Whether frames and logs are reported to the host. */
export let reportsFrames: bool = true

/**
 * Called before each instruction, even one that cannot be executed: `gas` is the gas before its cost. `address` and
 * stack items are words.
 */
@external('trace', 'step')
declare function reportStep(
  depth: u32,
  address: usize,
  pc: u32,
  opcode: u32,
  gas: i64,
  stack: usize,
  stackWords: u32,
  memory: usize,
  memoryBytes: u32,
): void

/**
 * Called within an instruction that can begin a frame, end one, or name an account or a slot, once it is paid.
 * `gasLeft` is the gas after its cost, before a creation takes its part. State gas (EIP-8037) is not in the cost.
 */
@external('trace', 'cost')
declare function reportCost(gasLeft: i64): void

/** Called within CREATE and CREATE2, once they are paid, with the address (a word) of the new contract. */
@external('trace', 'creation')
declare function reportCreation(address: usize): void

/**
 * Called when an instruction fails, before its frame ends. `cost` is the part of its gas that go-ethereum computes, as
 * an unsigned 64-bit number.
 */
@external('trace', 'fault')
declare function reportFault(failure: Failure, cost: i64): void

/**
 * Called when a call or creation begins. The kind is the opcode, 0xff for the transfer of SELFDESTRUCT. Caller,
 * target and value are words. Each one is followed by an exit, even without a frame.
 */
@external('trace', 'enter')
declare function reportEnter(
  kind: u32,
  caller: usize,
  target: usize,
  value: usize,
  input: usize,
  inputLength: u32,
  gas: i64,
): void

/** Called when the innermost call or creation ends. */
@external('trace', 'exit')
declare function reportExit(failure: Failure, gasLeft: i64, output: usize, outputLength: u32): void

/** Called when a log was added. */
@external('trace', 'log')
declare function reportLog(log: Log): void

/** State gas (EIP-8037) that the current instruction took from its frame's gas; negative if it gave some back. */
let stateGasPaid: i64 = 0

@inline
export function traceStateGas(paid: i64): void {
  if (isTracing) stateGasPaid += paid
}

@inline
export function traceStep(frame: Frame, pc: usize, opcode: u32, gas: i64, sp: usize): void {
  if (isTracing) stateGasPaid = 0
  if (isTracing && load<u8>(reportedOpcodes + opcode) != 0) {
    reportStep(
      frame.depth,
      frame.account.address,
      (pc - frame.code) as u32,
      opcode,
      gas,
      frame.stack,
      ((sp - frame.stack) / WORD) as u32,
      frame.memory,
      frame.memoryBytes,
    )
  }
}

@inline
export function traceEnter(
  kind: u32,
  caller: usize,
  target: usize,
  value: usize,
  input: usize,
  inputLength: u32,
  gas: i64,
): void {
  if (isTracing && reportsFrames) reportEnter(kind, caller, target, value, input, inputLength, gas)
}

@inline
export function traceCost(opcode: u32, gasLeft: i64): void {
  if (isTracing && load<u8>(reportedOpcodes + opcode) != 0) reportCost(gasLeft + stateGasPaid)
}

@inline
export function traceFault(opcode: u32, failure: Failure, cost: i64): void {
  if (isTracing && load<u8>(reportedOpcodes + opcode) != 0) reportFault(failure, cost)
}

@inline
export function traceCreation(opcode: u32, address: usize): void {
  if (isTracing && load<u8>(reportedOpcodes + opcode) != 0) reportCreation(address)
}

@inline
export function traceExit(failure: Failure, gasLeft: i64, output: usize, outputLength: u32): void {
  if (isTracing && reportsFrames) reportExit(failure, gasLeft, output, outputLength)
}

@inline
export function traceLog(log: Log): void {
  if (isTracing && reportsFrames) reportLog(log)
}
