/** What the tracing binary tells the host; in the other one nothing of this is left. Places are in linear memory. */
import { Failure, Frame, returned, returnedLength } from './frames'
import { isTracing } from './flags'
import { refund } from './journal'
import { WORD } from './word'

/**
 * Before each instruction, whether it can be executed or not: `gas` is what there is before it costs anything.
 * `address` and what is on the stack are words.
 */
@external('trace', 'step')
declare function tellStep(
  depth: u32,
  address: usize,
  pc: u32,
  opcode: u32,
  gas: i64,
  refund: i64,
  stack: usize,
  stackWords: u32,
  memory: usize,
  memoryBytes: u32,
): void

/**
 * A call or creation begins; kinds as opcodes, with 0xff for what SELFDESTRUCT sends. Caller, target and value are words.
 * Each has its end, whether a frame comes of it or not.
 */
@external('trace', 'enter')
declare function tellEnter(
  kind: u32,
  caller: usize,
  target: usize,
  value: usize,
  input: usize,
  inputLength: u32,
  gas: i64,
): void

/** What began last and has not ended yet ends. */
@external('trace', 'exit')
declare function tellExit(failure: Failure, gasLeft: i64, output: usize, outputLength: u32): void

// @ts-ignore: decorator
@inline
export function traceStep(frame: Frame, pc: usize, opcode: u32, gas: i64, sp: usize): void {
  if (isTracing) {
    tellStep(
      frame.depth,
      frame.account.address,
      (pc - frame.code) as u32,
      opcode,
      gas,
      refund,
      frame.stack,
      ((sp - frame.stack) / WORD) as u32,
      frame.memory,
      frame.memoryBytes,
    )
  }
}

// @ts-ignore: decorator
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
  if (isTracing) tellEnter(kind, caller, target, value, input, inputLength, gas)
}

// @ts-ignore: decorator
@inline
export function traceExit(failure: Failure, gasLeft: i64): void {
  if (isTracing) tellExit(failure, gasLeft, returned, returnedLength)
}
